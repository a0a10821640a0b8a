package dev.sluice.redis.prove;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Rules;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;

/** What the callers of a run ask for, and under which rules. */
final class Workload {
  /*
   * Half of the calls come from four members, so that their limits are contested all the time; the
   * rest from sixty. Limits of seconds come back during the run. Limits that last for ever do not:
   * what they admitted can be compared with what Redis counted. So that those are contested at all
   * times too, every half minute new members take over.
   */
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration TWO = Duration.ofSeconds(2);
  private static final Duration DAY = Duration.ofDays(1);
  private static final Duration FOR_EVER = Duration.ofDays(1_000);
  private static final long GENERATION_MICROS = 30_000_000;
  private static final int MEMBERS = 60;
  private static final int BUSY_MEMBERS = 4;
  private static final int ADDRESSES = 5;

  /** The rules as they are promised. */
  static final Rules RULES = rules(1);

  /** The ways to call: the rules of a call, and whether it has an id and is sent until answered. */
  record Way(List<String> rules, boolean withId) {
    static Way of(String... rules) {
      return new Way(List.of(rules), false);
    }
  }

  static final List<Way> WAYS =
      List.of(
          Way.of("bucket"),
          Way.of("fixed"),
          Way.of("sliding"),
          Way.of("log"),
          Way.of("everBucket"),
          Way.of("everFixed"),
          Way.of("everSliding"),
          Way.of("everLog"),
          Way.of("several"),
          Way.of("shared"),
          Way.of("beside"),
          Way.of("first", "second"),
          Way.of("lockedLog"),
          Way.of("lockedBucket"),
          new Way(List.of("onceLog"), true),
          new Way(List.of("onceBucket"), true));

  /** One call: its way, who asks, what it costs. */
  record Ask(int way, int member, int address, int cost) {
    Call call() {
      Identity caller = Identity.of("member", "m" + member, "ip", "10.0.0." + address);
      return Call.of(WAYS.get(way).rules(), caller).costing(cost);
    }
  }

  private Workload() {}

  /**
   * The rules with every quota multiplied.
   *
   * @param times 1, or more for a store that must be found out
   */
  static Rules rules(long times) {
    return Rules.of(
        rule("bucket").by("member").limit(Limit.tokenBucket(5 * times, 5, SECOND)).build(),
        rule("fixed").by("member").limit(Limit.fixedWindow(5 * times, SECOND)).build(),
        rule("sliding").by("member").limit(sliding(10 * times)).build(),
        rule("log").by("member").limit(Limit.slidingLog(10 * times, TWO)).build(),
        rule("everBucket").by("member").limit(Limit.tokenBucket(40 * times, 1, DAY)).build(),
        rule("everFixed").by("member").limit(Limit.fixedWindow(40 * times, FOR_EVER)).build(),
        rule("everSliding").by("member").limit(Limit.slidingWindow(40 * times, DAY)).build(),
        rule("everLog").by("member").limit(Limit.slidingLog(40 * times, DAY)).build(),
        rule("several")
            .by("member")
            .limit(Limit.tokenBucket(5 * times, 3, SECOND))
            .limit(Limit.slidingWindow(15 * times, Duration.ofSeconds(5)))
            .limit(Limit.fixedWindow(50 * times, FOR_EVER))
            .build(),
        rule("shared")
            .by("member", "ip")
            .limit(Limit.slidingLog(8 * times, TWO))
            .limit(Limit.fixedWindow(80 * times, FOR_EVER))
            .build(),
        rule("beside").by("member", "ip").limit(sliding(10 * times)).colocate().build(),
        rule("first").by("member").limit(Limit.tokenBucket(10 * times, 3, SECOND)).build(),
        rule("second").by("ip").limit(Limit.fixedWindow(20 * times, TWO)).build(),
        rule("lockedLog").by("member").limit(Limit.slidingLog(8 * times, SECOND)).lock(TWO).build(),
        rule("lockedBucket")
            .by("member")
            .limit(Limit.tokenBucket(8 * times, 4, SECOND))
            .lock(TWO)
            .build(),
        rule("onceLog").by("member").limit(Limit.slidingLog(40 * times, DAY)).build(),
        rule("onceBucket").by("member").limit(Limit.tokenBucket(40 * times, 1, DAY)).build());
  }

  /** Denying what Redis does not answer: so whatever passed was counted by Redis. */
  private static Rule.Builder rule(String name) {
    return Rule.builder(name).onStoreFailure(OnStoreFailure.DENY);
  }

  private static Limit sliding(long limit) {
    return Limit.slidingWindow(limit, TWO, Duration.ofMillis(100));
  }

  /** The next call of a caller. */
  static Ask next(SplittableRandom random, long microsSinceStart) {
    int generation = (int) (microsSinceStart / GENERATION_MICROS);
    int member = random.nextInt(random.nextBoolean() ? BUSY_MEMBERS : MEMBERS);
    int weight = random.nextInt(8);
    return new Ask(
        random.nextInt(WAYS.size()),
        generation * 1_000 + member,
        generation * 1_000 + member % ADDRESSES,
        weight == 0 ? 3 : weight == 1 ? 2 : 1);
  }
}
