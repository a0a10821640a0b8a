package dev.sluice.bench.suites;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.bench.contenders.Contenders;
import dev.sluice.bench.load.ClosedLoop;
import dev.sluice.bench.load.Contender;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import dev.sluice.memory.MemoryStore;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.function.LongFunction;

/** How the cost of a decision grows with limits, accounts and rules. */
public final class GrowthSuite {
  /*
   * A cost on Redis is the time of a decision at a fixed number in flight. Sizes take turns.
   * The growth is the cost at the largest size divided by that at the smallest, within one round.
   *
   * The sliding log is the only kind of limit whose state grows with its use. So its accounts are
   * first filled to half of their limit; a quick run fills the largest to a twentieth. There are
   * few accounts, because filling takes long. Each call is refunded at once, so that a limit of 10
   * is not used up. The cost is that of call and refund.
   */
  private static final int IN_FLIGHT = 64;
  private static final int IN_FLIGHT_ON_LOGS = 16;
  private static final long LONGEST_TURN_MILLIS = 300; // longer would use up a limit of 10
  private static final int MOST_ROUNDS = 5; // so would more
  private static final List<Integer> LIMIT_SIZES = List.of(10, 100, 1_000, 10_000, 100_000);
  private static final List<Integer> LIMITS_PER_RULE = List.of(1, 2, 4, 8);
  private static final List<Integer> RULES = List.of(10, 100, 1_000, 10_000);
  private static final int ASKED_RULES = 10;

  private final RedisServer server;
  private final Extent extent;
  private final Figures figures;

  /** A size, and how to measure the cost of a decision at it. */
  private record Point(int size, DoubleSupplier micros) {}

  private GrowthSuite(RedisServer server, Extent extent, Figures figures) {
    this.server = server;
    this.extent = extent;
    this.figures = figures;
  }

  public static void run(Extent extent, Figures figures) throws IOException {
    try (RedisServer server = RedisServer.start()) {
      figures.measuredOn(server.version());
      GrowthSuite suite = new GrowthSuite(server, extent, figures);
      suite.rules();
      suite.limitSize("tokenBucket", limit -> Limit.tokenBucket(limit, 1, RedisSuite.HOUR));
      suite.limitSize("fixedWindow", limit -> Limit.fixedWindow(limit, RedisSuite.HOUR));
      suite.limitSize("slidingWindow", limit -> Limit.slidingWindow(limit, RedisSuite.HOUR));
      suite.logSize();
      suite.limitsPerRule();
      suite.accounts(
          extent.isQuick()
              ? List.of(1_000, 10_000, 100_000)
              : List.of(1_000, 10_000, 100_000, 1_000_000));
    }
  }

  private void limitSize(String kind, LongFunction<Limit> limit) {
    List<Contender> contenders = new ArrayList<>();
    for (int size : LIMIT_SIZES) {
      contenders.add(sluice(kind + "-" + size, List.of(limit.apply(size))));
    }
    compare("growth." + kind, LIMIT_SIZES, contenders, extent.names());
  }

  private void limitsPerRule() {
    List<Limit> eight = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      eight.add(Limit.tokenBucket(100_000 + i, 100, RedisSuite.HOUR));
    }
    List<Contender> contenders = new ArrayList<>();
    for (int size : LIMITS_PER_RULE) {
      contenders.add(sluice("limits-" + size, eight.subList(0, size)));
    }
    compare("growth.limits", LIMITS_PER_RULE, contenders, extent.names());
  }

  /** Creates the accounts of all sizes before measuring any. */
  private void accounts(List<Integer> sizes) {
    server.commands().flushall();
    Limit limit = Limit.tokenBucket(100_000, 1, RedisSuite.HOUR);
    String[] names = Extent.names(sizes.get(sizes.size() - 1));
    Contender all = sluice("accounts", List.of(limit));
    ClosedLoop.each(all::decide, names, 512);
    List<Point> points = new ArrayList<>();
    for (int size : sizes) {
      String[] some = java.util.Arrays.copyOf(names, size);
      points.add(new Point(size, () -> micros(all, some, IN_FLIGHT)));
    }
    measure("growth.accounts", points);
    all.close();
  }

  private void logSize() {
    server.commands().flushall();
    String[] few = Extent.names(IN_FLIGHT_ON_LOGS);
    List<Contender> contenders = new ArrayList<>();
    List<Point> points = new ArrayList<>();
    for (int size : LIMIT_SIZES) {
      Rule rule =
          Rule.builder("log-" + size)
              .by("login")
              .limit(Limit.slidingLog(size, RedisSuite.HOUR))
              .build();
      fill(rule, few, extent.isQuick() && size > 10_000 ? size / 20 : size / 2);
      Contender borrowing = Contenders.borrowing(rule.name(), server.uri(), rule);
      contenders.add(borrowing);
      points.add(new Point(size, () -> micros(borrowing, few, IN_FLIGHT_ON_LOGS)));
    }
    measure("growth.slidingLog", points);
    contenders.forEach(Contender::close);
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

  private Contender sluice(String name, List<Limit> limits) {
    Rule.Builder rule = Rule.builder(name).by("login");
    limits.forEach(rule::limit);
    return Contenders.sluice(
        name,
        Contenders.store(server.uri()).cacheDenials(false).build(),
        rule.build(),
        Contenders::login);
  }

  private void compare(
      String key, List<Integer> sizes, List<Contender> contenders, String[] names) {
    server.commands().flushall();
    List<Point> points = new ArrayList<>();
    for (int i = 0; i < sizes.size(); i++) {
      Contender contender = contenders.get(i);
      points.add(new Point(sizes.get(i), () -> micros(contender, names, IN_FLIGHT)));
    }
    measure(key, points);
    contenders.forEach(Contender::close);
  }

  private double micros(Contender contender, String[] names, int inFlight) {
    long millis = Math.min(LONGEST_TURN_MILLIS, extent.millis());
    ClosedLoop.Seen seen = ClosedLoop.run(contender::decide, names, inFlight, millis);
    Rounds.check(contender, seen, true);
    return 1e6 / seen.perSecond();
  }

  /** One round of warm-up, then the measured rounds. */
  private void measure(String key, List<Point> points) {
    int rounds = Math.min(MOST_ROUNDS, extent.isQuick() ? 3 : extent.rounds());
    Progress progress = new Progress(extent.out(), points.size() * (1 + rounds));
    double[][] costs = new double[points.size()][rounds];
    for (int round = -1; round < rounds; round++) {
      for (int i = 0; i < points.size(); i++) {
        int turn = (i + round + 1) % points.size();
        progress.next(key + ", " + points.get(turn).size);
        double cost = points.get(turn).micros.getAsDouble();
        if (round >= 0) {
          costs[turn][round] = cost;
        }
      }
    }
    progress.end();
    double[] growth = new double[rounds];
    for (int round = 0; round < rounds; round++) {
      growth[round] = costs[points.size() - 1][round] / costs[0][round];
    }
    figures.put(key, Rounds.median(growth));
    for (int i = 0; i < points.size(); i++) {
      figures.put(key + ".at" + points.get(i).size + ".micros", Rounds.median(costs[i]));
    }
  }

  /** A decision in the JVM by one of ten rules out of many; the number of accounts is the same. */
  private void rules() {
    List<Point> points = new ArrayList<>();
    for (int size : RULES) {
      Limiter limiter = limiter(size);
      String[] asked = new String[ASKED_RULES];
      for (int i = 0; i < ASKED_RULES; i++) {
        asked[i] = ruleName(i * (size / ASKED_RULES));
      }
      nanos(limiter, asked); // compiled before the first round
      points.add(new Point(size, () -> nanos(limiter, asked) / 1e3));
    }
    measure("growth.rules", points);
  }

  private static String ruleName(int number) {
    return "rule-" + number;
  }

  private static Limiter limiter(int count) {
    List<Rule> rules = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      rules.add(
          Rule.builder(ruleName(i))
              .by("login")
              .limit(Limit.tokenBucket(1_000_000_000, 1_000_000, Duration.ofSeconds(1)))
              .build());
    }
    return Limiter.owning(MemoryStore.create(), Rules.of(rules));
  }

  private double nanos(Limiter limiter, String[] asked) {
    int calls = extent.isQuick() ? 500_000 : 2_000_000;
    Identity ann = Identity.of("login", "ann");
    int passed = 0;
    long start = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      passed += limiter.decide(asked[i % asked.length], ann).allowed() ? 1 : 0;
    }
    if (passed != calls) {
      throw new IllegalStateException("passed: " + passed + " (expected: " + calls + ")");
    }
    return (System.nanoTime() - start) / (double) calls;
  }
}
