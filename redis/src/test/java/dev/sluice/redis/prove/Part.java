package dev.sluice.redis.prove;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.internal.Durations;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.prove.Entry.Outcome;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.store.Store;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A run on one topology, and what came out.
 *
 * @param took how long the callers asked
 * @param compared how many accounts were compared with what Redis counted
 * @param strange what makes the run no good evidence, though no promise was broken
 */
record Part(
    String title,
    long startMicros,
    Duration took,
    List<Faults.Done> faults,
    Audit audit,
    int compared,
    List<String> strange) {
  private static final long DAY_MICROS = Durations.micros(Duration.ofDays(1));
  private static final long TOLD_EVERY_NANOS = 10_000_000_000L;
  private static final int LOOKS_AT_A_TIME = 200;

  static Part run(
      Supplier<Site> start, Prove.Options options, long decisions, Duration most, PrintStream out)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + most.toNanos();
    try (Site site = start.get()) {
      Thread interrupted = new Thread(site::close, "end of the servers");
      Runtime.getRuntime().addShutdownHook(interrupted);
      Part part = new Running(site, options, decisions, end, out).run();
      Runtime.getRuntime().removeShutdownHook(interrupted);
      return part;
    }
  }

  /** How often each kind of fault happened, and when. */
  Map<Faults.Kind, List<Faults.Done>> faultsByKind() {
    Map<Faults.Kind, List<Faults.Done>> byKind = new TreeMap<>();
    faults.forEach(it -> byKind.computeIfAbsent(it.kind(), kind -> new ArrayList<>()).add(it));
    return byKind;
  }

  /** A run while it runs. */
  private static final class Running {
    private final Site site;
    private final Prove.Options options;
    private final long decisions;
    private final long endNanos;
    private final PrintStream out;
    private final String title;
    private final List<String> strange = new ArrayList<>();
    private final long startNanos = System.nanoTime();
    private final long startMicros = Caller.now();
    private long toldNanos = startNanos;

    Running(Site site, Prove.Options options, long decisions, long endNanos, PrintStream out) {
      this.site = site;
      this.options = options;
      this.decisions = decisions;
      this.endNanos = endNanos;
      this.out = out;
      String way = options.functions() ? "" : ", by EVALSHA";
      this.title = site.title() + " (Redis " + site.version() + way + ")";
    }

    Part run() throws IOException, InterruptedException {
      out.printf("%n%s%n", title);
      Path folder = options.folder().resolve(site.isCluster() ? "cluster" : "single");
      Files.createDirectories(folder);
      try (Callers callers = Callers.start(site.uri(), options, folder)) {
        // A stopped process does not notice if the run is interrupted just then.
        Thread interrupted = new Thread(callers::close, "end of the callers");
        Runtime.getRuntime().addShutdownHook(interrupted);
        Faults faults = decideUnderFaults(callers);
        List<Entry> entries = callers.stop();
        Runtime.getRuntime().removeShutdownHook(interrupted);
        return check(entries, faults);
      }
    }

    private Faults decideUnderFaults(Callers callers) throws InterruptedException {
      RedisCluster.await(callers::allAsk);
      Faults faults = new Faults(site, callers, options.seed(), options.calm());
      Thread telling = new Thread(() -> tell(callers), "telling");
      telling.start();
      try {
        // Every kind of fault happens at least once, however few decisions are asked for.
        faults.run(() -> goesOn(callers, faults), this::announce);
      } finally {
        telling.interrupt();
        telling.join();
      }
      return faults;
    }

    private Part check(List<Entry> entries, Faults faults) {
      Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
      strange.addAll(faults.strange());
      if (entries.size() < decisions) {
        strange.add(
            "%,d decisions, fewer than the %,d asked for: the time was up"
                .formatted(entries.size(), decisions));
      }
      lookAtTheClock();
      out.printf("  %s  checking%n", Report.clock(took));
      Audit audit = Audit.of(entries, site.isCluster());
      int compared = compare(entries, audit);
      return new Part(title, startMicros, took, faults.done(), audit, compared, strange);
    }

    private boolean goesOn(Callers callers, Faults faults) {
      if (!callers.ended().isEmpty()) {
        strange.add("processes " + callers.ended() + " ended by themselves");
        return false;
      }
      boolean everyKind = faults.done().size() >= Faults.kinds(site.isCluster()).size();
      return System.nanoTime() < endNanos && !(everyKind && sum(callers) >= decisions);
    }

    private static long sum(Callers callers) {
      return callers.counts().values().stream().mapToLong(Long::longValue).sum();
    }

    private void announce(Faults.Fault fault) {
      out.printf("  %s  %s%n", sinceStart(), fault.kind().words);
    }

    private String sinceStart() {
      return Report.clock(Duration.ofNanos(System.nanoTime() - startNanos));
    }

    private void tell(Callers callers) {
      while (!Thread.currentThread().isInterrupted()) {
        if (System.nanoTime() - toldNanos > TOLD_EVERY_NANOS) {
          toldNanos += TOLD_EVERY_NANOS;
          Map<Outcome, Long> counts = callers.counts();
          out.printf(
              "  %s  %,d decisions of %,d: %,d admitted, %,d denied, %,d by policy%n",
              sinceStart(),
              sum(callers),
              decisions,
              counts.get(Outcome.ADMITTED),
              counts.get(Outcome.DENIED),
              counts.get(Outcome.POLICY));
        }
        try {
          Thread.sleep(200); // for a person who watches
        } catch (InterruptedException e) {
          return;
        }
      }
    }

    /** Moments of several processes can be compared only if their clock did not step. */
    private void lookAtTheClock() {
      long byWall = Caller.now() - startMicros;
      long bySteady = (System.nanoTime() - startNanos) / 1_000;
      if (Math.abs(byWall - bySteady) > 100_000 + bySteady / 1_000) {
        strange.add(
            "the machine's clock was set by about %,d ms during the run"
                .formatted((byWall - bySteady) / 1_000));
      }
    }

    /** Compares accounts that forget nothing for a day with what Redis counted. */
    private int compare(List<Entry> entries, Audit audit) {
      Set<Workload.Ask> who = new LinkedHashSet<>();
      for (Entry entry : entries) {
        Workload.Ask ask = entry.ask();
        who.add(new Workload.Ask(ask.way(), ask.member(), ask.address(), 1));
      }
      Set<Account> compared = new LinkedHashSet<>();
      Store store = RedisStore.builder(site.uri()).functions(options.functions()).build();
      try (Limiter limiter = Limiter.owning(store, Workload.RULES)) {
        List<Workload.Ask> all = new ArrayList<>(who);
        for (int i = 0; i < all.size(); i += LOOKS_AT_A_TIME) {
          List<CompletableFuture<Decision>> looks =
              all.subList(i, Math.min(all.size(), i + LOOKS_AT_A_TIME)).stream()
                  .map(ask -> limiter.inspectAsync(ask.call()).toCompletableFuture())
                  .toList();
          for (CompletableFuture<Decision> look : looks) {
            for (Balance balance : look.join().balances()) {
              if (Durations.micros(balance.limit().window()) >= DAY_MICROS) {
                long counted = balance.limit().quota() - balance.remaining();
                audit.checkCounted(balance.account(), balance.limit(), counted);
                compared.add(balance.account());
              }
            }
          }
        }
      }
      for (RedisProcess master : site.masters()) {
        audit.checkForgotten(master.keysWithoutTtl());
      }
      return compared.size();
    }
  }
}
