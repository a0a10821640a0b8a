package dev.sluice.bench.suites;

import dev.sluice.Call;
import dev.sluice.Cycle;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.bench.contenders.Contenders;
import dev.sluice.bench.load.ClosedLoop;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import dev.sluice.bench.suites.WorstCalls.Plan;
import dev.sluice.internal.Bounds;
import dev.sluice.redis.RedisStore;
import java.io.IOException;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** How long one call may keep Redis busy, by kind of limit and operation. */
public final class WorstSuite {
  /*
   * Accounts are as full as they can be: a log holds 100,000 entries of mixed weights, a window has
   * calls in each of its 3,600 parts. Each operation is then called alone, and the figure is the
   * median of several. A caller may choose the cost, so no large cost is asked for twice.
   *
   * Time passes in Redis. So windows are so short that they can be filled while one waits, and calls
   * after idle time come when half or all of an account has really left its window.
   */
  static final int ENTRIES = 100_000;
  static final int PARTS = 3_600;
  static final String WIDEST = "widest";

  /** What the entries of a full log weigh, one to three each, and a little room. */
  static final long LIMIT = 2L * ENTRIES + 3_000;

  private static final Duration PART = Duration.ofMillis(5);
  private static final Duration WINDOW = PART.multipliedBy(PARTS);

  /** Longer than it takes to fill a window and two logs. */
  private static final Duration IDLE_WINDOW = Duration.ofSeconds(40);

  /** Accounts of each plan; medians are over all of them. */
  private static final int ACCOUNTS = 3;

  private static final int IN_FLIGHT = 256;
  private static final int DIFFERENT_COSTS = 1_500;

  private static final Limit LOG = Limit.slidingLog(LIMIT, Duration.ofHours(1));
  private static final Limit MOVING = Limit.slidingWindow(LIMIT, WINDOW, PART);
  private static final Limit CALENDAR = Limit.fixedWindow(LIMIT, Cycle.monthly(ZoneOffset.UTC, 31));
  private static final Limit BUCKET = Limit.tokenBucket(LIMIT, 1, Duration.ofHours(1));

  /** The longest list of locks that a rule may have. */
  private static final Lock GROWING = Lock.growing(Collections.nCopies(64, Duration.ofMinutes(1)));

  private static final Rule LOGS = rule("slidingLog", LOG);
  private static final Rule WINDOWS = rule("slidingWindow", MOVING);
  private static final Rule ALL_KINDS = locking("allKinds", LOG, MOVING, CALENDAR, BUCKET);
  private static final Rule IDLE_LOGS = rule("idleLog", Limit.slidingLog(LIMIT, IDLE_WINDOW));
  private static final List<Rule> COUNTS =
      List.of(
          rule("tokenBucket", BUCKET),
          rule("fixedWindow", Limit.fixedWindow(LIMIT, Duration.ofHours(1))),
          rule("calendar", CALENDAR),
          locking("lock", BUCKET));

  /** As many rules, accounts and limits as a call may have, and no two rules with equal limits. */
  private static final Plan WIDE = widest();

  private final RedisServer server;
  private final Extent extent;
  private final Limiter limiter;
  private final WorstCalls calls;
  private final Progress progress;

  private WorstSuite(RedisServer server, Extent extent) {
    this.server = server;
    this.extent = extent;
    List<Rule> rules = new ArrayList<>(COUNTS);
    rules.addAll(List.of(LOGS, WINDOWS, ALL_KINDS, IDLE_LOGS));
    rules.addAll(WIDE.rules());
    this.limiter =
        Limiter.owning(
            Contenders.store(server.uri())
                .cacheDenials(false)
                .reports(false)
                .overrides(false)
                .build(),
            Rules.of(rules));
    this.calls = new WorstCalls(server, limiter);
    this.progress = new Progress(extent.out(), 20);
  }

  public static void run(Extent extent, Figures figures) throws IOException {
    try (RedisServer server = RedisServer.start()) {
      figures.measuredOn(server.version());
      new WorstSuite(server, extent).run(figures);
    }
  }

  private void run(Figures figures) {
    for (Rule rule : COUNTS) {
      for (int i = 0; i < 2 * ACCOUNTS; i++) {
        Decision unused = limiter.decide(Call.of(rule.name(), caller(i)).costing(LIMIT - 1_000));
      }
      measure(rule);
    }
    fill(LOGS, ENTRIES, 2 * ACCOUNTS + 1);
    measure(LOGS);
    attack(figures);
    measureMoving();
    memoryOfPlans(figures);
    progress.end();
    calls.tell(figures);
    limiter.close();
  }

  /** The accounts are filled; half of them are for what empties an account at once. */
  private void measure(Rule rule) {
    progress.next(rule.name());
    for (int i = 0; i < ACCOUNTS; i++) {
      calls.onFull(Plan.of(rule), caller(i));
      calls.forgive(Plan.of(rule), caller(ACCOUNTS + i));
    }
  }

  /** Windows, and logs that entries leave. */
  private void measureMoving() {
    fill(ALL_KINDS, ENTRIES - 2 * PARTS, 2 * ACCOUNTS);
    fill(IDLE_LOGS, ENTRIES / 2, ACCOUNTS);
    long firstHalf = System.nanoTime();
    Map<Call, LongSupplier> ticking = new LinkedHashMap<>();
    for (int i = 0; i < 2 * ACCOUNTS; i++) {
      ticking.put(Call.of(ALL_KINDS.name(), caller(i)), () -> 1 + random(3));
      ticking.put(Call.of(WINDOWS.name(), caller(i)), () -> LIMIT / PARTS - 1);
    }
    for (int i = 2 * ACCOUNTS; i < 3 * ACCOUNTS; i++) {
      ticking.put(Call.of(WINDOWS.name(), caller(i)), () -> LIMIT / PARTS - 1); // for idle calls
    }
    tick(ticking);
    long full = System.nanoTime();
    measure(WINDOWS);
    measure(ALL_KINDS);
    fill(IDLE_LOGS, ENTRIES / 2, ACCOUNTS);
    long secondHalf = System.nanoTime();
    await(full + WINDOW.toNanos() / 2);
    afterIdle("slidingWindow.halfLeft", WINDOWS, 2 * ACCOUNTS);
    await(firstHalf + IDLE_WINDOW.toNanos());
    afterIdle("slidingLog.halfLeft", IDLE_LOGS, 0);
    tick(
        Map.of(
            WIDE.call(wideCaller(0)), () -> 1 + random(3),
            WIDE.call(wideCaller(1)), () -> 1 + random(3)));
    progress.next(WIDEST);
    calls.onFull(WIDE, wideCaller(0));
    calls.forgive(WIDE, wideCaller(1));
    afterIdle("slidingWindow.allLeft", WINDOWS, 2 * ACCOUNTS);
    await(secondHalf + IDLE_WINDOW.toNanos());
    afterIdle("slidingLog.allLeft", IDLE_LOGS, 0);
  }

  private void afterIdle(String name, Rule rule, int from) {
    progress.next(name);
    for (int i = from; i < from + ACCOUNTS; i++) {
      calls.afterIdle(new Plan(name, List.of(rule)), caller(i));
    }
  }

  // ---- Filling --------------------------------------------------------------------------------

  /** Calls of mixed weights, as fast as possible. */
  private void fill(Rule rule, int entries, int accounts) {
    progress.next(rule.name() + ", filling");
    String[] names = new String[entries * accounts];
    for (int i = 0; i < names.length; i++) {
      names[i] = "caller-" + i % accounts;
    }
    ClosedLoop.Seen seen =
        ClosedLoop.each(
            name ->
                limiter
                    .decideAsync(
                        Call.of(rule.name(), Contenders.login(name)).costing(1 + random(3)))
                    .thenApply(Decision::allowed),
            names,
            IN_FLIGHT);
    if (seen.passed() < names.length) {
      throw new IllegalStateException(
          "%s: %,d of %,d calls passed (expected: all)"
              .formatted(rule.name(), seen.passed(), names.length));
    }
  }

  /** Calls in each part of a window, with these costs. A call that is under way is waited for. */
  private void tick(Map<Call, LongSupplier> costs) {
    progress.next("a call in each part of a window");
    Map<Call, CompletableFuture<Decision>> underWay = new HashMap<>();
    long start = System.nanoTime();
    for (int part = 0; System.nanoTime() - start < WINDOW.toNanos(); part++) {
      costs.forEach(
          (call, cost) -> {
            CompletableFuture<Decision> before = underWay.get(call);
            if (before == null || before.isDone()) {
              underWay.put(
                  call, limiter.decideAsync(call.costing(cost.getAsLong())).toCompletableFuture());
            }
          });
      await(start + (part + 1) * PART.toNanos());
    }
    underWay.values().forEach(CompletableFuture::join);
  }

  private static long random(int bound) {
    return ThreadLocalRandom.current().nextInt(bound);
  }

  /** Time passes in Redis, which has no other clock. */
  private static void await(long nanoTime) {
    while (System.nanoTime() < nanoTime) {
      LockSupport.parkNanos(nanoTime - System.nanoTime());
    }
  }

  // ---- What one caller can do to others -------------------------------------------------------

  /**
   * One caller asks for one large cost after the other, another one calls by another rule on a
   * store with the usual deadline: how many of its calls are not counted by Redis?
   */
  private void attack(Figures figures) {
    progress.next("an attack on " + LOGS.name());
    long end = System.nanoTime() + Duration.ofSeconds(extent.isQuick() ? 4 : 8).toNanos();
    int byStore = 0;
    int local = 0;
    long slowest = 0;
    try (Limiter others =
        Limiter.owning(RedisStore.connect(server.uri()), Rules.of(COUNTS.get(1)))) {
      CompletableFuture<Integer> attacker = CompletableFuture.supplyAsync(() -> attackUntil(end));
      for (int i = 0; System.nanoTime() < end; i++) {
        long start = System.nanoTime();
        Decision decision =
            others.decide(COUNTS.get(1).name(), Contenders.login("other-" + i % 1_000));
        slowest = Math.max(slowest, System.nanoTime() - start);
        if (decision.countedBy() == Decision.CountedBy.STORE) {
          byStore++;
        } else {
          local++;
        }
      }
      figures.put("worst.attack.calls", attacker.join());
      figures.put("worst.attack.others.byRedis", byStore);
      figures.put("worst.attack.others.local", local);
      figures.put("worst.attack.others.slowestMillis", slowest / 1e6);
    }
  }

  private int attackUntil(long end) {
    int asked = 0;
    Call call = Call.of(LOGS.name(), caller(2 * ACCOUNTS)); // it was filled for this
    while (System.nanoTime() < end) {
      Decision unused = limiter.decide(call.costing(LIMIT - asked++ % ENTRIES));
    }
    return asked;
  }

  /**
   * The memory of the Lua engine after wide calls with as many costs as one caller can think of.
   */
  private void memoryOfPlans(Figures figures) {
    progress.next("wide calls with different costs");
    Call call = WIDE.call(wideCaller(2));
    for (int i = 1; i <= DIFFERENT_COSTS; i++) {
      Decision unused = limiter.decide(call.costing(i).peeking());
    }
    figures.put("worst.plans.luaMegabytes", server.luaMemory() / 1e6);
  }

  // ---- Rules and callers ----------------------------------------------------------------------

  private static Rule rule(String name, Limit limit) {
    return Rule.builder(name).by("login").limit(limit).build();
  }

  private static Rule locking(String name, Limit... limits) {
    Rule.Builder rule = Rule.builder(name).by("login").lock(GROWING);
    List.of(limits).forEach(rule::limit);
    return rule.build();
  }

  private static Identity caller(int number) {
    return Contenders.login("caller-" + number);
  }

  /** Two accounts for each rule, and four limits for each account. */
  private static Plan widest() {
    List<Rule> rules = new ArrayList<>();
    for (int i = 0; i < Bounds.MOST_RULES; i++) {
      Limit log = Limit.slidingLog(LIMIT + i, Duration.ofHours(1));
      Limit moving = Limit.slidingWindow(LIMIT + i, WINDOW, PART);
      Limit calendar = Limit.fixedWindow(LIMIT + i, Cycle.monthly(ZoneOffset.UTC, 31));
      Limit bucket = Limit.tokenBucket(LIMIT + i, 1, Duration.ofHours(1));
      rules.add(
          locking(WIDEST + i, log, moving, calendar, bucket).toBuilder()
              .by("login", "login+ip")
              .build());
    }
    return new Plan(WIDEST, rules);
  }

  private static Identity wideCaller(int number) {
    return Identity.of("login", "wide-" + number, "ip", "192.0.2." + number);
  }
}
