package dev.sluice.bench.suites;

import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.bench.contenders.Contenders;
import dev.sluice.bench.contenders.Contenders.Allowance;
import dev.sluice.bench.load.ClosedLoop;
import dev.sluice.bench.load.Contender;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.Store;
import dev.sluice.traffic.Collector;
import dev.sluice.traffic.Reporter;
import dev.sluice.traffic.Traffic;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What summaries and an open console cost decisions. */
public final class ConsoleSuite {
  /*
   * The same limiter twice on one Redis: one shares summaries while a console is open, as an
   * operator's page has it; the other does neither. The console runs in this JVM, and only while
   * the first is measured. A measurement takes four times as long as in other suites, so that it
   * contains several summaries.
   */
  private static final String ON = "reporting";
  private static final String OFF = "silent";
  private static final Allowance NOTHING = new Allowance(1, 1, RedisSuite.HOUR);
  private static final int IN_FLIGHT = 64;
  private static final int LONGER = 4;

  private ConsoleSuite() {}

  public static void run(Extent extent, Figures figures) throws IOException {
    try (RedisServer server = RedisServer.start()) {
      figures.measuredOn(server.version());
      Progress progress = new Progress(extent.out(), 2 * 2 * (2 + extent.rounds()));
      Rounds allowed = onRedis(server, RedisSuite.AMPLE, extent, progress);
      Rounds refused = onRedis(server, NOTHING, extent, progress);
      progress.end();
      figures.put("console.overhead", allowed.ratio(OFF, ON, Rounds.Sample::perSecond));
      figures.put("console.refused.overhead", refused.ratio(OFF, ON, Rounds.Sample::perSecond));
      for (String name : List.of(ON, OFF)) {
        figures.put(
            "console.%s.perSecond".formatted(name), allowed.median(name, Rounds.Sample::perSecond));
        figures.put(
            "console.refused.%s.perSecond".formatted(name),
            refused.median(name, Rounds.Sample::perSecond));
      }
    }
    inMemory(extent, figures);
  }

  private static Rounds onRedis(
      RedisServer server, Allowance allowance, Extent extent, Progress progress) {
    boolean passing = allowance.equals(RedisSuite.AMPLE);
    Rule rule = RedisSuite.bucketRule(allowance);
    String[] names = passing ? extent.names() : Extent.names(1_000);
    server.commands().flushall();
    try (Console console = new Console(server.uri())) {
      List<Contender> both =
          List.of(
              Contenders.after(console::open, sluice(server.uri(), rule, true)),
              Contenders.after(console::shut, sluice(server.uri(), rule, false)));
      return measure(both, server, names, passing, extent, progress);
    }
  }

  private static Rounds measure(
      List<Contender> both,
      RedisServer server,
      String[] names,
      boolean passing,
      Extent extent,
      Progress progress) {
    for (int time = 0; time < 2; time++) {
      for (Contender each : both) {
        progress.next(each.name() + ", warming up");
        ClosedLoop.each(each::decide, names, IN_FLIGHT);
        ClosedLoop.run(each.asked(IN_FLIGHT), names, IN_FLIGHT, extent.warmUpMillis());
      }
    }
    Rounds rounds = new Rounds(server, names, passing);
    rounds.run(both, IN_FLIGHT, extent.rounds(), LONGER * extent.millis(), progress);
    both.forEach(Contender::close);
    return rounds;
  }

  /** Denials are not cached, so that refused calls also come from Redis. */
  private static Contender sluice(String uri, Rule rule, boolean reports) {
    Store store = Contenders.store(uri).cacheDenials(false).reports(reports).build();
    return Contenders.sluice(reports ? ON : OFF, store, rule, Contenders::login);
  }

  /** What a service does while a page of its console is open. Used by one thread. */
  private static final class Console implements AutoCloseable {
    private static final int REFUSALS = 200;

    private final Store store;
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
    private final ScheduledFuture<?> page;
    private @Nullable Collector collector;

    Console(String uri) {
      store = RedisStore.builder(uri).reports(false).build();
      page = thread.scheduleAtFixedRate(this::look, 0, 1, TimeUnit.SECONDS);
    }

    synchronized void open() {
      if (collector == null) {
        collector = Collector.start(store.sharedData(), store.listener());
      }
    }

    synchronized void shut() {
      if (collector != null) {
        collector.close();
        collector = null;
      }
    }

    /** As the live data of the service. */
    private synchronized void look() {
      if (collector != null) {
        var unusedWatch = collector.watch();
        var unusedRefusals = collector.refusals(REFUSALS);
        var unusedOverview = collector.overview();
      }
    }

    @Override
    public void close() {
      page.cancel(false);
      thread.shutdownNow();
      shut();
      store.close();
    }
  }

  // ---- In memory ------------------------------------------------------------------------------

  /** Nanoseconds of a decision on the memory store, by one thread. */
  private static void inMemory(Extent extent, Figures figures) {
    String[] names = extent.names();
    Identity[] callers = new Identity[names.length];
    for (int i = 0; i < names.length; i++) {
      callers[i] = Identity.of("login", names[i]);
    }
    Rule rule = RedisSuite.bucketRule(RedisSuite.AMPLE);
    MemoryStore store = MemoryStore.create();
    Limiter off = Limiter.builder(store, RuleSource.fixed(Rules.of(rule))).build();
    try (Reporter reporter = Reporter.start(Traffic.create(), store, "library")) {
      Limiter on =
          Limiter.builder(store, RuleSource.fixed(Rules.of(rule)))
              .listener(reporter.traffic())
              .build();
      double[] onNanos = new double[extent.rounds()];
      double[] offNanos = new double[extent.rounds()];
      for (int round = -2; round < extent.rounds(); round++) {
        double with = nanos(on, rule, callers, extent.millis());
        double without = nanos(off, rule, callers, extent.millis());
        if (round >= 0) {
          onNanos[round] = with;
          offNanos[round] = without;
        }
      }
      figures.put("console.memory.reporting.nanos", Rounds.median(onNanos));
      figures.put("console.memory.silent.nanos", Rounds.median(offNanos));
    }
  }

  private static double nanos(Limiter limiter, Rule rule, Identity[] callers, long millis) {
    long start = System.nanoTime();
    long end = start + TimeUnit.MILLISECONDS.toNanos(millis);
    long decisions = 0;
    while (System.nanoTime() < end) {
      for (int i = 0; i < 1_000; i++) {
        if (!limiter.decide(rule.name(), callers[(int) (decisions++ % callers.length)]).allowed()) {
          throw new IllegalStateException("a call was refused (expected: all pass)");
        }
      }
    }
    return (System.nanoTime() - start) / (double) decisions;
  }
}
