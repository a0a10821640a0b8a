package dev.sluice.bench.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The figures as Markdown tables, one for each section of the page. */
final class Tables {
  /** A contender: its name in keys and its name for people. */
  record Named(String key, String name) {}

  static final List<Named> ON_REDIS =
      List.of(
          new Named("sluice", "Sluice"),
          new Named("incr", "bare INCR"),
          new Named("bucket4j", "Bucket4j"),
          new Named("gateway", "Spring Cloud Gateway"),
          new Named("redisson", "Redisson"));
  static final List<Named> ON_HOT =
      List.of(
          new Named("sluice", "Sluice"),
          new Named("incr", "bare INCR"),
          new Named("bucket4j", "Bucket4j"),
          new Named("bucket4jbatching", "Bucket4j batching"),
          new Named("gateway", "Gateway"),
          new Named("redisson", "Redisson"));
  static final List<Named> DENYING =
      List.of(
          new Named("sluice", "Sluice"),
          new Named("bucket4j", "Bucket4j"),
          new Named("bucket4jskipping", "Bucket4j skipping"),
          new Named("redisson", "Redisson"));
  static final List<Named> IN_JVM =
      List.of(
          new Named("sluice", "Sluice"),
          new Named("bucket4j", "Bucket4j"),
          new Named("guava", "Guava"),
          new Named("resilience4j", "Resilience4j"));

  /** Sluice's other kinds of limits, also compared with Bucket4j's bucket. */
  static final List<Named> KINDS_IN_JVM =
      List.of(
          new Named("fixedWindow", "Sluice, fixed window"),
          new Named("slidingWindow", "Sluice, sliding window"),
          new Named("slidingLog", "Sluice, sliding log"));

  private static final List<Named> LISTENING =
      List.of(new Named("listener", "Sluice with a listener"));

  static final List<Named> IN_CLUSTER =
      List.of(
          new Named("tokenBucket.single", "token bucket, single Redis"),
          new Named("tokenBucket.three", "token bucket, three masters"),
          new Named("slidingLog.single", "sliding log, single Redis"),
          new Named("slidingLog.three", "sliding log, three masters"));

  /** Keys with a placeholder for the path. */
  static final List<Named> OVER_HTTP =
      List.of(
          new Named("http.%s.sluice", "Sluice"),
          new Named("http.redis.%s.sluice", "Sluice on Redis"),
          new Named("http.%s.bare", "bare Armeria"));

  private Tables() {}

  /** The tables by the names of their sections. */
  static Map<String, String> of(Figures figures) {
    Map<String, String> tables = new LinkedHashMap<>();
    tables.put("promises", promises(figures));
    tables.put("redis", redis(figures));
    tables.put("hot", hot(figures));
    tables.put("kinds", kinds(figures));
    tables.put("cluster", cluster(figures));
    tables.put("denied", denied(figures));
    tables.put("worst", worst(figures));
    tables.put("ways", ways(figures));
    tables.put("memory", memory(figures));
    tables.put("growth", growth(figures));
    tables.put("http", http(figures));
    return tables;
  }

  private static String promises(Figures figures) {
    StringBuilder table =
        header("figure", "what it is", "wanted", "measured", "", "printed by `./sluice bench …`");
    for (Promise promise : Promise.ALL) {
      double value = figures.get(promise.key());
      row(
          table,
          "`" + promise.key() + "`",
          promise.says(),
          promise.wanted(),
          "**" + number(value) + "**",
          Double.isNaN(value) ? "" : promise.isKeptBy(value) ? "✓" : "short",
          "`" + promise.key().substring(0, promise.key().indexOf('.')) + "`");
    }
    return table.toString();
  }

  private static String redis(Figures figures) {
    StringBuilder table =
        header(
            "in flight",
            "contender",
            "decisions/s",
            "p50 µs",
            "p99 µs",
            "p999 µs",
            "Redis CPU µs",
            "commands",
            "bytes per account");
    for (String inFlight : List.of("1", "64", "512")) {
      for (Named each : ON_REDIS) {
        String key = "redis." + inFlight + "." + each.key();
        row(
            table,
            inFlight,
            each.name(),
            number(figures.get(key + ".perSecond")),
            number(figures.get(key + ".p50Micros")),
            number(figures.get(key + ".p99Micros")),
            number(figures.get(key + ".p999Micros")),
            number(figures.get(key + ".cpuMicros")),
            number(figures.get(key + ".commandsPerDecision")),
            number(figures.get("redis.bytes." + each.key())));
      }
    }
    return table.toString();
  }

  /** A row for each contender: its name, then these figures. */
  private static String rows(Figures figures, String prefix, List<Named> all, String... wanted) {
    StringBuilder rows = new StringBuilder();
    for (Named each : all) {
      List<String> cells = new ArrayList<>(List.of(each.name()));
      for (String figure : wanted) {
        cells.add(number(figures.get(prefix + each.key() + "." + figure)));
      }
      row(rows, cells.toArray(new String[0]));
    }
    return rows.toString();
  }

  private static String hot(Figures figures) {
    return header("contender", "decisions/s", "p50 µs", "p99 µs", "Redis CPU µs")
        + rows(figures, "redis.hot.", ON_HOT, "perSecond", "p50Micros", "p99Micros", "cpuMicros");
  }

  private static String kinds(Figures figures) {
    return header("limit", "decisions/s", "over a bare INCR", "Redis CPU µs")
        + rows(figures, "redis.kind.", KINDS, "perSecond", "vsIncr", "cpuMicros")
        + rows(figures, "redis.", MORE_KINDS, "perSecond", "vsIncr", "cpuMicros");
  }

  private static String ways(Figures figures) {
    return header("a token bucket, asked", "decisions/s", "Redis CPU µs")
        + rows(figures, "redis.", WAYS, "perSecond", "cpuMicros");
  }

  private static String cluster(Figures figures) {
    return header("limit", "decisions/s", "Redis CPU µs", "script calls per decision")
        + rows(figures, "cluster.", IN_CLUSTER, "perSecond", "cpuMicros", "scriptCallsPerDecision");
  }

  static final List<Named> KINDS =
      List.of(
          new Named("tokenBucket", "token bucket"),
          new Named("fixedWindow", "fixed window"),
          new Named("slidingWindow", "sliding window"),
          new Named("slidingLog", "sliding log"),
          new Named("plan3x2", "three limits, two facets"));

  /** What a call may find in some of these kinds. */
  private static final List<Named> MORE_KINDS =
      List.of(
          new Named("kind.slidingWindow.moved", "sliding window, each call in another part"),
          new Named("kind.slidingLog.full", "sliding log, an entry leaves at each call"),
          new Named("kind.lock", "token bucket with a lock, nobody locked"),
          new Named("denied", "token bucket, used up, denials not cached"));

  private static final List<Named> WAYS =
      List.of(
          new Named("evalsha.512", "without functions, by `EVALSHA`"),
          new Named("costs.one", "with one cost"),
          new Named("costs.many", "with 2,000 different costs"),
          new Named("acl", "as the user with [the least rights](redis.md#the-least-rights-acl)"));

  private static final List<Named> PLANS =
      List.of(
          new Named("tokenBucket", "token bucket"),
          new Named("fixedWindow", "fixed window"),
          new Named("calendar", "calendar month"),
          new Named("lock", "token bucket with a growing lock"),
          new Named("slidingWindow", "sliding window"),
          new Named("slidingWindow.halfLeft", "… half of which has left"),
          new Named("slidingWindow.allLeft", "… all of which has left"),
          new Named("slidingLog", "sliding log"),
          new Named("slidingLog.halfLeft", "… half of which has left"),
          new Named("slidingLog.allLeft", "… all of which has left"),
          new Named("allKinds", "four kinds and a growing lock"),
          new Named("widest", "the widest call"));

  private static final List<Named> OPERATIONS =
      List.of(
          new Named("take", "take"),
          new Named("denied", "denied"),
          new Named("large", "denied, large"),
          new Named("record", "record"),
          new Named("recordLarge", "record, large"),
          new Named("peek", "peek"),
          new Named("peekLarge", "peek, large"),
          new Named("settle", "settle"),
          new Named("settleLarge", "settle, large"),
          new Named("refund", "refund"),
          new Named("forgive", "forgive"),
          new Named("reset", "reset"));

  private static String worst(Figures figures) {
    List<List<String>> rows = worstRows(figures);
    StringBuilder table = header(rows.get(0).toArray(new String[0]));
    rows.subList(1, rows.size()).forEach(cells -> row(table, cells.toArray(new String[0])));
    return table.toString();
  }

  /** Milliseconds in Redis by plan and operation; the first row holds the titles. */
  static List<List<String>> worstRows(Figures figures) {
    List<List<String>> rows = new ArrayList<>();
    List<String> titles = new ArrayList<>(List.of("ms in Redis"));
    OPERATIONS.forEach(operation -> titles.add(operation.name()));
    rows.add(titles);
    for (Named plan : PLANS) {
      List<String> cells = new ArrayList<>(List.of(plan.name()));
      for (Named operation : OPERATIONS) {
        cells.add(number(figures.get("worst.%s.%s.millis".formatted(plan.key(), operation.key()))));
      }
      rows.add(cells);
    }
    return rows;
  }

  private static String denied(Figures figures) {
    return header("contender", "denials/s", "p99 µs", "Redis commands per denial")
        + rows(figures, "denied.", DENYING, "perSecond", "p99Micros", "commandsPerDecision");
  }

  private static String memory(Figures figures) {
    return header("contender", "decisions/s, 2 threads", "ns per decision", "bytes allocated")
        + rows(figures, "memory.", IN_JVM, "perSecond", "nanosPerThread", "bytesAllocated")
        + rows(figures, "memory.", LISTENING, "perSecond", "nanosPerThread", "bytesAllocated")
        + rows(figures, "memory.", KINDS_IN_JVM, "perSecond", "nanosPerThread", "bytesAllocated");
  }

  static final List<Named> GROWTHS =
      List.of(
          new Named("tokenBucket", "limit size, token bucket"),
          new Named("fixedWindow", "limit size, fixed window"),
          new Named("slidingWindow", "limit size, sliding window"),
          new Named("slidingLog", "limit size, sliding log"),
          new Named("limits", "limits per rule"),
          new Named("accounts", "accounts"),
          new Named("rules", "rules, in the JVM"));

  private static String growth(Figures figures) {
    StringBuilder table = header("what grows", "from", "to", "µs at first", "µs at last", "growth");
    for (Named each : GROWTHS) {
      Map<Integer, Double> curve = curve(figures, each.key());
      if (!curve.isEmpty()) {
        List<Integer> sizes = List.copyOf(curve.keySet());
        int first = sizes.get(0);
        int last = sizes.get(sizes.size() - 1);
        row(
            table,
            each.name(),
            number(first),
            number(last),
            number(curve.getOrDefault(first, Double.NaN)),
            number(curve.getOrDefault(last, Double.NaN)),
            number(figures.get("growth." + each.key())));
      }
    }
    return table.toString();
  }

  /** Microseconds by size, in the order of measuring. */
  static Map<Integer, Double> curve(Figures figures, String kind) {
    String prefix = "growth." + kind + ".at";
    Map<Integer, Double> curve = new LinkedHashMap<>();
    figures
        .all()
        .forEach(
            (key, value) -> {
              if (key.startsWith(prefix) && key.endsWith(".micros")) {
                String size = key.substring(prefix.length(), key.length() - ".micros".length());
                curve.put(Integer.parseInt(size), value);
              }
            });
    return curve;
  }

  private static String http(Figures figures) {
    StringBuilder table =
        header(
            "path",
            "server",
            "requests/s",
            "p50 µs",
            "p99 µs",
            "CPU µs per request",
            "requests/s, cold");
    for (Named path :
        List.of(new Named("check", "/v1/check"), new Named("gate", "/v1/gate/{rules}"))) {
      for (Named each : OVER_HTTP) {
        String key = each.key().formatted(path.key());
        String cold = each.key().formatted(path.key() + ".cold");
        row(
            table,
            "`" + path.name() + "`",
            each.name(),
            number(figures.get(key + ".perSecond")),
            number(figures.get(key + ".p50Micros")),
            number(figures.get(key + ".p99Micros")),
            number(figures.get(key + ".cpuMicros")),
            number(figures.get(cold + ".perSecond")));
      }
    }
    return table.toString();
  }

  private static StringBuilder header(String... titles) {
    StringBuilder table = new StringBuilder();
    row(table, titles);
    return table.append("|---".repeat(titles.length)).append("|\n");
  }

  private static void row(StringBuilder table, String... cells) {
    table.append("| ").append(String.join(" | ", cells)).append(" |\n");
  }

  /** Three significant digits; all digits of a whole number. */
  static String number(double value) {
    if (!Double.isFinite(value)) {
      return "–";
    }
    String pattern = Math.abs(value) >= 100 ? "%,.0f" : Math.abs(value) >= 10 ? "%.1f" : "%.2f";
    String text = String.format(Locale.ROOT, pattern, value);
    return text.contains(".") && value == Math.rint(value)
        ? String.format(Locale.ROOT, "%,.0f", value)
        : text;
  }
}
