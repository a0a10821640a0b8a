package dev.sluice.bench;

import java.io.PrintStream;

/** A bar on the standard error that fills as slices are done. */
final class Progress {
  private static final int WIDTH = 30;

  private final PrintStream out;
  private final int slices;
  private int done;

  Progress(PrintStream out, int slices) {
    this.out = out;
    this.slices = Math.max(1, slices);
  }

  /** Says what is measured now; one slice of the bar is done when the next begins. */
  void next(String what) {
    int filled = Math.min(WIDTH, WIDTH * done++ / slices);
    out.printf("\r[%s%s] %-44s", "#".repeat(filled), ".".repeat(WIDTH - filled), what);
    out.flush();
  }

  void end() {
    out.printf("\r[%s] %-44s%n", "#".repeat(WIDTH), "done");
    out.flush();
  }
}
