package dev.sluice.bench.suites;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.bench.contenders.Contenders;
import dev.sluice.bench.contenders.Contenders.Allowance;
import dev.sluice.bench.load.ClosedLoop;
import dev.sluice.bench.load.Contender;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** Compares decisions on Redis with other limiters: rate, latency, CPU, commands and bytes. */
public final class RedisSuite {
  static final Duration HOUR = Duration.ofHours(1);

  /** No limit is used up during the measurement, and no account is full again before its end. */
  static final Allowance AMPLE = new Allowance(10_000_000, 1, Duration.ofSeconds(36));

  /** The numbers in flight of the warm-up: each once, the largest twice. */
  private static final List<Integer> WARM_UP = List.of(512, 64, 512, 1);

  /** One in flight comes last: its microseconds need code that is compiled. */
  private static final List<Integer> IN_FLIGHT = List.of(64, 512, 1);

  /** A limit of 100, which no caller reaches during the measurement. */
  static final Rule SLIDING_LOG = kind("slidingLog", Limit.slidingLog(100, HOUR));

  static final Rule TOKEN_BUCKET =
      kind("tokenBucket", Limit.tokenBucket(AMPLE.capacity(), AMPLE.refill(), AMPLE.period()));

  private static final List<String> ALONE = List.of("INCR", "Sluice", "Bucket4j");

  /** The number of parts of the sliding window. */
  private static final int PARTS = 60;

  private static final int WEIGHED_WINDOWS = 200;

  private final RedisServer server;
  private final Extent extent;
  private final Figures figures;

  private RedisSuite(RedisServer server, Extent extent, Figures figures) {
    this.server = server;
    this.extent = extent;
    this.figures = figures;
  }

  public static void run(Extent extent, Figures figures) throws IOException {
    try (RedisServer server = RedisServer.start()) {
      figures.measuredOn(server.version());
      RedisSuite suite = new RedisSuite(server, extent, figures);
      suite.peers();
      suite.kinds();
      suite.bytesOfWindow();
    }
  }

  static Rule bucketRule(Allowance allowance) {
    return Rule.builder("signIn")
        .by("login")
        .limit(Limit.tokenBucket(allowance.capacity(), allowance.refill(), allowance.period()))
        .build();
  }

  private void peers() {
    String uri = server.uri();
    List<Contender> all =
        List.of(
            Contenders.incr(uri),
            Contenders.sluice("Sluice", uri, bucketRule(AMPLE)),
            Contenders.bucket4j(uri, AMPLE),
            Contenders.redisson(uri, AMPLE),
            Contenders.gateway(uri, AMPLE));
    List<Contender> onHot = new ArrayList<>(all);
    onHot.add(Contenders.batchingBucket4j(uri, AMPLE));
    String[] names = extent.names();
    int rounds = 2 * extent.rounds() + extent.fewerRounds();
    int slices = all.size() * (1 + WARM_UP.size() + rounds);
    int hotSlices =
        onHot.size() * (1 + extent.fewerRounds()) + 2 * (extent.rounds() - extent.fewerRounds());
    int aloneSlices = ALONE.size() * (1 + extent.rounds());
    Progress progress = new Progress(extent.out(), slices + hotSlices + aloneSlices);
    bytes(all, progress);
    warmUp(all, names, WARM_UP, extent.warmUpMillis(), progress);
    hot(onHot, progress);
    for (int inFlight : IN_FLIGHT) {
      uniform(all, names, inFlight, progress);
    }
    aloneWithoutWaiting(all, names, progress);
    progress.end();
    onHot.forEach(Contender::close);
  }

  /** In turns, too, so that the compiler can finish the code of one while others run. */
  private void warmUp(
      List<Contender> all, String[] names, List<Integer> inFlight, long millis, Progress progress) {
    for (Contender contender : all) {
      contender.prepare(names);
    }
    for (int many : inFlight) {
      for (Contender contender : all) {
        progress.next(contender.name() + ", warming up");
        ClosedLoop.run(contender.asked(many), names, many, millis);
      }
    }
  }

  /** All calls for one account. */
  private void hot(List<Contender> all, Progress progress) {
    String[] one = {"the-one-hot-account"};
    warmUp(all, one, List.of(64), extent.warmUpMillis() / 2, progress);
    Rounds rounds = new Rounds(server, one, true);
    rounds.run(all, 64, extent.fewerRounds(), extent.millis(), progress);
    // More rounds for the two whose figures have a promise.
    List<Contender> gathering =
        all.stream()
            .filter(each -> each.name().equals("Sluice") || each.name().equals("Bucket4j batching"))
            .toList();
    int more = extent.rounds() - extent.fewerRounds();
    rounds.run(gathering, 64, more, extent.millis(), progress);
    tell("redis.hot", rounds, all);
  }

  private void uniform(List<Contender> all, String[] names, int inFlight, Progress progress) {
    Rounds rounds = new Rounds(server, names, true);
    int times = inFlight == 64 ? extent.fewerRounds() : extent.rounds();
    rounds.run(all, inFlight, times, extent.millis(), progress);
    tell("redis." + inFlight, rounds, all);
    if (inFlight == 1) {
      figures.put("redis.1.p50VsIncr", p50Ratio(rounds, "INCR"));
      figures.put("redis.1.p50VsBucket4j", p50Ratio(rounds, "Bucket4j"));
    }
    if (inFlight == 512) {
      figures.put("redis.cpu.vsBucket4j", cpuRatio(rounds, "Bucket4j"));
      figures.put("redis.cpu.vsIncr", cpuRatio(rounds, "INCR"));
    }
  }

  /**
   * Over all rounds together. The kernel puts client and Redis on one core or on two, and waking
   * the other core takes longer than an INCR. So rounds differ more than contenders do.
   */
  private static double p50Ratio(Rounds rounds, String other) {
    return p50Micros(rounds, "Sluice") / p50Micros(rounds, other);
  }

  private static double p50Micros(Rounds rounds, String name) {
    return rounds.latencies(name).getValueAtPercentile(50) / 1e3;
  }

  /**
   * One asynchronous call in flight, to compare with blocking calls. INCR and Bucket4j continue on
   * the thread that reads answers, so they wake no other. Sluice completes its answers on another
   * thread, which the application may block.
   */
  private void aloneWithoutWaiting(List<Contender> all, String[] names, Progress progress) {
    List<Contender> some =
        all.stream()
            .filter(each -> ALONE.contains(each.name()))
            .map(Contenders::asynchronous)
            .toList();
    warmUp(some, names, List.of(1), extent.warmUpMillis(), progress);
    Rounds rounds = new Rounds(server, names, true);
    rounds.run(some, 1, extent.rounds(), extent.millis(), progress);
    figures.put("redis.1.async.p50VsIncr", p50Ratio(rounds, "INCR"));
    figures.put("redis.1.async.p50VsBucket4j", p50Ratio(rounds, "Bucket4j"));
    for (String name : ALONE) {
      figures.put("redis.1.async." + key(name) + ".p50Micros", p50Micros(rounds, name));
    }
  }

  private static double cpuRatio(Rounds rounds, String other) {
    return rounds.ratio("Sluice", other, Rounds.Sample::cpuPerDecision);
  }

  private void tell(String prefix, Rounds rounds, List<Contender> all) {
    for (Contender each : all) {
      String name = each.name();
      String key = prefix + "." + key(name);
      if (!name.equals("Sluice")) {
        String ratio = name.equals("INCR") ? "Incr" : name.replace(" b", "B");
        figures.put(prefix + ".vs" + ratio, rounds.ratio("Sluice", name, Rounds.Sample::perSecond));
      }
      Histogram latencies = rounds.latencies(name);
      figures.put(key + ".perSecond", rounds.median(name, Rounds.Sample::perSecond));
      figures.put(key + ".p50Micros", latencies.getValueAtPercentile(50) / 1e3);
      figures.put(key + ".p99Micros", latencies.getValueAtPercentile(99) / 1e3);
      figures.put(key + ".p999Micros", latencies.getValueAtPercentile(99.9) / 1e3);
      figures.put(key + ".cpuMicros", rounds.median(name, Rounds.Sample::cpuPerDecision));
      figures.put(
          key + ".commandsPerDecision", rounds.median(name, Rounds.Sample::commandsPerDecision));
    }
  }

  static String key(String name) {
    return name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "");
  }

  /** The memory of an account: each contender alone makes one decision for each identity. */
  private void bytes(List<Contender> all, Progress progress) {
    String[] names = Extent.names(extent.weighed());
    RedisCommands<String, String> redis = server.commands();
    for (Contender contender : all) {
      progress.next(contender.name() + ", bytes");
      redis.flushall();
      // The first call loads scripts, which do not belong to an account.
      contender.prepare("first");
      ClosedLoop.each(contender::decide, new String[] {"first"}, 1);
      long before = server.usedMemory();
      long bytesBefore = server.bytesOfAllKeys();
      contender.prepare(names);
      ClosedLoop.each(contender::decide, names, 64);
      String key = "redis.bytes." + key(contender.name());
      // All keys of an account, and its part of keys that accounts share.
      figures.put(key, (server.bytesOfAllKeys() - bytesBefore) / (double) names.length);
      figures.put(key + ".ofUsedMemory", (server.usedMemory() - before) / (double) names.length);
    }
    redis.flushall();
    figures.put("redis.bytes", figures.get("redis.bytes.sluice"));
    figures.put(
        "redis.bytes.vsBucket4j",
        figures.get("redis.bytes.sluice") / figures.get("redis.bytes.bucket4j"));
  }

  /**
   * The memory of a sliding-window account when every part of its window holds calls. Time passes
   * in Redis, so the window is short; it has as many parts as a long one.
   */
  private void bytesOfWindow() {
    Duration part = Duration.ofMillis(50);
    Duration window = part.multipliedBy(PARTS);
    server.commands().flushall();
    Contender weighed = sluice(kind("weighed", Limit.slidingWindow(100_000, window, part)));
    ClosedLoop.each(weighed::decide, new String[] {"first"}, 1);
    long before = server.bytesOfAllKeys();
    String[] names = Extent.names(WEIGHED_WINDOWS);
    Progress progress = new Progress(extent.out(), 1);
    progress.next("sliding window, bytes");
    long end = System.nanoTime() + window.plus(part).toNanos();
    do {
      Rounds.check(weighed, ClosedLoop.each(weighed::decide, names, 64), true);
    } while (System.nanoTime() < end);
    long keys = server.commands().dbsize();
    double bytes = (server.bytesOfAllKeys() - before) / (double) names.length;
    progress.end();
    weighed.close();
    if (keys < names.length) {
      throw new IllegalStateException(
          "keys: %d of %d accounts (expected: none had expired)".formatted(keys, names.length));
    }
    figures.put("redis.bytes.slidingWindow", bytes);
  }

  /** Every kind of limit, and a call with three limits and two identities. */
  private void kinds() {
    String uri = server.uri();
    List<Contender> all = new ArrayList<>();
    all.add(Contenders.incr(uri));
    all.add(sluice(TOKEN_BUCKET));
    all.add(sluice(kind("fixedWindow", Limit.fixedWindow(100_000, HOUR))));
    all.add(
        sluice(kind("slidingWindow", Limit.slidingWindow(100_000, HOUR, HOUR.dividedBy(PARTS)))));
    all.add(sluice(SLIDING_LOG));
    Rule plan =
        Rule.builder("plan")
            .by("login", "ip")
            .limit(Limit.tokenBucket(100_000, 100, HOUR))
            .limit(Limit.tokenBucket(200_000, 200, HOUR))
            .limit(Limit.fixedWindow(1_000_000, HOUR))
            .build();
    all.add(
        Contenders.sluice("plan3x2", uri, plan, key -> Identity.of("login", key, "ip", key), true));
    String[] names = extent.names();
    Progress progress = new Progress(extent.out(), all.size() * (1 + extent.rounds()));
    warmUp(all, names, List.of(512), extent.warmUpMillis(), progress);
    Rounds rounds = new Rounds(server, names, true);
    rounds.run(all, 512, extent.rounds(), extent.millis(), progress);
    progress.end();
    for (Contender each : all) {
      String key = "redis.kind." + (each.name().equals("INCR") ? "incr" : each.name());
      if (!each.name().equals("INCR")) {
        figures.put(key + ".vsIncr", rounds.ratio(each.name(), "INCR", Rounds.Sample::perSecond));
      }
      figures.put(key + ".perSecond", rounds.median(each.name(), Rounds.Sample::perSecond));
      figures.put(key + ".cpuMicros", rounds.median(each.name(), Rounds.Sample::cpuPerDecision));
      each.close();
    }
    figures.put(
        "redis.plan3x2.vsSingle", rounds.ratio("tokenBucket", "plan3x2", Rounds.Sample::perSecond));
    figures.put(
        "redis.plan3x2.scriptCallsPerDecision",
        rounds.median("plan3x2", Rounds.Sample::scriptCallsPerDecision));
  }

  /** A separate rule for each kind; rules of the same name would share accounts. */
  private static Rule kind(String name, Limit limit) {
    return Rule.builder(name).by("login").limit(limit).build();
  }

  private Contender sluice(Rule rule) {
    return Contenders.sluice(rule.name(), server.uri(), rule);
  }
}
