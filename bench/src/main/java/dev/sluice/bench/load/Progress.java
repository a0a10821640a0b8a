package dev.sluice.bench.load;

import java.io.PrintStream;

/** A progress bar on the standard error. */
public final class Progress {
  private static final int WIDTH = 30;

  private final PrintStream out;
  private final int slices;
  private int done;

  public Progress(PrintStream out, int slices) {
    this.out = out;
    this.slices = Math.max(1, slices);
  }

  /** Shows the current step; a step is done when the next begins. */
  public void next(String what) {
    int filled = Math.min(WIDTH, WIDTH * done++ / slices);
    out.printf("\r[%s%s] %-44s", "#".repeat(filled), ".".repeat(WIDTH - filled), what);
    out.flush();
  }

  public void end() {
    out.printf("\r[%s] %-44s%n", "#".repeat(WIDTH), "done");
    out.flush();
  }
}
