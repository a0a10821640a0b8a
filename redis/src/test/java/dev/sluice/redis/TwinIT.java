package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Cycle;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.OnStoreFailure;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The same random histories through the memory store and the scripts: every field is equal. */
class TwinIT {
  private static final int HISTORIES = Integer.getInteger("sluice.twins", 20_000);
  private static final long SEED = Long.getLong("sluice.from", 1_000_000);
  private static final int THREADS = 4;

  @Test
  void bothStoresAnswerTheSameHistoryWithTheSameBalances() throws Exception {
    System.out.printf("TwinIT: %,d histories, -Dsluice.from=%d%n", HISTORIES, SEED);
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest())) {
      ExecutorService threads = Executors.newFixedThreadPool(THREADS);
      List<Future<?>> parts = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        int part = t;
        parts.add(threads.submit(() -> play(redis, part)));
      }
      for (Future<?> part : parts) {
        part.get();
      }
      threads.shutdown();
      assertThat(redis.keysWithoutTtl()).isEmpty();
      assertThat(redis.info("commandstats", "cmdstat_setrange"))
          .as("rows that were changed in place")
          .isPositive();
    }
  }

  private static void play(RedisProcess redis, int part) {
    long[] now = {0};
    try (LettuceStore shared =
        RedisStore.builder(redis.uri()).testClock(() -> now[0]).buildBare()) {
      for (int i = part; i < HISTORIES; i += THREADS) {
        new History(SEED + i, "h" + i, now, shared).play();
      }
    }
  }

  /** One history: its accounts, what was done so far, and both stores. */
  private static final class History {
    private static final long EARLIEST = 1_000_000_000_000_000L; // 2001, before any server's clock
    private static final long LATEST = 3_000_000_000_000_000L; // 2065
    private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");
    private static final List<Cycle.Unit> UNITS = List.of(Cycle.Unit.values());

    private final long seed;
    private final SplittableRandom random;
    private final long[] now;
    private final LettuceStore shared;
    private final MemoryStore memory;
    private final Identity caller;
    private final List<Account> accounts = new ArrayList<>();
    private final List<List<Terms>> terms = new ArrayList<>();
    private final List<Rule> rules = new ArrayList<>();
    private final int[] inForce = new int[2];
    private final List<Receipt[]> receipts = new ArrayList<>();
    private final StringBuilder told = new StringBuilder();

    private final Map<Receipt, Integer> settledIn = new HashMap<>();
    private long lastWait = 1;

    /*
     * A step back could revive an id that one store has forgotten. So the ids of a history are new
     * after each step back, or it is too short for any of them to be forgotten.
     */
    private final boolean outlastsIds;

    private int epoch;

    History(long seed, String name, long[] now, LettuceStore shared) {
      this.seed = seed;
      this.random = new SplittableRandom(seed);
      this.now = now;
      this.shared = shared;
      this.caller = Identity.of("who", name);
      now[0] = 1_790_000_000_000_000L + random.nextLong(10_000_000_000L);
      this.memory = MemoryStore.create(() -> Instant.EPOCH.plus(now[0], ChronoUnit.MICROS));
      for (int i = 0; i < 2; i++) {
        accounts.add(new Account(chance(2) ? "r" : "r" + i, Identity.of("who", name + "-" + i)));
        Terms first = terms();
        terms.add(List.of(first, chance(2) ? first : otherTerms(first), terms()));
        Rule.Builder rule = Rule.builder(accounts.get(i).rule()).limit(first.limits().get(0));
        rules.add((chance(6) ? rule.shadow() : rule).build());
      }
      this.outlastsIds = chance(2);
    }

    void play() {
      int steps = 4 + random.nextInt(16);
      for (int step = 0; step < steps; step++) {
        moveClock();
        act();
      }
    }

    private boolean chance(int oneIn) {
      return random.nextInt(oneIn) == 0;
    }

    private Terms terms() {
      List<Limit> limits = new ArrayList<>();
      for (int i = chance(3) ? 2 + random.nextInt(2) : 1; i > 0; i--) {
        limits.add(limit());
      }
      Lock lock = null;
      if (chance(3)) {
        lock = chance(2) ? Lock.of(span()) : new Lock(List.of(span(), span(), span()), span());
        lock = chance(2) ? lock : lock.onLimit();
      }
      return new Terms(limits, lock, chance(5));
    }

    private Limit limit() {
      long most = 1L + random.nextInt(6);
      Duration span = span();
      return switch (random.nextInt(5)) {
        case 0 -> {
          Limit.TokenBucket bucket = Limit.tokenBucket(most, 1 + random.nextInt(7), span);
          yield chance(3) ? bucket.withDebt(random.nextInt(4)) : bucket;
        }
        case 1 -> Limit.fixedWindow(most, span);
        case 2 -> Limit.slidingLog(most, span);
        case 3 -> {
          long micros = Durations.micros(span);
          yield Limit.slidingWindow(
              most, span, Durations.ofMicros(Math.max(1, micros / (1 + random.nextInt(9)))));
        }
        default ->
            chance(3)
                ? Limit.fixedWindow(
                    most,
                    chance(2)
                        ? Cycle.monthly(BERLIN, 1 + random.nextInt(31))
                        : Cycle.calendar(UNITS.get(random.nextInt(UNITS.size())), BERLIN))
                : Limit.tokenBucket(most, 1, Duration.ofSeconds(1 + random.nextInt(20)));
      };
    }

    /** The same kinds with other numbers, as when a rule file is edited. */
    private Terms otherTerms(Terms terms) {
      List<Limit> limits = new ArrayList<>();
      for (Limit limit : terms.limits()) {
        long most = 1L + random.nextInt(9);
        if (limit instanceof Limit.TokenBucket bucket) {
          limits.add(Limit.tokenBucket(most, chance(2) ? bucket.refill() : 3, bucket.period()));
        } else if (limit instanceof Limit.SlidingLog log) {
          limits.add(Limit.slidingLog(most, chance(2) ? log.window() : span()));
        } else if (limit instanceof Limit.SlidingWindow window) {
          limits.add(
              Limit.slidingWindow(
                  most, window.window(), chance(2) ? window.precision() : window.window()));
        } else {
          Limit.FixedWindow window = (Limit.FixedWindow) limit;
          limits.add(
              chance(2)
                  ? Limit.fixedWindow(most, window.cycle())
                  : Limit.fixedWindow(most, span()));
        }
      }
      return new Terms(limits, terms.lock(), terms.countDenied());
    }

    private Duration span() {
      long micros =
          switch (random.nextInt(4)) {
            case 0 -> 1L + random.nextInt(50);
            case 1 -> 1_000L * (1 + random.nextInt(2_000));
            case 2 -> 1_000_000L * (1 + random.nextInt(100));
            default -> 1L + random.nextInt(5_000_000);
          };
      return Durations.ofMicros(micros);
    }

    private void moveClock() {
      long window = Durations.micros(terms.get(0).get(0).limits().get(0).window());
      long step =
          switch (random.nextInt(12)) {
            case 0, 1 -> 0;
            case 2 -> 1;
            case 3 -> lastWait;
            case 4 -> lastWait - 1;
            case 5 -> window;
            case 6 -> random.nextLong(window + 1);
            case 7 -> random.nextLong(3 * window + 1);
            case 8 -> random.nextLong(1_000_000);
            case 9 -> chance(2) ? -random.nextLong(window + 1) : random.nextLong(window / 4 + 1);
            case 10 -> chance(3) ? 20 * window + random.nextLong(window) : 1;
            default ->
                chance(3) ? -random.nextLong(30 * window + 1) : random.nextLong(1 + window / 8);
          };
      now[0] = Math.max(EARLIEST, Math.min(LATEST, now[0] + step));
      boolean revives = outlastsIds ? step < 0 : Math.abs(step) > 3_000_000;
      epoch += revives ? 1 : 0;
    }

    private void act() {
      int which = random.nextInt(20);
      if (which < 2 || which == 3 || which == 4) {
        now[0]++; // what was taken in the microsecond in which usage is forgotten may be given back
      }
      if (which == 0 && !receipts.isEmpty()) {
        settle();
      } else if (which == 1 && !receipts.isEmpty()) {
        settle();
      } else if (which == 2) {
        Account account = accounts.get(random.nextInt(2));
        Duration length = span();
        tell("lock " + account + " " + length);
        Restriction a = join(memory.lock(account, length, "by hand"));
        same(join(shared.lock(account, length, "by hand")), a);
      } else if (which == 3) {
        Account account = accounts.get(random.nextInt(2));
        boolean keeps = chance(2);
        tell("lift " + account + (keeps ? " keeping" : ""));
        same(join(shared.lift(account, keeps)), join(memory.lift(account, keeps)));
      } else if (which == 4 && chance(3)) {
        Account account = accounts.get(random.nextInt(2));
        tell("reset " + account);
        boolean wasSomething = join(shared.reset(account));
        boolean was = join(memory.reset(account));
        if (!hasCalendars()) { // Redis does not know the rounds of those without their terms
          same(wasSomething, was);
        }
      } else if (which == 5) {
        inForce[random.nextInt(2)] = random.nextInt(3);
      } else {
        ask();
      }
    }

    private void ask() {
      long cost = random.nextInt(5) == 0 ? random.nextInt(8) : 1;
      List<Charge> charges = new ArrayList<>();
      boolean both = chance(3);
      int only = random.nextInt(4) == 0 ? 1 : 0;
      for (int i = 0; i < 2; i++) {
        if (both || i == only) {
          Terms in = terms.get(i).get(inForce[i]);
          charges.add(new Charge(rules.get(i), accounts.get(i).identity(), in, cost));
        }
      }
      Intent intent =
          chance(8)
              ? Intent.PEEK
              : chance(8) ? Intent.RECORD : chance(6) ? Intent.RESERVE : Intent.TAKE;
      String id =
          chance(6)
              ? "id"
                  + random.nextInt(3)
                  + (chance(2) ? "-" + inForce[0] + inForce[1] : "")
                  + "-"
                  + epoch
              : null;
      String question = intent + " " + cost + (both ? " of both" : " of " + only);
      Plan plan =
          new Plan(
              charges, intent, id, OnStoreFailure.ALLOW, caller, question, Duration.ofSeconds(2));
      tell(question + " " + id + " " + charges);
      Decision expected = decisionOrReused(memory.take(plan));
      Decision found = decisionOrReused(shared.take(plan));
      if (expected == null || found == null) {
        same(found, expected);
        return;
      }
      same(found.allowed(), expected.allowed());
      same(found.balances(), expected.balances());
      expected.deciding().ifPresent(balance -> lastWait = waitOf(balance.retryAfterMicros()));
      if (expected instanceof Decision.Allowed a && found instanceof Decision.Allowed b) {
        same(entries(b.receipt()), entries(a.receipt()));
        if (!a.receipt().entries().isEmpty()) {
          receipts.add(new Receipt[] {a.receipt(), b.receipt()});
        }
      }
    }

    /**
     * The entries of a receipt, without the names that each store gives to entries of a log, and
     * without what was given back: memory starts anew where Redis goes on.
     */
    private static List<Receipt.Entry> entries(Receipt receipt) {
      return receipt.entries().stream().map(History::withoutNumbersOfLogs).toList();
    }

    private static Receipt.Entry withoutNumbersOfLogs(Receipt.Entry entry) {
      List<Receipt.Mark> marks = new ArrayList<>();
      for (int i = 0; i < entry.marks().size(); i++) {
        Receipt.Mark mark = entry.marks().get(i);
        boolean isLog = entry.terms().limits().get(i) instanceof Limit.SlidingLog;
        marks.add(isLog ? new Receipt.Mark(mark.micros(), 0) : mark);
      }
      return new Receipt.Entry(
          entry.account(), entry.terms(), entry.cost(), marks, 0, entry.locked(), entry.local());
    }

    /** Null if the id was used for another question. */
    private static @Nullable Decision decisionOrReused(CompletionStage<Decision> stage) {
      try {
        return join(stage);
      } catch (CompletionException e) {
        assertThat(e).hasCauseInstanceOf(IdReusedException.class);
        return null;
      }
    }

    private static long waitOf(long micros) {
      return micros == 0 || micros == Long.MAX_VALUE ? 1 : micros;
    }

    private void settle() {
      Receipt[] pair = receipts.get(random.nextInt(receipts.size()));
      if (!settledIn.computeIfAbsent(pair[0], fresh -> epoch).equals(epoch)) {
        return; // likewise: one store may have forgotten that it was settled
      }
      long cost = pair[0].entries().get(0).cost();
      long actual = chance(2) ? 0 : random.nextLong(cost + 3);
      Settlement settlement =
          new Settlement(chance(4) ? null : actual, Map.of(), chance(6) ? Set.of("who") : Set.of());
      tell("settle " + pair[0] + " " + settlement);
      same(join(shared.settle(pair[1], settlement)), join(memory.settle(pair[0], settlement)));
    }

    private boolean hasCalendars() {
      return terms.stream()
          .flatMap(List::stream)
          .flatMap(each -> each.limits().stream())
          .anyMatch(
              limit ->
                  limit instanceof Limit.FixedWindow window
                      && !window.cycle().equals(Cycle.every(window.window())));
    }

    private void tell(String what) {
      told.append(now[0]).append("  ").append(what).append('\n');
    }

    private void same(Object found, Object expected) {
      assertThat(found)
          .as("seed %d, Redis against memory, after%n%s", seed, told)
          .isEqualTo(expected);
    }

    private static <T> T join(CompletionStage<T> stage) {
      return stage.toCompletableFuture().join();
    }
  }
}
