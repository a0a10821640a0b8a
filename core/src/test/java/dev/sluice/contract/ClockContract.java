package dev.sluice.contract;

import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.Rule;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** Time never runs backwards: a clock that steps back gives no extra quota. */
public interface ClockContract {
  Duration SPAN = Duration.ofSeconds(10);

  Scene scene();

  @Test
  default void smallStepBackGivesNothing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, SPAN)) {
      Rule rule = rule(limit);
      scene.clock.set(Scene.START.plusSeconds(1));
      scene.reset(rule);
      scene.take(rule, 3);

      for (long back : new long[] {1, 1_000, 1_000_000, 5_000_000}) {
        scene.clock.set(Scene.START.plusSeconds(1).minusNanos(back * 1_000));
        assertThat(scene.take(rule, 1).allowed()).as("%s, %d us back", limit, back).isFalse();
      }
      scene.clock.set(Scene.START.plusSeconds(12));
      assertThat(scene.take(rule, 3).allowed()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void stepBackOverAnEdgeOpensNoOldWindow() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(3, SPAN));
    scene.take(rule, 3);

    scene.clock.advanceMicros(-1);

    assertThat(scene.take(rule, 1).allowed()).isFalse();
    scene.clock.advanceMicros(1);
    assertThat(scene.take(rule, 1).allowed()).isFalse();
  }

  @Test
  default void whatIsTakenAfterASmallStepBackStillCounts() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, SPAN)) {
      Rule rule = rule(limit);
      scene.clock.set(Scene.START.plusSeconds(5));
      scene.reset(rule);
      scene.take(rule, 1);
      scene.clock.advance(Duration.ofSeconds(-3));

      long passed = scene.passing(rule, 9);
      scene.clock.advance(Duration.ofSeconds(3));
      passed += scene.passing(rule, 9);

      assertThat(passed).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void clockThatWasFarAheadBlocksNobodyForLongerThanAWindow() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, SPAN)) {
      Rule rule = rule(limit);
      scene.clock.set(Scene.START.plus(Duration.ofDays(365)));
      scene.reset(rule);
      scene.take(rule, 3);

      scene.clock.set(Scene.START);
      assertThat(scene.take(rule, 1).allowed()).as("%s: nothing extra", limit).isFalse();
      scene.clock.advance(SPAN.dividedBy(4));
      assertThat(scene.take(rule, 1).allowed()).as("%s: within a window", limit).isFalse();
      scene.clock.set(Scene.START.plus(SPAN).minusSeconds(1));
      assertThat(scene.peek(rule, 1).allowed())
          .as("%s: near its end", limit)
          .isEqualTo(Scene.refills(limit));
      scene.clock.advance(Duration.ofSeconds(2));
      assertThat(scene.passing(rule, 9)).as("%s: open again", limit).isEqualTo(3);
    }
  }

  @Test
  default void togglingClockGivesNothingWhenItStepsBack() {
    Scene scene = scene();
    Instant near = Scene.START;
    Instant far = Scene.START.plus(Duration.ofDays(1));
    for (Limit limit : Scene.everyKind(25, SPAN)) {
      Rule rule = rule(limit);
      scene.clock.set(near);
      scene.reset(rule);
      scene.passing(rule, 6);
      for (int i = 0; i < 10; i++) {
        scene.clock.set(far.plusSeconds(20L * i));
        assertThat(scene.passing(rule, 6)).as("%s: time has passed", limit).isEqualTo(6);
        scene.clock.set(near);
        assertThat(scene.passing(rule, 6)).as("%s: stepped back", limit).isZero();
      }
    }
  }

  @Test
  default void togglingByLessThanAWindowAdmitsOneQuota() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(25, 1, Duration.ofSeconds(1)));
    long passed = 0;
    for (int i = 0; i < 40; i++) {
      scene.clock.set(Scene.START.plusSeconds(i % 2 == 0 ? 0 : 5));
      passed += scene.passing(rule, 10);
    }

    assertThat(passed).isLessThanOrEqualTo(30);
  }

  @Test
  default void lockNeverLastsLongerThanItsLengthUnderAnyClock() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("test")
            .by("member")
            .limit(Limit.slidingLog(1, SPAN))
            .lock(Duration.ofMinutes(5))
            .build();
    scene.clock.set(Scene.START.plus(Duration.ofDays(30)));
    scene.take(rule, 1);
    scene.take(rule, 1);
    scene.clock.set(Scene.START);

    assertThat(scene.take(rule, 1).retryAfter().orElseThrow())
        .isLessThanOrEqualTo(Duration.ofMinutes(5));
    scene.clock.advance(Duration.ofMinutes(5).plus(SPAN));
    assertThat(scene.take(rule, 1).allowed()).isTrue();
  }

  @Test
  default void stepBackDoesNotEndALock() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("test")
            .by("member")
            .limit(Limit.slidingLog(1, SPAN))
            .lock(Duration.ofMinutes(5))
            .build();
    scene.take(rule, 1);
    scene.take(rule, 1);

    scene.clock.advance(Duration.ofSeconds(-5));

    assertThat(scene.take(rule, 1).allowed()).isFalse();
    scene.clock.advance(Duration.ofMinutes(4));
    assertThat(scene.take(rule, 1).allowed()).isFalse();
  }

  @Test
  default void farStepForwardIsJustTimePassing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, SPAN)) {
      Rule rule = rule(limit);
      scene.clock.set(Scene.START);
      scene.reset(rule);
      scene.take(rule, 3);

      scene.clock.advance(Duration.ofDays(3_650));

      assertThat(scene.shown(scene.peek(rule, 3))).isEqualTo("allowed [3 of 3, reset 0s]");
    }
  }
}
