package dev.sluice.bench;

import dev.sluice.bench.load.Wrk;
import dev.sluice.bench.report.Docs;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.report.Summary;
import dev.sluice.bench.suites.ClusterSuite;
import dev.sluice.bench.suites.ConsoleSuite;
import dev.sluice.bench.suites.DeniedSuite;
import dev.sluice.bench.suites.Extent;
import dev.sluice.bench.suites.GrowthSuite;
import dev.sluice.bench.suites.HttpSuite;
import dev.sluice.bench.suites.KindSuite;
import dev.sluice.bench.suites.MemorySuite;
import dev.sluice.bench.suites.Part;
import dev.sluice.bench.suites.RedisSuite;
import dev.sluice.bench.suites.WaySuite;
import dev.sluice.bench.suites.WorstSuite;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The command line: {@code bench [suite…] [--quick] [--json [FILE]] [--docs] [--from FILE] [--check
 * [--tolerance PERCENT] [--tries N]]}.
 *
 * <p>{@code --json} without a file writes the figures to the standard output, and the text for
 * people to the standard error. {@code --check} exits with 1 if ratios are worse than those of
 * {@code docs/performance.quick.json}.
 */
public final class Bench {
  private static final Map<String, List<Part>> SUITES = new LinkedHashMap<>();

  static {
    SUITES.put("memory", List.of(MemorySuite::run));
    SUITES.put(
        "redis", List.of(RedisSuite::run, KindSuite::run, KindSuite::bytesOfWindow, WaySuite::run));
    SUITES.put("cluster", List.of(ClusterSuite::run));
    SUITES.put("denied", List.of(DeniedSuite::run));
    SUITES.put("worst", List.of(WorstSuite::run));
    SUITES.put("growth", List.of(GrowthSuite::run));
    SUITES.put("console", List.of(ConsoleSuite::run));
    SUITES.put("http", List.of(HttpSuite::cold, HttpSuite::run));
  }

  private final List<String> suites = new ArrayList<>();
  private final List<Path> earlier = new ArrayList<>();
  private boolean isQuick;
  private boolean drawsDocs;
  private boolean printsJson;
  private boolean checks;
  private int tolerancePercent = 25;
  private int tries = 2;
  private @Nullable Path json;

  private Bench() {}

  public static void main(String[] arguments) throws IOException {
    Bench bench = new Bench();
    try {
      bench.read(List.of(arguments));
      if (!bench.run()) {
        System.exit(1);
      }
    } catch (IllegalArgumentException e) {
      System.err.println("bench: " + e.getMessage());
      System.exit(2);
    } catch (IllegalStateException e) {
      System.err.println("\nbench: " + e.getMessage());
      System.exit(1);
    }
    System.exit(0); // some clients leave threads running
  }

  private void read(List<String> arguments) {
    for (int i = 0; i < arguments.size(); i++) {
      String argument = arguments.get(i);
      boolean hasNext = i + 1 < arguments.size();
      if (argument.equals("--quick")) {
        isQuick = true;
      } else if (argument.equals("--docs")) {
        drawsDocs = true;
      } else if (argument.equals("--check")) {
        checks = true;
      } else if (argument.equals("--tolerance") && hasNext) {
        tolerancePercent = number(argument, arguments.get(++i));
      } else if (argument.equals("--tries") && hasNext) {
        tries = number(argument, arguments.get(++i));
      } else if (argument.equals("--json") && hasNext && !arguments.get(i + 1).startsWith("--")) {
        json = Path.of(arguments.get(++i));
      } else if (argument.equals("--json")) {
        printsJson = true;
      } else if (argument.equals("--from") && hasNext) {
        earlier.add(Path.of(arguments.get(++i)));
      } else if (SUITES.containsKey(argument)) {
        suites.add(argument);
      } else {
        throw new IllegalArgumentException(
            "'%s' (expected: %s, --quick, --json [FILE], --docs, --from FILE, --check, --tolerance PERCENT, --tries N)"
                .formatted(argument, String.join(", ", SUITES.keySet())));
      }
    }
    if (checks && !(isQuick && earlier.isEmpty())) {
      throw new IllegalArgumentException("--check (expected: with --quick, and without --from)");
    }
    if (suites.isEmpty() && earlier.isEmpty()) {
      suites.addAll(SUITES.keySet());
    }
  }

  private static int number(String option, String text) {
    if (!text.matches("[1-9]\\d{0,3}")) {
      throw new IllegalArgumentException(
          "%s '%s' (expected: a whole number, 1 to 9999)".formatted(option, text));
    }
    return Integer.parseInt(text);
  }

  /** Returns false if the figures are worse than they may be. */
  private boolean run() throws IOException {
    if (suites.contains("http")) {
      Wrk.find(); // fails early, before the other suites run
    }
    Figures figures = earlier.isEmpty() ? Figures.here() : new Figures();
    for (Path file : earlier) {
      figures.read(Files.readString(file));
    }
    Extent extent = isQuick ? Extent.quick() : Extent.full();
    PrintStream forPeople = printsJson ? System.err : System.out;
    Checking checking = checks ? new Checking(tolerancePercent, tries, forPeople) : null;
    for (String suite : suites) {
      for (Part part : SUITES.getOrDefault(suite, List.of())) {
        if (checking == null) {
          part.run(extent, figures);
        } else {
          checking.run(part, extent, figures);
        }
      }
    }
    forPeople.print(Summary.of(figures));
    if (printsJson) {
      System.out.print(figures.json());
    }
    if (json != null) {
      Files.writeString(json, figures.json());
      forPeople.println("All figures: " + json);
    }
    if (drawsDocs) {
      Docs.in(Path.of("docs")).write(figures, earlier.isEmpty() ? describe(figures) : null);
      forPeople.println("Written: docs/performance.md, docs/performance.json, docs/charts/");
    }
    return checking == null || checking.passes(figures, suites, extent);
  }

  /** The kind of run and its machine; for figures of this run only, not of {@code --from}. */
  private String describe(Figures figures) {
    return (isQuick ? "A quick run on " : "A full run on ") + Summary.machine(figures) + ".";
  }
}
