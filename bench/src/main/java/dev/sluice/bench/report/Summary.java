package dev.sluice.bench.report;

import java.util.List;
import java.util.Locale;
import java.util.Set;

/** The figures as text: ratios first, then absolute figures, then machine and versions. */
public final class Summary {
  private static final Set<String> ALSO_RATIOS =
      Set.of("growth.rules", "growth.limits", "growth.accounts");

  /** The figures of the table of worst calls. */
  private static final String IN_TABLE = "worst\\..+\\..+\\.millis";

  private Summary() {}

  public static String of(Figures figures) {
    StringBuilder ratios = new StringBuilder();
    StringBuilder absolutes = new StringBuilder();
    boolean hasWorst = !Double.isNaN(figures.get("worst.oneRule.millis"));
    figures
        .all()
        .forEach(
            (key, value) -> {
              boolean isPromised = Promise.of(key).isPresent() || ALSO_RATIOS.contains(key);
              if (isPromised || Promise.isRatio(key)) {
                ratios.append(line(key, value)).append(wanted(key, value)).append('\n');
              } else if (!key.startsWith(Figures.MACHINE) && !key.matches(IN_TABLE)) {
                absolutes.append(line(key, value)).append('\n');
              }
            });
    return "\nRatios (medians of interleaved rounds)\n%s\nAbsolute figures\n%s%s\n%s%s\n"
        .formatted(
            ratios, absolutes, hasWorst ? worst(figures) : "", calls(figures), machine(figures));
  }

  /** The worst calls as a table. */
  private static String worst(Figures figures) {
    StringBuilder table = new StringBuilder("\n");
    for (List<String> cells : Tables.worstRows(figures)) {
      table.append(String.format("  %-34s", cells.get(0)));
      cells.subList(1, cells.size()).forEach(cell -> table.append(String.format("%14s", cell)));
      table.append('\n');
    }
    return table.toString();
  }

  /** The method that is measured, where contenders differ. */
  private static String calls(Figures figures) {
    return Double.isNaN(figures.get("redis.1.p50VsIncr"))
        ? ""
        : """
          One in flight waits for its answer by the call that blocks: Limiter.decide, Lettuce's sync()
          INCR, Bucket4j's tryConsume, Redisson's tryAcquire, the Gateway's isAllowed().block(). More in
          flight, and redis.1.async, ask by the asynchronous ones.
          """;
  }

  private static String line(String key, double value) {
    return String.format(Locale.ROOT, "  %-46s %,14.2f", key, value);
  }

  private static String wanted(String key, double value) {
    return Promise.of(key)
        .map(promise -> (promise.isKeptBy(value) ? "   ok: " : "   SHORT: ") + promise.wanted())
        .orElse("");
  }

  /** The machine, and the versions of all contenders. */
  public static String machine(Figures figures) {
    Runtime.Version java = Runtime.version();
    return "%d cores, %s %s, Java %s%s; %s"
        .formatted(
            Runtime.getRuntime().availableProcessors(),
            System.getProperty("os.name"),
            System.getProperty("os.arch"),
            java.feature() + "." + java.interim() + "." + java.update(),
            figures.redisVersion().map(version -> ", " + version).orElse(""),
            Versions.peers());
  }
}
