package dev.sluice.bench;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;

/** How the cost of a decision grows: with limits, accounts and rules. */
final class GrowthSuite {
  /*
   * Every cost is the time of a decision at 64 in flight; a growth is the larger over the smaller,
   * within one round, on the same number of accounts.
   *
   * The sliding log is the one kind whose state grows with its use, so its accounts are filled
   * first: 1 of 10, and 5,000 (quick) or 50,000 of 100,000. They are few, so that filling them ends;
   * each call is given back at once, so that ten do not run dry. Its cost is that of both.
   */
  private static final int IN_FLIGHT = 64;
  private static final int IN_FLIGHT_ON_LOGS = 16;
  private static final long SMALL = 10;
  private static final long LARGE = 100_000;

  private final RedisServer server;
  private final Extent extent;
  private final Figures figures;

  private GrowthSuite(RedisServer server, Extent extent, Figures figures) {
    this.server = server;
    this.extent = extent;
    this.figures = figures;
  }

  static void run(Extent extent, Figures figures) throws IOException {
    rulesInMemory(extent, figures);
    try (RedisServer server = RedisServer.start()) {
      GrowthSuite suite = new GrowthSuite(server, extent, figures);
      suite.limitSize("tokenBucket", limit -> Limit.bucket(limit, 1, RedisSuite.HOUR));
      suite.limitSize("fixedWindow", limit -> Limit.fixed(limit, RedisSuite.HOUR));
      suite.limitSize("slidingWindow", limit -> Limit.sliding(limit, RedisSuite.HOUR));
      suite.logSize();
      suite.limitsPerRule();
      if (!extent.isQuick()) {
        suite.accounts();
      }
    }
  }

  private void limitSize(String kind, LongFunction<Limit> limit) {
    server.commands().flushall();
    Contender small = sluice("small", List.of(limit.apply(SMALL)));
    Contender large = sluice("large", List.of(limit.apply(LARGE)));
    compare("growth." + kind, small, extent.names(), large, extent.names(), IN_FLIGHT);
  }

  private void logSize() {
    server.commands().flushall();
    Rule ten = logRule("log-10", SMALL);
    Rule many = logRule("log-100000", LARGE);
    String[] few = Extent.names(IN_FLIGHT_ON_LOGS);
    fill(ten, few, 1);
    fill(many, few, extent.isQuick() ? (int) LARGE / 20 : (int) LARGE / 2);
    compare(
        "growth.slidingLog",
        Contenders.borrowing("small", server.uri(), ten),
        few,
        Contenders.borrowing("large", server.uri(), many),
        few,
        IN_FLIGHT_ON_LOGS);
  }

  private static Rule logRule(String name, long limit) {
    return Rule.named(name).by("login").limit(Limit.log(limit, RedisSuite.HOUR)).build();
  }

  private void fill(Rule rule, String[] names, int times) {
    String[] calls = new String[names.length * times];
    for (int i = 0; i < calls.length; i++) {
      calls[i] = names[i % names.length];
    }
    Contender filling = Contenders.sluice("filling", server.uri(), rule);
    Rounds.check(filling, ClosedLoop.each(filling::decide, calls, 256), true);
    filling.close();
  }

  private void limitsPerRule() {
    server.commands().flushall();
    List<Limit> eight = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      eight.add(Limit.bucket(LARGE + i, 100, RedisSuite.HOUR));
    }
    compare(
        "growth.limits",
        sluice("small", eight.subList(0, 1)),
        extent.names(),
        sluice("large", eight),
        extent.names(),
        IN_FLIGHT);
  }

  private void accounts() {
    Limit limit = Limit.bucket(LARGE, 1, RedisSuite.HOUR);
    Contender small = sluice("small", List.of(limit));
    Contender large = sluice("large", List.of(limit));
    String[] million = Extent.names(1_000_000);
    ClosedLoop.each(large::decide, million, 512);
    compare("growth.accounts", small, Extent.names(1_000), large, million, IN_FLIGHT);
  }

  private Contender sluice(String name, List<Limit> limits) {
    Rule.Builder rule = Rule.named("rule-" + name).by("login");
    limits.forEach(rule::limit);
    return Contenders.sluice(
        name, server.uri(), rule.build(), key -> Identity.of("login", key), false);
  }

  private void compare(
      String key,
      Contender small,
      String[] smallNames,
      Contender large,
      String[] largeNames,
      int inFlight) {
    int rounds = extent.isQuick() ? 3 : extent.rounds();
    long millis = Math.min(300, extent.millis()); // longer would use up a limit of 10
    Progress progress = new Progress(extent.out(), 2 + 2 * rounds);
    progress.next(key + ", warming up");
    ClosedLoop.run(small::decide, smallNames, inFlight, millis);
    ClosedLoop.run(large::decide, largeNames, inFlight, millis);
    double[] growth = new double[rounds];
    double[] cost = new double[rounds];
    for (int i = 0; i < rounds; i++) {
      progress.next(key);
      double less = micros(small, smallNames, millis, inFlight);
      progress.next(key);
      double more = micros(large, largeNames, millis, inFlight);
      growth[i] = more / less;
      cost[i] = more;
    }
    progress.end();
    figures.put(key, Rounds.median(growth));
    figures.put(key + ".micros", Rounds.median(cost));
    small.close();
    large.close();
  }

  private static double micros(Contender contender, String[] names, long millis, int inFlight) {
    ClosedLoop.Seen seen = ClosedLoop.run(contender::decide, names, inFlight, millis);
    Rounds.check(contender, seen, true);
    return 1e6 / seen.perSecond();
  }

  /** A decision in the JVM with 10,000 rules over one with 10. */
  private static void rulesInMemory(Extent extent, Figures figures) {
    Limiter few = limiter(10);
    Limiter many = limiter(10_000);
    int calls = extent.isQuick() ? 200_000 : 1_000_000;
    double[] growth = new double[extent.rounds() + 2];
    for (int i = -3; i < growth.length; i++) {
      double less = nanos(few, 10, calls);
      double more = nanos(many, 10_000, calls);
      if (i >= 0) {
        growth[i] = more / less;
      }
    }
    figures.put("growth.rules", Rounds.median(growth));
  }

  private static Limiter limiter(int count) {
    List<Rule> rules = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      rules.add(
          Rule.named("rule-" + i)
              .by("login")
              .limit(Limit.bucket(1_000_000_000, 1_000_000, java.time.Duration.ofSeconds(1)))
              .build());
    }
    return Limiter.of(MemoryStore.create(), Rules.of(rules));
  }

  /** Each rule in turn, so that the accounts grow with the rules as they would. */
  private static double nanos(Limiter limiter, int rules, int calls) {
    String[] names = new String[rules];
    for (int i = 0; i < rules; i++) {
      names[i] = "rule-" + i;
    }
    Identity ann = Identity.of("login", "ann");
    int passed = 0;
    long start = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      passed += limiter.decide(names[i % rules], ann).allowed() ? 1 : 0;
    }
    if (passed != calls) {
      throw new IllegalStateException("passed: " + passed + " (expected: " + calls + ")");
    }
    return (System.nanoTime() - start) / (double) calls;
  }
}
