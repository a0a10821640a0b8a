package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.BOB;
import static dev.sluice.contract.Scene.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** When a lock begins: with the first denial, or with the call that uses up a limit. */
public interface LockPointContract {
  Duration LOCK = Duration.ofMinutes(30);

  Scene scene();

  private static Rule.Builder codes(Limit limit) {
    return Rule.builder("codes").by("member").limit(limit);
  }

  private static Rule onLimit(Limit limit) {
    return codes(limit).lock(Lock.of(LOCK).onLimit()).build();
  }

  private static Rule onDenial(Limit limit) {
    return codes(limit).lock(LOCK).build();
  }

  @Test
  default void onDenialTheLastOneThatFitsDoesNotLock() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule rule = onDenial(limit);
      scene.reset(rule);
      for (int i = 0; i < 3; i++) {
        assertThat(scene.take(rule, 1).locked()).as("%s", limit).isFalse();
      }

      Decision fourth = scene.take(rule, 1);

      assertThat(fourth.allowed()).as("%s", limit).isFalse();
      assertThat(fourth.locked()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void onLimitTheThirdOfThreePassesAndLocks() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule rule = onLimit(limit);
      scene.reset(rule);
      assertThat(scene.take(rule, 1).locked()).as("%s", limit).isFalse();
      assertThat(scene.take(rule, 1).locked()).as("%s", limit).isFalse();

      Decision third = scene.take(rule, 1);

      assertThat(third.allowed()).as("%s", limit).isTrue();
      assertThat(third.restrictedUntil())
          .as("%s", limit)
          .hasValue(scene.clock.instant().plus(LOCK));
      Decision fourth = scene.take(rule, 1);
      assertThat(fourth.allowed()).as("%s", limit).isFalse();
      assertThat(fourth.restrictedUntil()).as("%s", limit).isEqualTo(third.restrictedUntil());
    }
  }

  @Test
  default void onLimitADenialAlthoughThereWasRoomForOneLocks() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule rule = onLimit(limit);
      scene.reset(rule);
      scene.take(rule, 2);

      Decision denied = scene.take(rule, 2);

      assertThat(denied.allowed()).as("%s", limit).isFalse();
      assertThat(denied.locked()).as("%s", limit).isTrue();
      assertThat(denied.balances().get(0).remaining()).as("%s", limit).isEqualTo(1);
    }
  }

  @Test
  default void onLimitThereMustHaveBeenRoomInBetween() {
    Scene scene = scene();
    Rule rule =
        codes(Limit.slidingLog(2, Duration.ofSeconds(10)))
            .lock(Lock.of(Duration.ofSeconds(1)).onLimit())
            .build();
    scene.take(rule, 1);
    scene.clock.advance(Duration.ofSeconds(2));
    assertThat(scene.take(rule, 1).locked()).isTrue();
    scene.clock.advance(Duration.ofSeconds(1));

    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("denied [0 of 2, retry 7s, reset 9s]");
    scene.clock.advance(Duration.ofSeconds(7));
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("allowed [0 of 2, reset 10s, locked 1s]");
  }

  @Test
  default void onDenialEveryDenialOutsideALockBeginsTheNext() {
    Scene scene = scene();
    Rule rule =
        codes(Limit.fixedWindow(1, Duration.ofHours(1))).lock(Duration.ofMinutes(1)).build();
    scene.take(rule, 1);
    for (int i = 0; i < 3; i++) {
      assertThat(scene.take(rule, 1).restrictedUntil())
          .hasValue(scene.clock.instant().plusSeconds(60));
      scene.clock.advance(Duration.ofMinutes(1));
    }
  }

  @Test
  default void callsDuringALockNeverExtendIt() {
    Scene scene = scene();
    Rule rule = onLimit(Limit.slidingLog(2, Duration.ofSeconds(10)));
    Instant end = scene.clock.instant().plus(LOCK);
    scene.take(rule, 2);
    for (int i = 0; i < 20; i++) {
      scene.clock.advance(Duration.ofMinutes(1));
      assertThat(scene.take(rule, i % 3).restrictedUntil()).hasValue(end);
      assertThat(scene.record(rule, 2).restrictedUntil()).hasValue(end);
    }
  }

  @Test
  default void onLimitOnlyTheAccountWhoseOwnLimitItWasIsLocked() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("codes")
            .by("member", "ip")
            .limit(Limit.slidingLog(3, Duration.ofMinutes(5)))
            .lock(Lock.of(LOCK).onLimit())
            .build();
    scene.take(rule, ANN.with("ip", "10.0.0.1"), 2);

    Decision third = scene.take(rule, ANN.with("ip", "10.0.0.2"), 1);

    assertThat(scene.shown(third))
        .isEqualTo(
            "allowed [codes:member=ann 0 of 3, reset 5m, locked 30m; "
                + "codes:ip=10.0.0.2 2 of 3, reset 5m]");
    assertThat(scene.take(rule, BOB.with("ip", "10.0.0.2"), 1).allowed()).isTrue();
  }

  @Test
  default void onLimitAnyLimitOfTheAccountWillDo() {
    Scene scene = scene();
    Rule rule =
        codes(Limit.tokenBucket(2, 1, Duration.ofHours(1)))
            .limit(Limit.fixedWindow(100, Duration.ofHours(1)))
            .lock(Lock.of(LOCK).onLimit())
            .build();

    assertThat(scene.take(rule, 1).locked()).isFalse();
    assertThat(scene.take(rule, 1).locked()).isTrue();
  }

  @Test
  default void shadowRuleLocksInShadow() {
    Scene scene = scene();
    Rule rule =
        codes(Limit.slidingLog(2, Duration.ofSeconds(10)))
            .lock(Lock.of(LOCK).onLimit())
            .shadow()
            .build();

    Decision second = scene.take(rule, 2);

    assertThat(scene.shown(second)).isEqualTo("allowed [shadow 0 of 2, reset 10s, locked 30m]");
    assertThat(second.locked()).isFalse();
    scene.clock.advance(Duration.ofMinutes(1));
    Decision later = scene.take(rule, 1);
    assertThat(later.allowed()).isTrue();
    assertThat(later.shadowDenials()).containsExactly("codes");
    assertThat(scene.shown(later))
        .isEqualTo("allowed [shadow 2 of 2, retry 29m, reset 0s, locked 29m]");
  }

  @Test
  default void termsAreThoseOfTheCall() {
    Scene scene = scene();
    Limit three = Limit.slidingLog(3, Duration.ofMinutes(5));
    Rule rule =
        codes(three)
            .lock(LOCK)
            .override(
                Map.of("member", "ann"),
                null,
                Terms.of(three).locking(Lock.of(Duration.ofMinutes(1)).onLimit()))
            .build();

    assertThat(scene.shown(scene.take(rule, ANN, 3)))
        .isEqualTo("allowed [0 of 3, reset 5m, locked 1m]");
    assertThat(scene.shown(scene.take(rule, BOB, 3))).isEqualTo("allowed [0 of 3, reset 5m]");
  }

  @Test
  default void costThatCanNeverFitLocksNobody() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      for (Rule rule : List.of(onLimit(limit), onDenial(limit))) {
        scene.reset(rule);
        scene.take(rule, 1);

        assertThat(scene.take(rule, 4).locked()).as("%s", rule).isFalse();
        assertThat(scene.record(rule, 4).locked()).as("%s", rule).isFalse();
      }
    }
  }

  @Test
  default void recordLocksWithTheCountThatReachesTheLimit() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule rule = onLimit(limit);
      scene.reset(rule);

      assertThat(scene.record(rule, 2).locked()).as("%s", limit).isFalse();
      assertThat(scene.record(rule, 1).locked()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void recordLocksOnDenialIfItWouldHaveBeenDenied() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule rule = onDenial(limit);
      scene.reset(rule);

      assertThat(scene.record(rule, 2).locked()).as("%s", limit).isFalse();
      assertThat(scene.record(rule, 1).locked()).as("%s", limit).isFalse();
      assertThat(scene.record(rule, 1).locked()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void settlementAboveTheEstimateLocksAsARecordDoes() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofMinutes(5))) {
      Rule rule = onLimit(limit);
      scene.reset(rule);
      await(scene.limiter(rule).settleAsync(scene.receipt(rule, 2), 4));
      assertThat(scene.peek(rule, 1).locked()).as("%s", limit).isFalse();
      await(scene.limiter(rule).settleAsync(scene.receipt(rule, 0), 1));
      assertThat(scene.peek(rule, 1).locked()).as("%s", limit).isTrue();

      Rule other = onDenial(limit);
      scene.reset(other);
      Receipt receipt = scene.receipt(other, 2);
      await(scene.limiter(other).settleAsync(receipt, 5));
      assertThat(scene.peek(other, 1).locked()).as("%s fits", limit).isFalse();
      scene.reset(other);
      receipt = scene.receipt(other, 4);
      await(scene.limiter(other).settleAsync(receipt, 6));
      assertThat(scene.peek(other, 1).locked()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void settlingThatVeryCallWithZeroTakesItsOwnLockBack() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofMinutes(5))) {
      Rule rule = onLimit(limit);
      scene.reset(rule);
      Receipt before = scene.receipt(rule, 1);
      scene.clock.advanceMicros(1);
      scene.receipt(rule, 1);
      scene.clock.advanceMicros(1);
      Receipt third = scene.receipt(rule, 1);
      scene.clock.advance(Duration.ofSeconds(1));

      await(scene.limiter(rule).refundAsync(before));
      assertThat(scene.peek(rule, 1).locked()).as("%s: of another call", limit).isTrue();
      await(scene.limiter(rule).refundAsync(third));
      assertThat(scene.peek(rule, 1).locked()).as("%s: its own", limit).isFalse();
      assertThat(scene.take(rule, 1).allowed()).as("%s", limit).isTrue();
      assertThat(await(scene.store.locks(null, 10, null)).locks()).as("%s", limit).isEmpty();
    }
  }

  @Test
  default void settledForSomethingItsLockStays() {
    Scene scene = scene();
    Rule rule = onLimit(Limit.slidingLog(3, Duration.ofMinutes(5)));
    Receipt receipt = scene.receipt(rule, 3);

    await(scene.limiter(rule).settleAsync(receipt, 1));

    assertThat(scene.shown(scene.peek(rule, 1)))
        .isEqualTo("denied [2 of 3, retry 30m, reset 5m, locked 30m]");
  }

  @Test
  default void lockThatWasTakenBackIsNotOneInTheRow() {
    Scene scene = scene();
    Rule rule =
        codes(Limit.slidingLog(1, Duration.ofSeconds(1)))
            .lock(
                Lock.growing(
                        List.of(
                            Duration.ofMinutes(1), Duration.ofMinutes(5), Duration.ofMinutes(60)))
                    .onLimit())
            .build();
    assertThat(lockLength(scene, scene.take(rule, 1))).isEqualTo(Duration.ofMinutes(1));
    scene.clock.advance(Duration.ofMinutes(1));
    Decision second = scene.take(rule, 1);
    assertThat(lockLength(scene, second)).isEqualTo(Duration.ofMinutes(5));
    await(scene.limiter(rule).refundAsync(Scene.receipt(second)));

    assertThat(lockLength(scene, scene.take(rule, 1))).isEqualTo(Duration.ofMinutes(5));
  }

  private static Duration lockLength(Scene scene, Decision decision) {
    long until = decision.balances().get(0).lockedUntilMicros();
    return Durations.ofMicros(until - scene.clock.micros());
  }

  @Test
  default void liftingForgetsTheRowOfGrowingLocksUnlessAskedToKeepIt() {
    Scene scene = scene();
    Rule rule =
        codes(Limit.slidingLog(1, Duration.ofSeconds(1)))
            .lock(Lock.growing(List.of(Duration.ofMinutes(1), Duration.ofHours(1))).onLimit())
            .build();
    scene.take(rule, 1);
    scene.clock.advance(Duration.ofSeconds(1));
    await(scene.limiter(rule).liftAsync("codes", ANN, true));
    assertThat(lockLength(scene, scene.take(rule, 1))).isEqualTo(Duration.ofHours(1));

    await(scene.limiter(rule).liftAsync("codes", ANN));

    assertThat(lockLength(scene, scene.take(rule, 1))).isEqualTo(Duration.ofMinutes(1));
  }
}
