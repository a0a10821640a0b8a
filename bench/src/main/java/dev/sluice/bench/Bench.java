package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The command line: {@code bench [suite…] [--quick] [--json FILE]}. */
public final class Bench {
  private static final List<String> SUITES = List.of("memory", "redis", "denied", "growth");

  private Bench() {}

  public static void main(String[] arguments) throws IOException {
    List<String> suites = new ArrayList<>();
    boolean isQuick = false;
    Path json = null;
    for (int i = 0; i < arguments.length; i++) {
      String argument = arguments[i];
      if (argument.equals("--quick")) {
        isQuick = true;
      } else if (argument.equals("--json") && i + 1 < arguments.length) {
        json = Path.of(arguments[++i]);
      } else if (SUITES.contains(argument)) {
        suites.add(argument);
      } else {
        System.err.printf(
            "bench: '%s' (expected: %s, --quick, --json FILE)%n",
            argument, String.join(", ", SUITES));
        System.exit(2);
      }
    }
    run(suites.isEmpty() ? SUITES : suites, isQuick ? Extent.quick() : Extent.full(), json);
    System.exit(0); // clients of the peers leave threads behind
  }

  private static void run(List<String> suites, Extent extent, @Nullable Path json)
      throws IOException {
    Figures figures = new Figures();
    for (String suite : suites) {
      run(suite, extent, figures);
    }
    System.out.print(Summary.of(figures));
    if (json != null) {
      Files.writeString(json, figures.json());
      System.out.println("All figures: " + json);
    }
  }

  private static void run(String suite, Extent extent, Figures figures) throws IOException {
    switch (suite) {
      case "memory" -> MemorySuite.run(extent, figures);
      case "redis" -> RedisSuite.run(extent, figures);
      case "denied" -> DeniedSuite.run(extent, figures);
      case "growth" -> GrowthSuite.run(extent, figures);
      default -> throw new IllegalArgumentException("suite: " + suite);
    }
  }
}
