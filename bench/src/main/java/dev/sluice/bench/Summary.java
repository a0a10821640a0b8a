package dev.sluice.bench;

import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** The figures for a person: ratios first, absolute figures after, machine and versions named. */
final class Summary {
  /** What the ratios are wanted to be: at least so much, or at most where negative. */
  private static final Map<String, Double> WANTED =
      Map.ofEntries(
          Map.entry("memory.vsBucket4j", 3.0),
          Map.entry("redis.512.vsIncr", 1.3),
          Map.entry("redis.512.vsBucket4j", 4.0),
          Map.entry("redis.512.vsRedisson", 10.0),
          Map.entry("redis.1.p50VsIncr", -1.5),
          Map.entry("redis.1.p50VsBucket4j", -0.5),
          Map.entry("redis.cpu.vsBucket4j", -0.25),
          Map.entry("redis.bytes", -110.0),
          Map.entry("redis.bytes.vsBucket4j", -0.5),
          Map.entry("redis.plan3x2.vsSingle", -4.0),
          Map.entry("denied.vsBucket4j", 20.0),
          Map.entry("denied.redisCommandsPerDecision", -0.01),
          Map.entry("growth.tokenBucket", -1.3),
          Map.entry("growth.fixedWindow", -1.3),
          Map.entry("growth.slidingWindow", -1.3),
          Map.entry("growth.slidingLog", -3.0));

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
              boolean isRatio = WANTED.containsKey(key) || ALSO_RATIOS.contains(key);
              if (isRatio || key.contains(".vs")) {
                ratios.append(line(key, value)).append(wanted(key, value)).append('\n');
              } else {
                absolutes.append(line(key, value)).append('\n');
              }
            });
    return "\nRatios (medians of interleaved rounds)\n%s\nAbsolute figures\n%s\n%s\n"
        .formatted(ratios, absolutes, machine());
  }

  private static String line(String key, double value) {
    return String.format(Locale.ROOT, "  %-46s %,14.2f", key, value);
  }

  private static String wanted(String key, double value) {
    Double wanted = WANTED.get(key);
    if (wanted == null) {
      return "";
    }
    boolean isMet = wanted < 0 ? value <= -wanted : value >= wanted;
    return String.format(
        Locale.ROOT,
        "   %s %s %s",
        isMet ? "ok:" : "SHORT:",
        wanted < 0 ? "at most" : "at least",
        Math.abs(wanted));
  }

  private static String machine() {
    return "%d cores, %s %s, Java %s; Bucket4j %s, Redisson %s, Lettuce %s"
        .formatted(
            Runtime.getRuntime().availableProcessors(),
            System.getProperty("os.name"),
            System.getProperty("os.arch"),
            System.getProperty("java.version"),
            Versions.BUCKET4J,
            Versions.REDISSON,
            Versions.LETTUCE);
  }
}
