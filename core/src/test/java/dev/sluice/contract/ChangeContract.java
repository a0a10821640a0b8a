package dev.sluice.contract;

import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.internal.Durations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A changed rule applies to the next call, with what was already used still counted. */
public interface ChangeContract {
  Duration WINDOW = Duration.ofSeconds(10);

  Scene scene();

  @Test
  default void raisedLimitGivesOnlyTheDifference() {
    Scene scene = scene();
    List<Limit> low = Scene.everyKind(5, WINDOW);
    List<Limit> high = Scene.everyKind(10, WINDOW);
    for (int i = 0; i < low.size(); i++) {
      scene.reset(rule(low.get(i)));
      scene.take(rule(low.get(i)), 5);

      assertThat(scene.left(rule(high.get(i)))).as("%s", high.get(i)).isEqualTo(5);
      assertThat(scene.passing(rule(high.get(i)), 20)).as("%s", high.get(i)).isEqualTo(5);
    }
  }

  @Test
  default void retryAfterHoldsAfterAChange() {
    Scene scene = scene();
    Duration second = Duration.ofSeconds(1);
    List<Limit> slow = Scene.everyKind(10, Duration.ofDays(1));
    List<Limit> fast = Scene.everyKind(10, second);
    for (int i = 0; i < fast.size(); i++) {
      scene.reset(rule(slow.get(i)));
      scene.take(rule(slow.get(i)), 10);
      Rule now = rule(fast.get(i));
      Decision denied = scene.take(now, 1);
      assertThat(denied.allowed()).as("%s", now).isFalse();
      Duration wait = denied.retryAfter().orElseThrow();
      assertThat(wait).as("%s", now).isLessThanOrEqualTo(second.multipliedBy(2));

      scene.clock.advanceMicros(Durations.micros(wait) - 1);
      assertThat(scene.take(now, 1).allowed()).as("%s, a microsecond early", now).isFalse();
      scene.clock.advanceMicros(1);
      assertThat(scene.take(now, 1).allowed()).as("%s", now).isTrue();
    }
  }

  @Test
  default void loweredLimitCountsWhatWasUsed() {
    Scene scene = scene();
    List<Limit> high = Scene.everyKind(10, WINDOW);
    List<Limit> low = Scene.everyKind(5, WINDOW);
    for (int i = 0; i < low.size(); i++) {
      scene.reset(rule(high.get(i)));
      scene.take(rule(high.get(i)), 3);

      assertThat(scene.left(rule(low.get(i)))).as("%s", low.get(i)).isEqualTo(2);
      scene.take(rule(high.get(i)), 6);
      assertThat(scene.left(rule(low.get(i)))).as("%s", low.get(i)).isZero();
      assertThat(scene.take(rule(low.get(i)), 1).allowed()).as("%s", low.get(i)).isFalse();
    }
  }

  /** The same limits, but buckets of one rate, so that they differ in their capacity alone. */
  private static List<Limit> atOneRate(List<Limit> limits) {
    return limits.stream()
        .map(
            limit ->
                limit instanceof Limit.TokenBucket bucket
                    ? Limit.tokenBucket(bucket.capacity(), 1, WINDOW)
                    : limit)
        .toList();
  }

  @Test
  default void loweredAndRaisedAgainForgetsNothing() {
    Scene scene = scene();
    List<Limit> high = atOneRate(Scene.everyKind(10, WINDOW));
    List<Limit> low = atOneRate(Scene.everyKind(5, WINDOW));
    for (int i = 0; i < high.size(); i++) {
      scene.reset(rule(high.get(i)));
      scene.take(rule(high.get(i)), 8);

      assertThat(scene.take(rule(low.get(i)), 1).allowed()).isFalse();

      assertThat(scene.left(rule(high.get(i)))).as("%s", high.get(i)).isEqualTo(2);
    }
  }

  @Test
  default void bucketKeepsItsTokensThatAreOutWhenItsRateChanges() {
    Scene scene = scene();
    Rule fast = rule(Limit.tokenBucket(10, 10, Duration.ofSeconds(1)));
    Rule slow = rule(Limit.tokenBucket(10, 1, Duration.ofSeconds(1)));
    scene.take(fast, 6);
    scene.clock.advance(Duration.ofMillis(150));

    assertThat(scene.shown(scene.peek(slow, 1))).isEqualTo("allowed [5 of 10, reset 5s]");
    assertThat(scene.shown(scene.take(slow, 1))).isEqualTo("allowed [4 of 10, reset 6s]");
    assertThat(scene.shown(scene.peek(fast, 1))).isEqualTo("allowed [4 of 10, reset 600ms]");
  }

  @Test
  default void bucketThatShrinksOwesWhatIsOut() {
    Scene scene = scene();
    scene.take(rule(Limit.tokenBucket(10, 1, Duration.ofSeconds(1))), 8);

    assertThat(scene.shown(scene.peek(rule(Limit.tokenBucket(5, 1, Duration.ofSeconds(1))), 1)))
        .isEqualTo("denied [0 of 5, retry 4s, reset 8s]");
    assertThat(scene.shown(scene.peek(rule(Limit.tokenBucket(5, 2, Duration.ofSeconds(1))), 1)))
        .isEqualTo("denied [0 of 5, retry 2s, reset 4s]");
  }

  @Test
  default void bucketWhoseRateChangesOwesNoMoreThanItsCapacityAndItsDebt() {
    Scene scene = scene();
    scene.take(rule(Limit.tokenBucket(10, 1, Duration.ofSeconds(1))), 10);

    assertThat(scene.shown(scene.peek(rule(Limit.tokenBucket(2, 2, Duration.ofSeconds(1))), 1)))
        .isEqualTo("denied [0 of 2, retry 1s500ms, reset 2s]");
    assertThat(
            scene.shown(
                scene.peek(rule(Limit.tokenBucket(2, 2, Duration.ofSeconds(1)).withDebt(0)), 1)))
        .isEqualTo("denied [0 of 2, retry 500ms, reset 1s]");
  }

  @Test
  default void capacityCutByMoreThanHalfAndBackForgetsNothing() {
    Scene scene = scene();
    Rule large = rule(Limit.tokenBucket(1_500, 1, Duration.ofHours(1)));
    Rule small = rule(Limit.tokenBucket(500, 1, Duration.ofHours(1)));
    scene.take(large, 1_100);

    assertThat(scene.take(small, 1).retryAfter()).contains(Duration.ofHours(601));
    assertThat(scene.left(large)).isEqualTo(400);
    scene.clock.advance(Duration.ofHours(601).minusNanos(1_000));
    assertThat(scene.take(small, 1).allowed()).isFalse();
    scene.clock.advanceMicros(1);
    assertThat(scene.take(small, 1).allowed()).isTrue();
    assertThat(scene.left(large)).isEqualTo(1_000);
  }

  @Test
  default void capacityCutAndRaisedUnderLoadPassesTheExactNumber() throws InterruptedException {
    Scene scene = scene();
    Limiter large = scene.limiter(rule(Limit.tokenBucket(1_500, 1, Duration.ofHours(1))));
    Limiter small = scene.limiter(rule(Limit.tokenBucket(500, 1, Duration.ofHours(1))));
    AtomicLong passed = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      int own = t;
      threads.add(
          new Thread(
              () -> {
                for (int i = 0; i < 300; i++) {
                  Limiter limiter = (i + own) % 3 == 0 ? small : large;
                  passed.addAndGet(limiter.decide("test", Scene.ANN).allowed() ? 1 : 0);
                }
              },
              "changing-" + t));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }

    assertThat(passed).hasValue(1_500);
    assertThat(scene.left(rule(Limit.tokenBucket(1_600, 1, Duration.ofHours(1))))).isEqualTo(100);
  }

  @Test
  default void logOfALongerWindowStillKnowsItsCalls() {
    Scene scene = scene();
    scene.take(rule(Limit.slidingLog(3, WINDOW)), 2);
    scene.clock.advance(Duration.ofSeconds(6));

    assertThat(scene.shown(scene.peek(rule(Limit.slidingLog(3, Duration.ofMinutes(1))), 1)))
        .isEqualTo("allowed [1 of 3, reset 54s]");
    assertThat(scene.shown(scene.peek(rule(Limit.slidingLog(3, Duration.ofSeconds(5))), 1)))
        .isEqualTo("allowed [3 of 3, reset 0s]");
  }

  @Test
  default void fixedWindowKeepsItsCountIfItsOldRoundReachesIntoTheNew() {
    Scene scene = scene();
    Rule small = rule(Limit.fixedWindow(5, WINDOW));
    Rule large = rule(Limit.fixedWindow(5, Duration.ofMinutes(1)));
    scene.clock.advance(Duration.ofSeconds(21));
    scene.take(small, 4);

    assertThat(scene.shown(scene.peek(large, 1))).isEqualTo("allowed [1 of 5, reset 39s]");
    scene.clock.advance(Duration.ofSeconds(39));
    assertThat(scene.shown(scene.peek(large, 1))).isEqualTo("allowed [5 of 5, reset 0s]");
  }

  @Test
  default void slidingWindowKeepsItsCountsWhenItsPrecisionChanges() {
    Scene scene = scene();
    Rule fine = rule(Limit.slidingWindow(4, WINDOW, Duration.ofSeconds(1)));
    Rule coarse = rule(Limit.slidingWindow(4, WINDOW, Duration.ofSeconds(5)));
    scene.take(fine, 2);
    scene.clock.advance(Duration.ofSeconds(7));
    scene.take(fine, 1);

    assertThat(scene.shown(scene.take(coarse, 1)))
        .isEqualTo("allowed [0 of 4, reset 12s999ms999us]");
    scene.clock.advance(Duration.ofSeconds(8).minusNanos(2_000));
    assertThat(scene.shown(scene.peek(coarse, 1)))
        .isEqualTo("denied [0 of 4, retry 1us, reset 5s1us]");
    scene.clock.advanceMicros(1);
    assertThat(scene.shown(scene.peek(coarse, 1))).isEqualTo("allowed [2 of 4, reset 5s]");
  }

  @Test
  default void slidingWindowOfFinerPrecisionCountsEachPartAsOfItsEnd() {
    Scene scene = scene();
    Rule coarse = rule(Limit.slidingWindow(4, WINDOW, Duration.ofSeconds(5)));
    Rule fine = rule(Limit.slidingWindow(4, WINDOW, Duration.ofSeconds(1)));
    scene.clock.advance(Duration.ofSeconds(1));
    scene.take(coarse, 2);
    scene.clock.advance(Duration.ofSeconds(5));
    scene.take(coarse, 1); // the last use of the account: its part has nothing later than this
    scene.clock.advance(Duration.ofSeconds(1));

    assertThat(scene.shown(scene.peek(fine, 1))).isEqualTo("allowed [1 of 4, reset 9s999ms999us]");
    scene.take(fine, 1);
    scene.clock.advance(Duration.ofSeconds(8).minusNanos(2_000));
    assertThat(scene.shown(scene.peek(fine, 1)))
        .isEqualTo("denied [0 of 4, retry 1us, reset 3s1us]");
    scene.clock.advanceMicros(1);
    assertThat(scene.left(fine)).isEqualTo(2);
    scene.clock.advanceMicros(2_000_000 - 1);
    assertThat(scene.left(fine)).isEqualTo(2);
    scene.clock.advanceMicros(1);
    assertThat(scene.left(fine)).isEqualTo(3);
  }

  @Test
  default void addedLimitStartsFreshAndTheOthersGoOn() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, WINDOW)) {
      Rule one = rule(limit);
      Rule two =
          Rule.builder("test")
              .by("member")
              .limit(Limit.fixedWindow(50, Duration.ofDays(7)))
              .limit(limit)
              .build();
      scene.reset(one);
      if (limit instanceof Limit.FixedWindow) {
        continue;
      }
      scene.take(one, 3);

      assertThat(remaining(scene, two)).as("%s", limit).containsExactly(50L, 2L);
      scene.take(two, 1);
      assertThat(remaining(scene, two)).as("%s", limit).containsExactly(49L, 1L);
      assertThat(remaining(scene, one)).as("%s", limit).containsExactly(1L);
    }
  }

  @Test
  default void limitsThatChangePlacesKeepTheirOwnCounts() {
    Scene scene = scene();
    Limit second = Limit.tokenBucket(3, 3, Duration.ofSeconds(1));
    Limit minute = Limit.tokenBucket(9, 9, Duration.ofMinutes(1));
    Rule before = Rule.builder("test").by("member").limit(second).limit(minute).build();
    Rule after = Rule.builder("test").by("member").limit(minute).limit(second).build();
    scene.take(before, 3);
    scene.clock.advance(Duration.ofSeconds(1));
    scene.take(before, 1);

    assertThat(remaining(scene, before)).containsExactly(2L, 5L);
    assertThat(remaining(scene, after)).containsExactly(5L, 2L);
  }

  @Test
  default void limitOfAnotherKindStartsFresh() {
    Scene scene = scene();
    scene.take(rule(Limit.tokenBucket(5, 5, WINDOW)), 5);

    assertThat(scene.shown(scene.peek(rule(Limit.slidingLog(5, WINDOW)), 1)))
        .isEqualTo("allowed [5 of 5, reset 0s]");
  }

  @Test
  default void changedRuleKeepsTheLock() {
    Scene scene = scene();
    Rule before =
        Rule.builder("test")
            .by("member")
            .limit(Limit.slidingLog(1, WINDOW))
            .lock(Duration.ofMinutes(5))
            .build();
    Rule after =
        Rule.builder("test")
            .by("member")
            .limit(Limit.slidingLog(9, WINDOW))
            .lock(Lock.of(Duration.ofMinutes(1)))
            .build();
    scene.take(before, 1);
    scene.take(before, 1);

    assertThat(scene.shown(scene.take(after, 1)))
        .isEqualTo("denied [8 of 9, retry 5m, reset 10s, locked 5m]");
  }

  private static List<Long> remaining(Scene scene, Rule rule) {
    return scene.peek(rule, 1).balances().stream().map(balance -> balance.remaining()).toList();
  }
}
