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
import dev.sluice.bench.suites.MemorySuite;
import dev.sluice.bench.suites.RedisSuite;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The command line: {@code bench [suite…] [--quick] [--json [FILE]] [--docs] [--from FILE]}.
 *
 * <p>{@code --json} without a file writes the figures to the standard output, and the text for
 * people to the standard error.
 */
public final class Bench {
  private static final List<String> SUITES =
      List.of("memory", "redis", "cluster", "denied", "growth", "console", "http");

  private final List<String> suites = new ArrayList<>();
  private final List<Path> earlier = new ArrayList<>();
  private boolean isQuick;
  private boolean drawsDocs;
  private boolean printsJson;
  private @Nullable Path json;

  private Bench() {}

  public static void main(String[] arguments) throws IOException {
    Bench bench = new Bench();
    try {
      bench.read(List.of(arguments));
      bench.run();
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
      } else if (argument.equals("--json") && hasNext && !arguments.get(i + 1).startsWith("--")) {
        json = Path.of(arguments.get(++i));
      } else if (argument.equals("--json")) {
        printsJson = true;
      } else if (argument.equals("--from") && hasNext) {
        earlier.add(Path.of(arguments.get(++i)));
      } else if (SUITES.contains(argument)) {
        suites.add(argument);
      } else {
        throw new IllegalArgumentException(
            "'%s' (expected: %s, --quick, --json [FILE], --docs, --from FILE)"
                .formatted(argument, String.join(", ", SUITES)));
      }
    }
    if (suites.isEmpty() && earlier.isEmpty()) {
      suites.addAll(SUITES);
    }
  }

  private void run() throws IOException {
    if (suites.contains("http")) {
      Wrk.find(); // fails early, before the other suites run
    }
    Figures figures = new Figures();
    for (Path file : earlier) {
      figures.read(Files.readString(file));
    }
    Extent extent = isQuick ? Extent.quick() : Extent.full();
    for (String suite : suites) {
      run(suite, extent, figures);
    }
    PrintStream forPeople = printsJson ? System.err : System.out;
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
  }

  /** The kind of run and its machine; for figures of this run only, not of {@code --from}. */
  private String describe(Figures figures) {
    return (isQuick ? "A quick run on " : "A full run on ") + Summary.machine(figures) + ".";
  }

  private static void run(String suite, Extent extent, Figures figures) throws IOException {
    switch (suite) {
      case "memory" -> MemorySuite.run(extent, figures);
      case "redis" -> RedisSuite.run(extent, figures);
      case "cluster" -> ClusterSuite.run(extent, figures);
      case "denied" -> DeniedSuite.run(extent, figures);
      case "growth" -> GrowthSuite.run(extent, figures);
      case "console" -> ConsoleSuite.run(extent, figures);
      case "http" -> HttpSuite.run(extent, figures);
      default -> throw new IllegalArgumentException("suite: " + suite);
    }
  }
}
