package dev.sluice.history;

import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.internal.Durations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Writes random rules: small limits, so that denials are frequent, and odd rates. */
final class RuleAuthor {
  private static final long[] WINDOWS = {
    7, 60, 1_000, 1_000_003, 3_000_000, 7_000_000, 10_000_000, 1_800_000_000L, 86_400_000_000L
  };

  private final SplittableRandom random;
  private final String prefix;

  /**
   * An author of rules.
   *
   * @param prefix begins every name, so that histories can share a store
   */
  RuleAuthor(SplittableRandom random, String prefix) {
    this.random = random;
    this.prefix = prefix;
  }

  List<Rule> rules() {
    List<Rule> rules = new ArrayList<>();
    rules.add(rule("a", true));
    if (random.nextInt(3) == 0) {
      rules.add(rule("b", random.nextInt(3) > 0));
    }
    return rules;
  }

  private Rule rule(String name, boolean enforced) {
    Rule.Builder rule = Rule.builder(prefix + name);
    switch (random.nextInt(4)) {
      case 0 -> rule.by("member", "ip");
      case 1 -> rule.by("member+ip", "ip");
      default -> rule.by("member");
    }
    int limits = random.nextInt(4) == 0 ? random.nextInt(2, 4) : 1;
    for (int i = 0; i < limits; i++) {
      rule.limit(limit());
    }
    if (random.nextInt(4) == 0) {
      rule.lock(lock());
    }
    if (random.nextInt(7) == 0) {
      rule.countDenied();
    }
    return (enforced ? rule : rule.shadow()).build();
  }

  Limit limit() {
    long quota = random.nextInt(4) == 0 ? random.nextLong(1, 30) : random.nextLong(1, 7);
    long micros = WINDOWS[random.nextInt(WINDOWS.length)];
    Duration window = Durations.ofMicros(micros);
    return switch (random.nextInt(4)) {
      case 0 -> Limit.fixedWindow(quota, window);
      case 1 -> Limit.slidingLog(quota, window);
      case 2 -> sliding(quota, micros);
      default -> bucket(Limit.tokenBucket(quota, random.nextLong(1, 12), window));
    };
  }

  private Limit bucket(Limit.TokenBucket bucket) {
    return random.nextInt(3) == 0
        ? bucket.withDebt(random.nextLong(2 * bucket.capacity()))
        : bucket;
  }

  private Limit sliding(long quota, long micros) {
    long parts = random.nextLong(1, Math.min(micros, 70) + 1);
    long precision = random.nextInt(3) == 0 ? (micros + 59) / 60 : micros / parts;
    return Limit.slidingWindow(quota, Durations.ofMicros(micros), Durations.ofMicros(precision));
  }

  private Lock lock() {
    List<Duration> durations = new ArrayList<>();
    for (int i = random.nextInt(1, 4); i > 0; i--) {
      durations.add(Durations.ofMicros(random.nextLong(1, 20_000_000)));
    }
    Lock lock = new Lock(durations, Durations.ofMicros(random.nextLong(1, 30_000_000)));
    return random.nextBoolean() ? lock.onLimit() : lock;
  }
}
