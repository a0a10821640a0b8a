package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.await;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Defects seen in other limiters, each a history that must come out right here. */
public interface PeersContract {
  Scene scene();

  @Test
  default void slidingWindowDoesNotDropItsOldestPartTooEarly() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingWindow(10, Duration.ofSeconds(60), Duration.ofSeconds(1)));
    scene.clock.set(Scene.START.plusMillis(59_900));
    assertThat(scene.passing(rule, 10)).isEqualTo(10);

    scene.clock.set(Scene.START.plusMillis(119_000));

    assertThat(scene.passing(rule, 10)).isZero();
  }

  @Test
  default void releasedPermitsAreNotGivenTwice() {
    Scene scene = scene();
    for (Limit limit : Scene.everySlidingKind(10, Duration.ofSeconds(1))) {
      Rule rule = rule(limit);
      scene.clock.set(Scene.START);
      scene.reset(rule);
      Receipt receipt = scene.receipt(rule, 5);
      scene.clock.set(Scene.START.plusMillis(10));
      assertThat(await(scene.limiter(rule).refundAsync(receipt))).isTrue();
      scene.clock.set(Scene.START.plusMillis(500));
      assertThat(scene.take(rule, 10).allowed()).as("%s", limit).isTrue();
      scene.clock.set(Scene.START.plusMillis(1_001));

      assertThat(scene.passing(rule, 5)).as("%s", limit).isZero();
    }
  }

  @Test
  default void releasedTokensDoNotOverfillABucket() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(10, 10, Duration.ofSeconds(1)));
    Receipt receipt = scene.receipt(rule, 5);
    scene.clock.set(Scene.START.plusMillis(10));
    await(scene.limiter(rule).refundAsync(receipt));
    scene.clock.set(Scene.START.plusMillis(500));
    assertThat(scene.passing(rule, 99)).isEqualTo(10);
    scene.clock.set(Scene.START.plusMillis(1_001));

    assertThat(scene.passing(rule, 99)).isEqualTo(5);
  }

  @Test
  default void bucketAdmitsNoSecondBurstAcrossASecondsEdge() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(100, 100, Duration.ofSeconds(1)));
    long passed = 0;
    for (int millis = 970; millis <= 1_030; millis++) {
      scene.clock.set(Scene.START.plusMillis(millis));
      passed += scene.passing(rule, 3);
    }

    assertThat(passed).isEqualTo(106);
  }

  @Test
  default void burstBelowTheRateIsTheMostAtOnce() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(40, 100, Duration.ofSeconds(1)));

    assertThat(scene.passing(rule, 200)).isEqualTo(40);
  }

  @Test
  default void slidingLimitAdmitsNoSecondQuotaAcrossAMinutesEdge() {
    Scene scene = scene();
    for (Limit limit : Scene.everySlidingKind(50, Duration.ofMinutes(1))) {
      Rule rule = rule(limit);
      scene.clock.set(Scene.START.plusSeconds(59));
      scene.reset(rule);
      assertThat(scene.passing(rule, 50)).isEqualTo(50);

      scene.clock.set(Scene.START.plusSeconds(61));

      assertThat(scene.passing(rule, 50)).as("%s", limit).isZero();
    }
  }

  @Test
  default void callRejectedByTheSecondLimitHasNotBurntTheFirst() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("test")
            .by("member")
            .limit(Limit.tokenBucket(10, 1, Duration.ofHours(1)))
            .limit(Limit.tokenBucket(1, 1, Duration.ofSeconds(1)))
            .build();
    for (int i = 0; i < 5; i++) {
      scene.take(rule, 1);
    }

    assertThat(scene.peek(rule, 1).balances().get(0).remaining()).isEqualTo(9);
  }

  @Test
  default void deniedWeightIsNotCharged() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      scene.take(rule, 2);

      assertThat(scene.take(rule, 4).allowed()).isFalse();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(3);
    }
  }

  @Test
  default void retryingClientPassesAsSoonAsThereIsRoom() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(1, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.clock.set(Scene.START);
      scene.reset(rule);
      scene.take(rule, ANN, 1);
      for (int i = 0; i < 99; i++) {
        scene.clock.advance(Duration.ofMillis(100));
        assertThat(scene.take(rule, 1).allowed()).isFalse();
      }

      scene.clock.set(Scene.START.plusSeconds(11));

      assertThat(scene.take(rule, 1).allowed()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void retryAfterLeadsToSuccessAtExactlyThatTime() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(7, Duration.ofSeconds(3))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      scene.clock.advanceMicros(1_234_567);
      scene.take(rule, 3);
      scene.clock.advanceMicros(777);
      scene.take(rule, 4);
      Duration wait = scene.take(rule, 5).retryAfter().orElseThrow();

      scene.clock.advance(wait.minusNanos(1_000));
      assertThat(scene.take(rule, 5).allowed()).as("%s: 1us early", limit).isFalse();
      scene.clock.advanceMicros(1);
      assertThat(scene.take(rule, 5).allowed()).as("%s: in time", limit).isTrue();
    }
  }
}
