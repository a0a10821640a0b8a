package dev.sluice.bench.suites;

import dev.sluice.bench.report.Figures;
import java.io.IOException;

/** Measurements that belong together: they take turns, and can run again without the others. */
public interface Part {
  void run(Extent extent, Figures figures) throws IOException;
}
