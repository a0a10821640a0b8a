package dev.sluice.contract;

import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.internal.Durations;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What each kind of limit counts, what is left, and when it comes back. */
public interface LimitContract {
  Scene scene();

  @Test
  default void fixedWindowStartsAfreshAtItsEdge() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(10, Duration.ofMinutes(1)));
    scene.clock.advance(Duration.ofSeconds(15));

    assertThat(scene.shown(scene.take(rule, 4))).isEqualTo("allowed [6 of 10, reset 45s]");
    assertThat(scene.shown(scene.take(rule, 7)))
        .isEqualTo("denied [6 of 10, retry 45s, reset 45s]");
    assertThat(scene.shown(scene.take(rule, 6))).isEqualTo("allowed [0 of 10, reset 45s]");
    scene.clock.advance(Duration.ofSeconds(45).minus(Durations.ofMicros(1)));
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 10, retry 1us, reset 1us]");
    scene.clock.advanceMicros(1);
    assertThat(scene.shown(scene.take(rule, 10))).isEqualTo("allowed [0 of 10, reset 1m]");
  }

  @Test
  default void slidingLogForgetsEachCallOneWindowAfterIt() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingLog(3, Duration.ofSeconds(10)));

    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [2 of 3, reset 10s]");
    scene.clock.advance(Duration.ofSeconds(2));
    assertThat(scene.shown(scene.take(rule, 2))).isEqualTo("allowed [0 of 3, reset 10s]");
    scene.clock.advance(Duration.ofSeconds(3));
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("denied [0 of 3, retry 5s, reset 7s]");
    assertThat(scene.shown(scene.take(rule, 2))).isEqualTo("denied [0 of 3, retry 7s, reset 7s]");
    scene.clock.advance(Duration.ofSeconds(5).minus(Durations.ofMicros(1)));
    assertThat(scene.take(rule, 1).allowed()).isFalse();
    scene.clock.advanceMicros(1);
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [0 of 3, reset 10s]");
  }

  @Test
  default void slidingWindowCountsTheOldestPartInFull() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingWindow(3, Duration.ofSeconds(10), Duration.ofSeconds(1)));
    scene.clock.advance(Duration.ofMillis(300));

    assertThat(scene.shown(scene.take(rule, 3))).isEqualTo("allowed [0 of 3, reset 10s699ms999us]");
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 3, retry 10s699ms999us, reset 10s699ms999us]");
    scene.clock.advance(Duration.ofMillis(10_700).minus(Durations.ofMicros(2)));
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("denied [0 of 3, retry 1us, reset 1us]");
    scene.clock.advanceMicros(1);
    assertThat(scene.take(rule, 3).allowed()).isTrue();
  }

  @Test
  default void partLeavesInTheLastMicrosecondOfThePartInWhichTheAccountWasUsedLast() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingWindow(2, Duration.ofSeconds(10), Duration.ofSeconds(1)));
    scene.clock.advance(Duration.ofMillis(300));
    scene.take(rule, 1);
    scene.clock.advance(Duration.ofMillis(9_900));
    scene.take(rule, 1);

    scene.clock.advance(Duration.ofMillis(800).minus(Durations.ofMicros(2)));
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 2, retry 1us, reset 10s1us]");
    scene.clock.advanceMicros(1);
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [0 of 2, reset 10s]");
  }

  @Test
  default void slidingWindowOfOneMicrosecondPartsIsALog() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingWindow(2, Durations.ofMicros(100), Durations.ofMicros(1)));

    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [1 of 2, reset 100us]");
    scene.clock.advanceMicros(40);
    assertThat(scene.shown(scene.take(rule, 2)))
        .isEqualTo("denied [1 of 2, retry 60us, reset 60us]");
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [0 of 2, reset 100us]");
  }

  @Test
  default void tokenBucketRefillsAtAnyRationalRateWithoutDrift() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(10, 7, Duration.ofSeconds(3)));

    assertThat(scene.shown(scene.take(rule, 10)))
        .isEqualTo("allowed [0 of 10, reset 4s285ms715us]");
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 10, retry 428ms572us, reset 4s285ms715us]");
    scene.clock.advanceMicros(428_571);
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 10, retry 1us, reset 3s857ms144us]");
    scene.clock.advanceMicros(1);
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [0 of 10, reset 4s285ms714us]");
    scene.clock.advance(Duration.ofSeconds(3).minus(Durations.ofMicros(428_572)));
    assertThat(scene.shown(scene.peek(rule, 6))).isEqualTo("allowed [6 of 10, reset 1s714ms286us]");
    assertThat(scene.peek(rule, 7).allowed()).isFalse();
  }

  @Test
  default void eachKindDeniesOneMoreThanItsQuotaInOneInstant() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(7, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);

      assertThat(scene.passing(rule, 20)).as("%s", limit).isEqualTo(7);
    }
  }

  @Test
  default void peekAnswersAndChangesNothing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofSeconds(10))) {
      Rule rule = Rule.builder("test").by("member").limit(limit).lock(Duration.ofHours(1)).build();
      scene.reset(rule);

      assertThat(scene.shown(scene.peek(rule, 3))).isEqualTo("allowed [3 of 3, reset 0s]");
      assertThat(scene.peek(rule, 4).allowed()).isFalse();
      assertThat(scene.peek(rule, 3).allowed()).isTrue();
      assertThat(scene.take(rule, 3).allowed()).isTrue();
      assertThat(scene.peek(rule, 1).allowed()).isFalse();
      assertThat(scene.peek(rule, 1).locked()).isFalse();
      assertThat(Scene.await(scene.store.locks(null, 1_000, null)).locks()).isEmpty();
    }
  }

  @Test
  default void costZeroAsksForRoomForOneAndTakesNothing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);

      assertThat(scene.shown(scene.take(rule, 0))).isEqualTo("allowed [2 of 2, reset 0s]");
      assertThat(scene.take(rule, 2).allowed()).isTrue();
      String asked = scene.shown(scene.take(rule, 0));
      assertThat(asked).startsWith("denied").isEqualTo(scene.shown(scene.take(rule, 1)));
    }
  }

  @Test
  default void costAboveTheLimitIsDeniedForEverAndTakesNothing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);

      assertThat(scene.shown(scene.take(rule, 4))).isEqualTo("denied [3 of 3, never, reset 0s]");
      assertThat(scene.take(rule, 4).retryAfter()).isEmpty();
      assertThat(scene.shown(scene.take(rule, Limit.LARGEST)))
          .isEqualTo("denied [3 of 3, never, reset 0s]");
      assertThat(scene.take(rule, 3).allowed()).isTrue();
    }
  }

  @Test
  default void recordPutsABucketIntoDebt() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(5, 1, Duration.ofSeconds(1)));

    assertThat(scene.shown(scene.record(rule, 8))).isEqualTo("allowed [0 of 5, reset 8s]");
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("denied [0 of 5, retry 4s, reset 8s]");
    scene.clock.advance(Duration.ofSeconds(4));
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [0 of 5, reset 5s]");
  }

  @Test
  default void recordCountsWhereItDoesNotFit() {
    Scene scene = scene();
    for (Limit limit : Scene.everyWindow(3, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);

      assertThat(scene.take(rule, 2).allowed()).isTrue();
      assertThat(scene.record(rule, 2).allowed()).isTrue();
      assertThat(scene.left(rule)).isZero();
      assertThat(scene.take(rule, 1).allowed()).isFalse();
    }
  }

  @Test
  default void recordKeepsTheNewestThatTheLimitCanHold() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingLog(3, Duration.ofSeconds(10)));

    scene.take(rule, 3);
    scene.clock.advance(Duration.ofSeconds(4));
    scene.record(rule, 2);

    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("denied [0 of 3, retry 6s, reset 10s]");
    assertThat(scene.shown(scene.peek(rule, 2))).isEqualTo("denied [0 of 3, retry 10s, reset 10s]");
  }

  @Test
  default void recordOfMoreThanEveryLimitIsStillCounted() {
    Scene scene = scene();
    for (Limit limit : Scene.everyWindow(3, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);

      assertThat(scene.record(rule, 1_000).allowed()).isTrue();
      assertThat(scene.take(rule, 1).allowed()).isFalse();
      scene.clock.advance(Duration.ofSeconds(11));
      assertThat(scene.take(rule, 3).allowed()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void countedDenialsKeepARetryingClientOut() {
    Scene scene = scene();
    for (Limit limit : Scene.everySlidingKind(2, Duration.ofSeconds(10))) {
      Rule rule = Rule.builder("test").by("member").limit(limit).countDenied().build();
      scene.reset(rule);

      scene.take(rule, 2);
      for (int i = 0; i < 20; i++) {
        scene.clock.advance(Duration.ofSeconds(4));
        assertThat(scene.take(rule, 1).allowed()).as("%s", limit).isFalse();
      }
      scene.clock.advance(Duration.ofSeconds(11));
      assertThat(scene.take(rule, 2).allowed()).isTrue();
    }
  }

  @Test
  default void countedDenialsLeaveABucketAtWorstEmpty() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("test")
            .by("member")
            .limit(Limit.tokenBucket(2, 1, Duration.ofSeconds(5)))
            .countDenied()
            .build();

    scene.take(rule, 2);
    for (int i = 0; i < 100; i++) {
      scene.clock.advance(Duration.ofSeconds(4));
      assertThat(scene.take(rule, 1).allowed()).isFalse();
    }
    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("denied [0 of 2, retry 5s, reset 10s]");
  }

  @Test
  default void severalLimitsHoldAtOnceAndADenialCostsNoneOfThem() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("test")
            .by("member")
            .limit(Limit.tokenBucket(2, 2, Duration.ofSeconds(1)))
            .limit(Limit.slidingLog(5, Duration.ofMinutes(1)))
            .limit(Limit.fixedWindow(100, Duration.ofHours(1)))
            .build();

    assertThat(scene.shown(scene.take(rule, 2)))
        .isEqualTo("allowed [0 of 2, reset 1s; 3 of 5, reset 1m; 98 of 100, reset 1h]");
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 2, retry 500ms, reset 1s; 3 of 5, reset 1m; 98 of 100, reset 1h]");
    scene.clock.advance(Duration.ofSeconds(1));
    assertThat(scene.shown(scene.take(rule, 2)))
        .isEqualTo("allowed [0 of 2, reset 1s; 1 of 5, reset 1m; 96 of 100, reset 59m59s]");
    scene.clock.advance(Duration.ofSeconds(1));
    assertThat(scene.shown(scene.take(rule, 2)))
        .isEqualTo(
            "denied [2 of 2, reset 0s; 1 of 5, retry 58s, reset 59s; 96 of 100, reset 59m58s]");
    assertThat(scene.take(rule, 2).retryAfter()).contains(Duration.ofSeconds(58));
    assertThat(scene.take(rule, 1).allowed()).isTrue();
  }

  @Test
  default void severalLogsOfOneAccountEachSeeTheirWindow() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("test")
            .by("member")
            .limit(Limit.slidingLog(2, Duration.ofSeconds(1)))
            .limit(Limit.slidingLog(3, Duration.ofSeconds(10)))
            .build();

    scene.take(rule, 2);
    scene.clock.advance(Duration.ofSeconds(1));
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("allowed [1 of 2, reset 1s; 0 of 3, reset 10s]");
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [1 of 2, reset 1s; 0 of 3, retry 9s, reset 10s]");
  }
}
