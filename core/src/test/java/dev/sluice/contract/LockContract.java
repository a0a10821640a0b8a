package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.BOB;
import static dev.sluice.contract.Scene.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Lock;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.internal.Durations;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Locks: caused by exceeding a limit, growing, set and lifted by hand. */
public interface LockContract {
  Scene scene();

  private static Rule.Builder signIn(Limit limit) {
    return Rule.builder("signIn").by("member").limit(limit);
  }

  private static Rule.Builder signIn() {
    return signIn(Limit.slidingLog(3, Duration.ofMinutes(30)));
  }

  @Test
  default void deniedCallLocksUntilAnExactMillisecond() {
    Scene scene = scene();
    Rule rule = signIn().lock(Duration.ofMinutes(30)).build();
    scene.take(rule, 3);
    scene.clock.advance(Duration.ofSeconds(1));

    Decision fourth = scene.take(rule, 1);

    assertThat(scene.shown(fourth))
        .isEqualTo("denied [0 of 3, retry 30m, reset 29m59s, locked 30m]");
    assertThat(fourth.restrictedUntil()).hasValue(Scene.START.plusSeconds(1 + 30 * 60));
  }

  @Test
  default void lockEndingWithinAMillisecondIsRoundedUp() {
    Scene scene = scene();
    Rule rule = signIn().lock(Duration.ofMinutes(30)).build();
    scene.take(rule, 3);
    scene.clock.advanceMicros(1);

    assertThat(scene.take(rule, 1).restrictedUntil())
        .hasValue(Scene.START.plusSeconds(30 * 60).plusMillis(1));
  }

  @Test
  default void retryingWhileLockedDoesNotExtendTheLock() {
    Scene scene = scene();
    Rule rule = signIn().lock(Duration.ofMinutes(30)).build();
    scene.take(rule, 3);
    scene.take(rule, 1);

    for (int i = 0; i < 29; i++) {
      scene.clock.advance(Duration.ofMinutes(1));
      assertThat(scene.take(rule, 1).restrictedUntil()).hasValue(Scene.START.plusSeconds(30 * 60));
    }
    scene.clock.advanceMicros(59_999_999);
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 3, retry 1us, reset 1us, locked 1us]");
    scene.clock.advanceMicros(1);
    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [2 of 3, reset 30m]");
  }

  @Test
  default void lockedAccountIsDeniedThoughItsLimitHasRoom() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofSeconds(10))) {
      Rule rule = signIn(limit).lock(Duration.ofMinutes(5)).build();
      scene.reset(rule);
      scene.take(rule, 2);
      scene.take(rule, 1);
      scene.clock.advance(Duration.ofMinutes(1));

      assertThat(scene.shown(scene.take(rule, 1)))
          .isEqualTo("denied [2 of 2, retry 4m, reset 0s, locked 4m]");
      scene.clock.advance(Duration.ofMinutes(4));
      assertThat(scene.take(rule, 2).allowed()).isTrue();
    }
  }

  @Test
  default void retryAfterIsTheLaterOfTheLocksEndAndTheRoom() {
    Scene scene = scene();
    Rule rule =
        signIn(Limit.fixedWindow(1, Duration.ofHours(1))).lock(Duration.ofMinutes(1)).build();
    scene.take(rule, 1);

    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 1, retry 1h, reset 1h, locked 1m]");
    scene.clock.advance(Duration.ofSeconds(20));
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [0 of 1, retry 59m40s, reset 59m40s, locked 40s]");
  }

  @Test
  default void costThatNeverFitsDoesNotLock() {
    Scene scene = scene();
    Rule rule = signIn().lock(Duration.ofMinutes(30)).build();

    assertThat(scene.shown(scene.take(rule, 4))).isEqualTo("denied [3 of 3, never, reset 0s]");
    assertThat(scene.take(rule, 3).allowed()).isTrue();
  }

  @Test
  default void costZeroLocksWhenThereIsNoRoomForOne() {
    Scene scene = scene();
    Rule rule = signIn().lock(Duration.ofMinutes(1)).build();
    scene.take(rule, 3);

    assertThat(scene.shown(scene.take(rule, 0)))
        .isEqualTo("denied [0 of 3, retry 30m, reset 30m, locked 1m]");
  }

  @Test
  default void onlyTheIdentityThatWasDeniedIsLocked() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("signIn")
            .by("member", "ip")
            .limit(Limit.slidingLog(2, Duration.ofSeconds(10)))
            .lock(Duration.ofMinutes(1))
            .build();
    scene.take(rule, ANN.with("ip", "10.0.0.1"), 2);

    Decision denied = scene.take(rule, BOB.with("ip", "10.0.0.1"), 1);

    assertThat(scene.shown(denied))
        .isEqualTo(
            "denied [signIn:member=bob 2 of 2, reset 0s; "
                + "signIn:ip=10.0.0.1 0 of 2, retry 1m, reset 10s, locked 1m]");
    assertThat(scene.take(rule, BOB.with("ip", "10.0.0.2"), 1).allowed()).isTrue();
  }

  @Test
  default void locksInARowGrowAndAreForgottenAfterTheirMemory() {
    Scene scene = scene();
    Lock growing =
        new Lock(
            List.of(Duration.ofMinutes(1), Duration.ofMinutes(5), Duration.ofMinutes(15)),
            Duration.ofMinutes(10));
    Rule rule = signIn(Limit.slidingLog(1, Duration.ofSeconds(1))).lock(growing).build();

    assertThat(overdraw(scene, rule)).isEqualTo(Duration.ofMinutes(1));
    scene.clock.advance(Duration.ofMinutes(1));
    assertThat(overdraw(scene, rule)).isEqualTo(Duration.ofMinutes(5));
    scene.clock.advance(Duration.ofMinutes(5 + 10));
    assertThat(overdraw(scene, rule)).isEqualTo(Duration.ofMinutes(15));
    scene.clock.advance(Duration.ofMinutes(15));
    assertThat(overdraw(scene, rule)).isEqualTo(Duration.ofMinutes(15));
    scene.clock.advance(Duration.ofMinutes(15 + 10));
    scene.clock.advanceMicros(1);
    assertThat(overdraw(scene, rule)).isEqualTo(Duration.ofMinutes(1));
  }

  private static Duration overdraw(Scene scene, Rule rule) {
    assertThat(scene.take(rule, 1).allowed()).isTrue();
    Decision denied = scene.take(rule, 1);
    return Durations.ofMicros(denied.balances().get(0).lockedUntilMicros() - scene.clock.micros());
  }

  @Test
  default void earnedLockIsListedWithItsReason() {
    Scene scene = scene();
    Rule rule = signIn().lock(Duration.ofMinutes(30)).build();
    scene.take(rule, 3);
    scene.take(rule, 1);

    List<Restriction> locks = await(scene.limiter(rule).locksAsync(null, 1_000, null)).locks();

    assertThat(locks)
        .containsExactly(
            new Restriction(
                new Account("signIn", ANN),
                Scene.START,
                Scene.START.plus(Duration.ofMinutes(30)),
                "used up 3 per 30m"));
    scene.clock.advance(Duration.ofMinutes(30));
    assertThat(await(scene.limiter(rule).locksAsync(null, 1_000, null)).locks()).isEmpty();
  }

  @Test
  default void lockIsSetListedAndLiftedByHand() {
    Scene scene = scene();
    Rule rule = signIn().build();
    Rule other =
        Rule.builder("other").by("member").limit(Limit.slidingLog(1, Duration.ofDays(1))).build();
    Limiter limiter = scene.limiter(rule, other);
    Restriction expected =
        new Restriction(
            new Account("signIn", ANN),
            Scene.START,
            Scene.START.plus(Duration.ofHours(1)),
            "fraud");

    assertThat(await(limiter.lockAsync("signIn", ANN, Duration.ofHours(1), "fraud")))
        .containsExactly(expected);
    await(limiter.lockAsync("other", BOB, Duration.ofHours(2), "abuse"));

    assertThat(await(limiter.locksAsync("signIn", 1_000, null)).locks()).containsExactly(expected);
    assertThat(await(limiter.locksAsync(null, 1_000, null)).locks())
        .extracting(Restriction::reason)
        .containsExactlyInAnyOrder("abuse", "fraud");
    assertThat(scene.shown(scene.take(rule, 1)))
        .isEqualTo("denied [3 of 3, retry 1h, reset 0s, locked 1h]");
    assertThat(await(limiter.liftAsync("signIn", ANN))).isTrue();
    assertThat(await(limiter.liftAsync("signIn", ANN))).isFalse();
    assertThat(scene.take(rule, 1).allowed()).isTrue();
    assertThat(await(limiter.locksAsync("signIn", 1_000, null)).locks()).isEmpty();
  }

  @Test
  default void lockByHandReplacesTheOneInForce() {
    Scene scene = scene();
    Rule rule = signIn().lock(Duration.ofMinutes(30)).build();
    scene.take(rule, 3);
    scene.take(rule, 1);
    scene.clock.advance(Duration.ofMinutes(1));

    await(scene.limiter(rule).lockAsync("signIn", ANN, Duration.ofMinutes(2), "short"));

    assertThat(await(scene.limiter(rule).locksAsync(null, 1_000, null)).locks())
        .containsExactly(
            new Restriction(
                new Account("signIn", ANN),
                Scene.START,
                Scene.START.plus(Duration.ofMinutes(3)),
                "short"));
    assertThat(scene.take(rule, 1).restrictedUntil())
        .hasValue(Scene.START.plus(Duration.ofMinutes(3)));
  }

  @Test
  default void extendedLockKeepsItsBegin() {
    Scene scene = scene();
    Rule rule = signIn().build();
    Limiter limiter = scene.limiter(rule);
    await(limiter.lockAsync("signIn", ANN, Duration.ofHours(1), "fraud"));
    scene.clock.advance(Duration.ofMinutes(59));
    await(limiter.lockAsync("signIn", ANN, Duration.ofHours(1), "more fraud"));
    scene.clock.advance(Duration.ofMinutes(59));

    List<Restriction> extended =
        await(limiter.lockAsync("signIn", ANN, Duration.ofDays(1), "abuse"));

    assertThat(extended)
        .containsExactly(
            new Restriction(
                new Account("signIn", ANN),
                Scene.START,
                Scene.START.plus(Duration.ofMinutes(118)).plus(Duration.ofDays(1)),
                "abuse"))
        .isEqualTo(await(limiter.locksAsync(null, 1_000, null)).locks());
  }

  @Test
  default void lockAfterTheEndOfAnotherBeginsAnew() {
    Scene scene = scene();
    Rule rule = signIn().lock(Duration.ofMinutes(30)).build();
    Limiter limiter = scene.limiter(rule);
    scene.take(rule, 3);
    scene.take(rule, 1);
    scene.clock.advance(Duration.ofMinutes(30));

    List<Restriction> second =
        await(limiter.lockAsync("signIn", ANN, Duration.ofHours(1), "fraud"));

    assertThat(second)
        .extracting(Restriction::since)
        .containsExactly(Scene.START.plus(Duration.ofMinutes(30)));
    await(limiter.liftAsync("signIn", ANN));
    scene.clock.advance(Duration.ofMinutes(1));
    assertThat(await(limiter.lockAsync("signIn", ANN, Duration.ofHours(1), "fraud")))
        .extracting(Restriction::since)
        .containsExactly(Scene.START.plus(Duration.ofMinutes(31)));
  }

  /** The lock of a call goes when the call is refunded; one that an operator set stays. */
  @Test
  default void refundLiftsNoLockThatAnOperatorHasExtended() {
    Scene scene = scene();
    Rule rule =
        signIn(Limit.slidingLog(1, Duration.ofMinutes(30)))
            .lock(Lock.of(Duration.ofMinutes(30)).onLimit())
            .build();
    Decision last = scene.take(rule, 1);
    assertThat(last.balances().get(0).locked()).isTrue();
    scene.clock.advance(Duration.ofMinutes(1));
    await(scene.limiter(rule).lockAsync("signIn", ANN, Duration.ofHours(2), "fraud"));

    await(scene.limiter(rule).refundAsync(((Decision.Allowed) last).receipt()));

    assertThat(scene.take(rule, 1).restrictedUntil())
        .hasValue(Scene.START.plus(Duration.ofMinutes(121)));
  }

  @Test
  default void lockByHandIsNotOneMoreInTheRow() {
    Scene scene = scene();
    Rule rule =
        signIn(Limit.slidingLog(1, Duration.ofSeconds(1)))
            .lock(Lock.growing(List.of(Duration.ofMinutes(1), Duration.ofHours(1))))
            .build();
    await(scene.limiter(rule).lockAsync("signIn", ANN, Duration.ofMinutes(1), "by hand"));
    scene.clock.advance(Duration.ofMinutes(1));

    assertThat(overdraw(scene, rule)).isEqualTo(Duration.ofMinutes(1));
  }

  @Test
  default void lockEarnedAfterOneByHandHasItsOwnReason() {
    Scene scene = scene();
    Rule rule =
        signIn(Limit.slidingLog(1, Duration.ofSeconds(1))).lock(Duration.ofMinutes(1)).build();
    await(scene.limiter(rule).lockAsync("signIn", ANN, Duration.ofMinutes(1), "by hand"));
    scene.clock.advance(Duration.ofMinutes(1));
    overdraw(scene, rule);

    assertThat(await(scene.limiter(rule).locksAsync(null, 1_000, null)).locks())
        .extracting(Restriction::reason)
        .containsExactly("used up 1 per 1s");
  }

  @Test
  default void liftedLockIsForgottenInTheRow() {
    Scene scene = scene();
    Rule rule =
        signIn(Limit.slidingLog(1, Duration.ofSeconds(1)))
            .lock(Lock.growing(List.of(Duration.ofMinutes(1), Duration.ofHours(1))))
            .build();
    assertThat(overdraw(scene, rule)).isEqualTo(Duration.ofMinutes(1));
    scene.clock.advance(Duration.ofSeconds(1));

    assertThat(await(scene.limiter(rule).liftAsync("signIn", ANN))).isTrue();

    assertThat(overdraw(scene, rule)).isEqualTo(Duration.ofMinutes(1));
  }

  @Test
  default void liftingWhereThereIsNoLockChangesNothing() {
    Scene scene = scene();
    for (boolean keepUsage : new boolean[] {true, false}) {
      Rule rule =
          signIn(Limit.slidingLog(3, Duration.ofMinutes(10))).lock(Duration.ofHours(1)).build();
      scene.reset(rule);
      scene.take(rule, 2);
      scene.clock.advanceMicros(1);

      assertThat(await(scene.limiter(rule).liftAsync("signIn", ANN, keepUsage))).isFalse();

      assertThat(scene.left(rule)).isEqualTo(1);
    }
  }

  @Test
  default void liftedLockIsFollowedByWhatTheCallerCanDoNow() {
    Scene scene = scene();
    Rule rule =
        signIn(Limit.slidingLog(3, Duration.ofMinutes(10))).lock(Duration.ofHours(1)).build();
    scene.take(rule, 3);
    scene.take(rule, 1);
    scene.clock.advance(Duration.ofMinutes(1));

    assertThat(await(scene.limiter(rule).liftAndInspectAsync("signIn", ANN, true)).inWords())
        .isEqualTo("lifted; still denied for 9m: member=ann has 0 of 3 left (3 per 10m)");
    assertThat(await(scene.limiter(rule).liftAndInspectAsync("signIn", ANN, true)).inWords())
        .isEqualTo("was not locked; still denied for 9m: member=ann has 0 of 3 left (3 per 10m)");
    scene.take(rule, 1);
    scene.clock.advanceMicros(1);
    assertThat(await(scene.limiter(rule).liftAndInspectAsync("signIn", ANN, false)).inWords())
        .isEqualTo("lifted; the next call passes: member=ann has 3 of 3 left (3 per 10m)");
    assertThat(scene.take(rule, 1).allowed()).isTrue();
  }

  @Test
  default void liftingForgetsWhatWasUsedUnlessAskedToKeepIt() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofSeconds(10))) {
      Rule rule = signIn(limit).lock(Duration.ofMinutes(1)).build();
      scene.reset(rule);
      scene.take(rule, 2);
      scene.take(rule, 1);

      assertThat(await(scene.limiter(rule).liftAsync("signIn", ANN, true))).isTrue();
      assertThat(scene.shown(scene.peek(rule, 1)))
          .startsWith("denied [0 of 2")
          .doesNotContain("locked");
      scene.take(rule, 1);

      assertThat(await(scene.limiter(rule).liftAsync("signIn", ANN))).isTrue();
      assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("allowed [2 of 2, reset 0s]");
    }
  }

  @Test
  default void resetForgetsUsageAndLock() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofSeconds(10))) {
      Rule rule = signIn(limit).lock(Duration.ofMinutes(1)).build();
      Limiter limiter = scene.limiter(rule);
      scene.take(rule, 2);
      scene.take(rule, 1);

      assertThat(await(limiter.resetAsync("signIn", ANN))).isTrue();

      assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("allowed [2 of 2, reset 0s]");
      assertThat(await(limiter.locksAsync(null, 1_000, null)).locks()).isEmpty();
      assertThat(await(limiter.resetAsync("signIn", ANN))).isFalse();
    }
    assertThat(await(scene.store.reset(new Account("signIn", Identity.of("member", "nobody")))))
        .isFalse();
  }
}
