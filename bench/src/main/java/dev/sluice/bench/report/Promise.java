package dev.sluice.bench.report;

import java.util.List;
import java.util.Optional;

/**
 * A bound that a figure should keep.
 *
 * @param says the figure in words
 * @param isAtLeast whether the bound is a minimum; else it is a maximum
 */
record Promise(String key, String says, boolean isAtLeast, double bound) {
  static final List<Promise> ALL =
      List.of(
          atLeast(
              "redis.512.vsIncr",
              1.8,
              "decisions per second over those of a bare INCR, 512 in flight"),
          atLeast("redis.512.vsBucket4j", 5, "the same over those of Bucket4j"),
          atLeast("redis.512.vsRedisson", 8, "the same over those of Redisson"),
          atLeast("redis.64.vsIncr", 1.3, "the same over those of a bare INCR, 64 in flight"),
          atMost(
              "redis.1.p50VsIncr",
              1.45,
              "median latency over that of a bare INCR, one in flight that waits"),
          atMost("redis.1.p50VsBucket4j", 0.52, "the same over that of Bucket4j"),
          atMost(
              "redis.1.async.p50VsIncr",
              2.1,
              "median latency over that of a bare INCR, one asynchronous call in flight"),
          atMost(
              "redis.1.async.direct.p50VsIncr",
              1.8,
              "the same, continuing on the thread that reads answers"),
          atMost(
              "redis.cpu.vsIncr",
              0.7,
              "Redis CPU per decision over that of a bare INCR, 512 in flight"),
          atMost("redis.cpu.vsBucket4j", 0.25, "the same over that of Bucket4j"),
          atMost("redis.bytes", 128, "bytes per account in Redis, token bucket"),
          atMost("redis.bytes.vsBucket4j", 0.75, "the same over those of Bucket4j"),
          atMost(
              "redis.bytes.slidingWindow",
              500,
              "bytes per account of a sliding window of 60 parts, all in use"),
          atLeast(
              "redis.hot.vsIncr",
              3.5,
              "decisions per second on one hot account over those of a bare INCR"),
          atLeast("redis.hot.vsBucket4jBatching", 0.6, "the same over those of Bucket4j batching"),
          atLeast(
              "redis.kind.fixedWindow.vsIncr",
              1.6,
              "decisions per second over those of a bare INCR, 512 in flight, fixed window"),
          atLeast("redis.kind.slidingWindow.vsIncr", 1.3, "the same, sliding window of 60 parts"),
          atLeast(
              "redis.kind.slidingWindow.moved.vsIncr",
              0.9,
              "the same, each call in another part of the window"),
          atLeast("redis.kind.slidingLog.vsIncr", 0.55, "the same, sliding log of at most 100"),
          atLeast(
              "redis.kind.slidingLog.full.vsIncr", 0.4, "the same, an entry leaves at each call"),
          atLeast(
              "redis.kind.lock.vsSame",
              0.9,
              "decisions per second by a rule with a lock, nobody locked, over those without it"),
          atMost(
              "redis.plan3x2.vsSingle",
              3,
              "time of a call of three limits and two facets over one and one"),
          atMost(
              "redis.evalsha.1.p50VsIncr",
              2.3,
              "median latency without functions over that of a bare INCR, one in flight that waits"),
          atLeast(
              "redis.evalsha.512.vsIncr",
              1.1,
              "decisions per second without functions over those of a bare INCR, 512 in flight"),
          atMost(
              "redis.costs.vsOne",
              1.2,
              "Redis CPU per decision with 2,000 different costs over that with one"),
          atMost(
              "cluster.cpu.vsSingle",
              1.4,
              "Redis CPU per decision, three masters over a single Redis, 512 in flight"),
          atLeast(
              "denied.vsBucket4j", 40, "denials per second over those of Bucket4j, limits used up"),
          atLeast("denied.vsBucket4jSkipping", 1, "the same over those of Bucket4j skipping"),
          atMost("denied.redisCommandsPerDecision", 0.01, "Redis commands per denial"),
          atMost(
              "worst.oneRule.millis",
              5,
              "milliseconds in Redis of the worst call by one rule, median of several"),
          atMost("growth.tokenBucket", 1.3, "cost at a limit of 100,000 over 10, token bucket"),
          atMost("growth.fixedWindow", 1.3, "the same, fixed window"),
          atMost("growth.slidingWindow", 1.3, "the same, sliding window"),
          atMost("growth.slidingLog", 3, "the same, sliding log, which holds its events"),
          atMost(
              "console.overhead",
              1.03,
              "decisions per second without summaries and console over those with both"),
          atLeast(
              "memory.vsBucket4j",
              4,
              "decisions per second in the JVM over those of Bucket4j, 2 threads"),
          atLeast("memory.fixedWindow.vsBucket4j", 2, "the same, fixed window"),
          atLeast("memory.slidingWindow.vsBucket4j", 2, "the same, sliding window of 60 parts"),
          atLeast("memory.slidingLog.vsBucket4j", 1, "the same, sliding log"),
          atLeast(
              "memory.listener.vsNone",
              0.75,
              "the same with a listener that counts by outcome over none, token bucket"),
          atLeast("http.check.vsBare", 0.75, "/v1/check per second over a bare Armeria handler"),
          atLeast("http.gate.vsBare", 0.9, "/v1/gate per second over a bare Armeria handler"),
          atLeast("http.redis.gate.vsBare", 0.7, "the same, with the accounts on Redis"));

  private static Promise atLeast(String key, double bound, String says) {
    return new Promise(key, says, true, bound);
  }

  private static Promise atMost(String key, double bound, String says) {
    return new Promise(key, says, false, bound);
  }

  static Optional<Promise> of(String key) {
    return ALL.stream().filter(promise -> promise.key.equals(key)).findFirst();
  }

  /** Whether a figure compares two contenders, and so depends less on the machine. */
  static boolean isRatio(String key) {
    return key.matches(".*\\.(vs|p50Vs)[A-Z].*");
  }

  /** Whether a ratio is better if it is higher; without a promise its name says what it is of. */
  static boolean isBetterHigher(String key) {
    return of(key)
        .map(Promise::isAtLeast)
        .orElse(!key.matches(".*\\.(p50Vs.*|cpu\\.vs.*|bytes\\.vs.*)"));
  }

  boolean isKeptBy(double value) {
    return isAtLeast ? value >= bound : value <= bound;
  }

  /** Such as {@code at least 1.3}. */
  String wanted() {
    String number = bound == Math.rint(bound) ? String.valueOf((long) bound) : bound + "";
    return (isAtLeast ? "at least " : "at most ") + number;
  }
}
