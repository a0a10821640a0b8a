package dev.sluice.bench.suites;

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

  private static final List<String> ALONE = List.of("INCR", "Sluice", "Bucket4j");

  /** Sluice that continues on the thread that reads answers, as the others do. */
  private static final String DIRECT = "Sluice, direct";

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
      new RedisSuite(server, extent, figures).run();
    }
  }

  static Rule bucketRule(Allowance allowance) {
    return Rule.builder("signIn")
        .by("login")
        .limit(Limit.tokenBucket(allowance.capacity(), allowance.refill(), allowance.period()))
        .build();
  }

  private void run() {
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
    int slices = all.size() * (1 + WARM_UP.size() + IN_FLIGHT.size() * extent.rounds());
    int hotSlices = onHot.size() * (1 + extent.rounds());
    int aloneSlices = (ALONE.size() + 1) * (1 + extent.rounds());
    Progress progress = new Progress(extent.out(), slices + hotSlices + aloneSlices);
    bytes(all, progress);
    Rounds.warmUp(all, names, WARM_UP, extent.warmUpMillis(), progress);
    hot(onHot, progress);
    for (int inFlight : IN_FLIGHT) {
      uniform(all, names, inFlight, progress);
    }
    aloneWithoutWaiting(all, names, progress);
    progress.end();
    onHot.forEach(Contender::close);
  }

  /** All calls for one account. */
  private void hot(List<Contender> all, Progress progress) {
    String[] one = {"the-one-hot-account"};
    Rounds.warmUp(all, one, List.of(64), extent.warmUpMillis() / 2, progress);
    Rounds rounds = new Rounds(server, one, true);
    rounds.run(all, 64, extent.fewerRounds(), extent.millis(), progress);
    // Bucket4j writes until no other call was faster, which takes long on one account.
    List<Contender> others = all.stream().filter(each -> !each.name().equals("Bucket4j")).toList();
    int more = extent.rounds() - extent.fewerRounds();
    rounds.run(others, 64, more, extent.millis(), progress);
    tell("redis.hot", rounds, all);
  }

  private void uniform(List<Contender> all, String[] names, int inFlight, Progress progress) {
    Rounds rounds = new Rounds(server, names, true);
    rounds.run(all, inFlight, extent.rounds(), extent.millis(), progress);
    tell("redis." + inFlight, rounds, all);
    if (inFlight == 1) {
      figures.put("redis.1.p50VsIncr", rounds.p50Ratio("Sluice", "INCR"));
      figures.put("redis.1.p50VsBucket4j", rounds.p50Ratio("Sluice", "Bucket4j"));
    }
    if (inFlight == 512) {
      figures.put("redis.cpu.vsBucket4j", cpuRatio(rounds, "Bucket4j"));
      figures.put("redis.cpu.vsIncr", cpuRatio(rounds, "INCR"));
    }
  }

  /**
   * One asynchronous call in flight, to compare with blocking calls. INCR and Bucket4j continue on
   * the thread that reads answers, so they wake no other. Sluice completes its answers on another
   * thread, which the application may block, unless it is told where to continue.
   */
  private void aloneWithoutWaiting(List<Contender> all, String[] names, Progress progress) {
    List<Contender> some = new ArrayList<>();
    all.stream()
        .filter(each -> ALONE.contains(each.name()))
        .forEach(each -> some.add(Contenders.asynchronous(each)));
    try (Contender direct =
        Contenders.sluice(
            DIRECT,
            Contenders.store(server.uri()).answersOn(Runnable::run).build(),
            bucketRule(AMPLE),
            Contenders::login)) {
      some.add(Contenders.asynchronous(direct));
      Rounds.warmUp(some, names, List.of(1), extent.warmUpMillis(), progress);
      Rounds rounds = new Rounds(server, names, true);
      rounds.run(some, 1, extent.rounds(), extent.millis(), progress);
      figures.put("redis.1.async.p50VsIncr", rounds.p50Ratio("Sluice", "INCR"));
      figures.put("redis.1.async.p50VsBucket4j", rounds.p50Ratio("Sluice", "Bucket4j"));
      figures.put("redis.1.async.direct.p50VsIncr", rounds.p50Ratio(DIRECT, "INCR"));
      for (String name : ALONE) {
        figures.put("redis.1.async." + key(name) + ".p50Micros", rounds.p50Micros(name));
      }
      figures.put("redis.1.async.direct.p50Micros", rounds.p50Micros(DIRECT));
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
}
