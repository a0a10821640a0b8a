package dev.sluice.bench;

import java.util.Locale;
import java.util.Set;

/** The figures for a person: ratios first, absolute figures after, machine and versions named. */
final class Summary {
  private static final Set<String> ALSO_RATIOS =
      Set.of("growth.rules", "growth.limits", "growth.accounts");

  private Summary() {}

  static String of(Figures figures) {
    StringBuilder ratios = new StringBuilder();
    StringBuilder absolutes = new StringBuilder();
    figures
        .all()
        .forEach(
            (key, value) -> {
              boolean isRatio = Promise.of(key).isPresent() || ALSO_RATIOS.contains(key);
              if (isRatio || key.contains(".vs")) {
                ratios.append(line(key, value)).append(wanted(key, value)).append('\n');
              } else {
                absolutes.append(line(key, value)).append('\n');
              }
            });
    return "\nRatios (medians of interleaved rounds)\n%s\nAbsolute figures\n%s\n%s\n"
        .formatted(ratios, absolutes, machine(figures));
  }

  private static String line(String key, double value) {
    return String.format(Locale.ROOT, "  %-46s %,14.2f", key, value);
  }

  private static String wanted(String key, double value) {
    return Promise.of(key)
        .map(promise -> (promise.isKeptBy(value) ? "   ok: " : "   SHORT: ") + promise.wanted())
        .orElse("");
  }

  /** What it was measured on, and which versions of whom. */
  static String machine(Figures figures) {
    Runtime.Version java = Runtime.version();
    return "%d cores, %s %s, Java %s%s; %s"
        .formatted(
            Runtime.getRuntime().availableProcessors(),
            System.getProperty("os.name"),
            System.getProperty("os.arch"),
            java.feature() + "." + java.interim() + "." + java.update(),
            figures.redisVersion().map(version -> ", Redis " + version).orElse(""),
            Versions.peers());
  }
}
