package dev.sluice.bench.suites;

import static dev.sluice.bench.suites.RedisSuite.AMPLE;
import static dev.sluice.bench.suites.RedisSuite.HOUR;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.bench.contenders.Contenders;
import dev.sluice.bench.load.ClosedLoop;
import dev.sluice.bench.load.Contender;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Compares Sluice's kinds of limits on Redis, and what a call may find in them. */
public final class KindSuite {
  /*
   * Most calls find an account that nothing has left since the call before. Those of two contenders
   * find one that something leaves at every call, as slow callers do. They have fewer accounts,
   * which are called in turns, and short windows, so that the load of the bench is enough for it.
   * Before each measurement they run for the length of a window, until as much leaves as comes in.
   */
  private static final int FEW = 10_000;

  /** Sixty parts of 5 ms: at 150,000 calls a second, an account is called every 13 parts. */
  private static final Limit MOVING =
      Limit.slidingWindow(100_000, Duration.ofMillis(300), Duration.ofMillis(5));

  /** At 100,000 calls a second, ten entries, one of which leaves at each call. */
  private static final Limit TURNING = Limit.slidingLog(10_000, Duration.ofSeconds(1));

  static final Rule TOKEN_BUCKET =
      kind("tokenBucket", Limit.tokenBucket(AMPLE.capacity(), AMPLE.refill(), AMPLE.period()));

  /** A limit of 100, which no caller reaches during the measurement. */
  static final Rule SLIDING_LOG = kind("slidingLog", Limit.slidingLog(100, HOUR));

  private static final int IN_FLIGHT = 512;

  /** The number of parts of the sliding window. */
  private static final int PARTS = 60;

  private static final int WEIGHED_WINDOWS = 200;

  private KindSuite() {}

  /** Every kind of limit, and a call with three limits and two identities. */
  public static void run(Extent extent, Figures figures) throws IOException {
    try (RedisServer server = RedisServer.start()) {
      figures.measuredOn(server.version());
      String[] names = extent.names();
      List<Contender> all = contenders(server.uri(), names);
      Progress progress = new Progress(extent.out(), all.size() * (1 + extent.rounds()));
      Rounds.warmUp(all, names, List.of(IN_FLIGHT), extent.warmUpMillis(), progress);
      Rounds rounds = new Rounds(server, names, true);
      rounds.run(all, IN_FLIGHT, extent.rounds(), extent.millis(), progress);
      progress.end();
      tell(all, rounds, figures);
      all.forEach(Contender::close);
    }
  }

  private static List<Contender> contenders(String uri, String[] names) {
    List<Contender> all = new ArrayList<>();
    all.add(Contenders.incr(uri));
    all.add(sluice(uri, TOKEN_BUCKET));
    all.add(sluice(uri, kind("fixedWindow", Limit.fixedWindow(100_000, HOUR))));
    all.add(
        sluice(
            uri, kind("slidingWindow", Limit.slidingWindow(100_000, HOUR, HOUR.dividedBy(PARTS)))));
    all.add(changing("slidingWindow.moved", uri, MOVING, names));
    all.add(sluice(uri, SLIDING_LOG));
    all.add(changing("slidingLog.full", uri, TURNING, names));
    Rule locking = kind("lock", TOKEN_BUCKET.terms().limits().get(0));
    all.add(sluice(uri, locking.toBuilder().lock(Lock.of(HOUR)).build()));
    all.add(denied(uri, names));
    Rule plan =
        Rule.builder("plan")
            .by("login", "ip")
            .limit(Limit.tokenBucket(100_000, 100, HOUR))
            .limit(Limit.tokenBucket(200_000, 200, HOUR))
            .limit(Limit.fixedWindow(1_000_000, HOUR))
            .build();
    all.add(
        Contenders.sluice(
            "plan3x2",
            Contenders.store(uri).build(),
            plan,
            key -> Identity.of("login", key, "ip", key)));
    return all;
  }

  /** A contender whose accounts are called one after the other, each of which changes then. */
  private static Contender changing(String name, String uri, Limit limit, String[] names) {
    String[] few = Arrays.copyOf(names, FEW);
    AtomicInteger calls = new AtomicInteger();
    Contender sluice =
        Contenders.sluice(
            name,
            Contenders.store(uri).build(),
            kind(name, limit),
            key -> Contenders.login(few[Math.floorMod(calls.getAndIncrement(), FEW)]));
    return Contenders.after(
        () -> ClosedLoop.run(sluice::decide, names, IN_FLIGHT, limit.window().toMillis()), sluice);
  }

  /** Calls on limits that are used up, each of which asks Redis. */
  private static Contender denied(String uri, String[] names) {
    Contender sluice =
        Contenders.sluice(
            "denied",
            Contenders.store(uri).cacheDenials(false).build(),
            kind("denied", Limit.tokenBucket(1, 1, HOUR)),
            Contenders::login);
    Rounds.check(sluice, ClosedLoop.each(sluice::decide, names, IN_FLIGHT), true);
    return Contenders.denied(sluice);
  }

  private static void tell(List<Contender> all, Rounds rounds, Figures figures) {
    for (Contender each : all) {
      String name = each.name();
      boolean isIncr = name.equals("INCR");
      String key = "redis.kind." + (isIncr ? "incr" : name);
      if (name.equals("denied")) {
        key = "redis.denied";
      }
      if (!isIncr) {
        figures.put(key + ".vsIncr", rounds.ratio(name, "INCR", Rounds.Sample::perSecond));
        figures.put(key + ".cpu.vsIncr", rounds.ratio(name, "INCR", Rounds.Sample::cpuPerDecision));
      }
      figures.put(key + ".perSecond", rounds.median(name, Rounds.Sample::perSecond));
      figures.put(key + ".cpuMicros", rounds.median(name, Rounds.Sample::cpuPerDecision));
      figures.put(
          key + ".commandsPerDecision", rounds.median(name, Rounds.Sample::commandsPerDecision));
    }
    figures.put(
        "redis.kind.lock.vsSame", rounds.ratio("lock", "tokenBucket", Rounds.Sample::perSecond));
    figures.put(
        "redis.plan3x2.vsSingle", rounds.ratio("tokenBucket", "plan3x2", Rounds.Sample::perSecond));
    figures.put(
        "redis.plan3x2.scriptCallsPerDecision",
        rounds.median("plan3x2", Rounds.Sample::scriptCallsPerDecision));
  }

  /**
   * The memory of a sliding-window account when every part of its window holds calls. Time passes
   * in Redis, so the window is short; it has as many parts as a long one.
   */
  public static void bytesOfWindow(Extent extent, Figures figures) throws IOException {
    try (RedisServer server = RedisServer.start()) {
      figures.measuredOn(server.version());
      Duration part = Duration.ofMillis(50);
      Duration window = part.multipliedBy(PARTS);
      Contender weighed =
          sluice(server.uri(), kind("weighed", Limit.slidingWindow(100_000, window, part)));
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
  }

  /** A separate rule for each kind; rules of the same name would share accounts. */
  static Rule kind(String name, Limit limit) {
    return Rule.builder(name).by("login").limit(limit).build();
  }

  private static Contender sluice(String uri, Rule rule) {
    return Contenders.sluice(rule.name(), uri, rule);
  }
}
