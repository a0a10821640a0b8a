package dev.sluice.bench;

import dev.sluice.bench.load.OtherLoad;
import dev.sluice.bench.report.BenchCheck;
import dev.sluice.bench.report.BenchCheck.Worse;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.suites.Extent;
import dev.sluice.bench.suites.Part;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A run that is compared with the committed one. What is worse is measured again. */
final class Checking {
  /*
   * A ratio counts as worse only if it was worse in every try. So one busy moment fails no run, and
   * only the parts with such ratios take the time of another try. A part that could not be measured,
   * because calls failed, is tried again, too.
   *
   * If other programs use the processors, calls wait for them and not for us. So a try beside them
   * can show that a ratio is good, but not that it is worse; except for ratios of CPU time and of
   * bytes, which do not depend on who else runs.
   */
  private static final double BUSY = 0.25;

  private static final Path COMMITTED = Path.of("docs", "performance.quick.json");

  private final BenchCheck check;
  private final int tries;
  private final PrintStream out;
  private final List<Tried> parts = new ArrayList<>();

  /** A part, and the ratios that were worse in every try; null if it was never measured. */
  private static final class Tried {
    private final Part part;
    private @Nullable List<Worse> worse;

    /** The largest part of the processors that other programs used during a try. */
    private double others;

    Tried(Part part) {
      this.part = part;
    }

    boolean passes() {
      return worse != null && worse.isEmpty();
    }
  }

  Checking(int tolerancePercent, int tries, PrintStream out) throws IOException {
    Figures committed = new Figures();
    committed.read(Files.readString(COMMITTED));
    this.check = new BenchCheck(committed, tolerancePercent / 100.0);
    this.tries = tries;
    this.out = out;
  }

  /** Runs a part for the first time. */
  void run(Part part, Extent extent, Figures figures) throws IOException {
    Tried tried = new Tried(part);
    parts.add(tried);
    attempt(tried, extent, figures);
  }

  /** Whether no ratio is worse in every try. Prints what it finds. */
  boolean passes(Figures figures, List<String> suites, Extent extent) throws IOException {
    List<String> differences = check.differences(figures);
    if (!differences.isEmpty()) {
      differences.forEach(out::println);
      out.println("So nothing was compared with " + COMMITTED + ".");
      return true;
    }
    for (int next = 2; next <= tries && !parts.stream().allMatch(Tried::passes); next++) {
      out.println("\nWorse; measuring again, %d of %d:".formatted(next, tries));
      worse(false).forEach(out::println);
      worse(true).forEach(out::println);
      for (Tried tried : parts) {
        if (!tried.passes()) {
          attempt(tried, extent, figures);
        }
      }
    }
    out.println();
    check.missing(figures, suites).forEach(out::println);
    List<String> proven = worse(false);
    List<String> unknown = worse(true);
    if (proven.isEmpty() && unknown.isEmpty()) {
      out.println("No ratio is worse than in " + COMMITTED + ".");
    }
    if (!unknown.isEmpty()) {
      out.println("Other programs were running, so it is not known whether these are worse:");
      unknown.forEach(out::println);
    }
    if (!proven.isEmpty()) {
      out.println("Worse than in %s, %d times of %d:".formatted(COMMITTED, tries, tries));
      proven.forEach(out::println);
    }
    return proven.isEmpty();
  }

  /** What is worse so far: if it is not known whether other programs are to blame, or else. */
  private List<String> worse(boolean mayBeDueToOthers) {
    List<String> lines = new ArrayList<>();
    for (Tried tried : parts) {
      boolean isBusy = tried.others > BUSY;
      String others = isBusy ? ", others used %.0f %%".formatted(100 * tried.others) : "";
      if (tried.worse == null && isBusy == mayBeDueToOthers) {
        lines.add("  a part that could not be measured" + others);
      } else if (tried.worse != null) {
        tried.worse.stream()
            .filter(each -> (isBusy && !each.holdsBesideOthers()) == mayBeDueToOthers)
            .forEach(each -> lines.add(each + others));
      }
    }
    return lines;
  }

  private void attempt(Tried tried, Extent extent, Figures figures) throws IOException {
    Figures its = new Figures();
    OtherLoad load = OtherLoad.measure();
    try {
      tried.part.run(extent, its);
    } catch (IllegalStateException e) {
      out.println("\nNot measured: " + e.getMessage());
      return;
    } finally {
      tried.others = Math.max(tried.others, load.share());
    }
    List<Worse> worse = check.worse(its);
    List<Worse> before = tried.worse;
    if (before == null) {
      figures.add(its);
      tried.worse = worse;
    } else {
      Set<String> keys = before.stream().map(Worse::key).collect(Collectors.toSet());
      tried.worse = worse.stream().filter(each -> keys.contains(each.key())).toList();
    }
  }
}
