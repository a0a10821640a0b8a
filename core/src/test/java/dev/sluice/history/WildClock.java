package dev.sluice.history;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.contract.Scene;
import dev.sluice.internal.Durations;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** One account under a clock that steps back, jumps far and toggles: no model, only promises. */
final class WildClock {
  private static final Identity ANN = Scene.ANN;
  private static final int STEPS = 50;

  /** An admitted call: what the clock showed, and how far it had moved forward until then. */
  private record Admitted(long reading, long forward, long edges, long cost) {}

  private final long seed;
  private final SplittableRandom random;
  private final MovableClock clock;
  private final Limiter limiter;
  private final Rule rule;
  private final Limit limit;
  private final long window;
  private final boolean toggles;
  private final long[] times;
  private final List<Admitted> admitted = new ArrayList<>();
  private long forward;
  private long edges;

  WildClock(long seed, Store store, MovableClock clock) {
    this.seed = seed;
    this.random = new SplittableRandom(seed);
    this.clock = clock;
    RuleAuthor author = new RuleAuthor(random, "w" + Long.toHexString(seed));
    this.limit = author.limit();
    Rule.Builder builder = Rule.builder("w" + Long.toHexString(seed)).by("member").limit(limit);
    this.rule = (random.nextInt(4) == 0 ? builder.lock(Duration.ofSeconds(5)) : builder).build();
    this.limiter = Limiter.builder(store, RuleSource.fixed(Rules.of(rule))).clock(clock).build();
    this.window = Durations.micros(limit.window());
    this.toggles = random.nextBoolean();
    long start = clock.micros();
    this.times =
        new long[] {start, start + memory() * random.nextLong(3, 2_000) + random.nextLong(window)};
  }

  /** How long a counted call can affect decisions. */
  private long memory() {
    return limit.horizonMicros(clock.micros());
  }

  void play() {
    for (int i = 0; i < STEPS; i++) {
      move(toggles ? toggled() : stepped());
      ask(random.nextInt(3) == 0 ? random.nextLong(1, limit.quota() + 1) : 1);
      checkForward();
    }
    checkOpens();
  }

  /** Toggles between two times that are far apart, each of which advances slowly. */
  private long toggled() {
    int at = random.nextInt(2);
    times[at] += random.nextInt(3) == 0 ? random.nextLong(window / 4 + 1) : 0;
    return times[at];
  }

  private long stepped() {
    long now = clock.micros();
    long year = 31_536_000_000_000L;
    return switch (random.nextInt(10)) {
      case 0 -> now - random.nextLong(1, window + 1);
      case 1 -> now - random.nextLong(1, 10);
      case 2 -> now - random.nextLong(1, 20 * window);
      case 3 -> Math.max(year, now - random.nextLong(1, year));
      case 4 -> now + random.nextLong(1, 20 * window);
      case 5 -> now + random.nextLong(1, window + 1);
      default -> now + random.nextLong(window / 8 + 1);
    };
  }

  private void move(long to) {
    long from = clock.micros();
    forward += Math.max(0, to - from);
    edges += Math.max(0, to / window - from / window);
    clock.setMicros(to);
  }

  private void ask(long cost) {
    Decision decision = limiter.decide(Call.of(rule.name(), ANN).costing(cost));
    if (decision.allowed()) {
      admitted.add(new Admitted(clock.micros(), forward, edges, cost));
    }
    Balance balance = decision.balances().get(0);
    long lockLeft = balance.locked() ? balance.lockedUntilMicros() - clock.micros() : 0;
    if (lockLeft > 5_000_000) {
      fail("locked for longer than it may be: " + balance);
    }
  }

  /** A step back gives nothing: only time that moved forward can have brought anything back. */
  private void checkForward() {
    if (admitted.isEmpty()) {
      return;
    }
    Admitted last = admitted.get(admitted.size() - 1);
    long sum = 0;
    for (int i = admitted.size() - 1; i >= 0; i--) {
      Admitted first = admitted.get(i);
      sum += first.cost;
      long moved = last.forward - first.forward;
      boolean broken =
          limit instanceof Limit.TokenBucket bucket
              ? Bounds.breaks(bucket, moved, sum)
              : sum > limit.quota() * (1 + rounds(first, last, moved));
      if (broken) {
        fail("admitted %d while the clock moved forward by %d us".formatted(sum, moved));
      }
    }
  }

  private long rounds(Admitted first, Admitted last, long moved) {
    return limit instanceof Limit.FixedWindow ? last.edges - first.edges : moved / window;
  }

  /**
   * No account stays closed: it opens once a clock that stepped back has caught up and a window is
   * over.
   */
  private void checkOpens() {
    long start = clock.micros();
    long wait = memory() + (rule.terms().lock() == null ? 0 : 5_000_000);
    Call all = Call.of(rule.name(), ANN).costing(limit.quota()).peeking();
    clock.setMicros(start + 2 * wait);
    if (!limiter.decide(all).allowed()) {
      fail("still shut after %d us: %s".formatted(2 * wait, limiter.decide(all)));
    }
  }

  private void fail(String what) {
    throw new AssertionError("seed %d, %s: %s%n%s".formatted(seed, rule, what, admitted));
  }
}
