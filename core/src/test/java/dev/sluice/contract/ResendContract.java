package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.BOB;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A call with an id can be sent again: the first decision comes back, counted once. */
public interface ResendContract {
  Scene scene();

  private static Call call(String id) {
    return Call.of("test", ANN).costing(2).withId(id);
  }

  @Test
  default void resentCallIsCountedOnceAndGetsTheFirstDecision() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofMinutes(5))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Call call = call("first-" + limit.getClass().getSimpleName());
      Decision first = scene.decide(rule, call);
      scene.take(rule, 1);
      scene.clock.advance(Duration.ofSeconds(59));

      Decision again = scene.decide(rule, call);

      assertThat(again.allowed()).isTrue();
      assertThat(again.balances()).as("%s", limit).isEqualTo(first.balances());
      assertThat(Scene.receipt(again)).isEqualTo(Scene.receipt(first));
      long used = limit instanceof Limit.TokenBucket ? 3 : 2;
      assertThat(scene.left(rule)).as("%s", limit).isBetween(5 - used - 1, 5 - used + 0);
    }
  }

  @Test
  default void resentDenialIsTheFirstDenial() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Call call = call("denied-" + limit.getClass().getSimpleName());
      scene.take(rule, 1);
      Decision first = scene.decide(rule, call);
      scene.clock.advance(Duration.ofSeconds(20));

      assertThat(scene.decide(rule, call)).isEqualTo(first);
      assertThat(scene.left(rule)).isEqualTo(2);
    }
  }

  @Test
  default void idIsForgottenAfterAMinute() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofSeconds(30))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Call call = call("late-" + limit.getClass().getSimpleName());
      scene.decide(rule, call);
      scene.clock.advanceMicros(59_999_999);
      scene.decide(rule, call);
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(5);
      scene.clock.advanceMicros(2);

      scene.decide(rule, call);

      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(3);
    }
  }

  @Test
  default void logCountsAnIdOnceWithinItsWindow() {
    Scene scene = scene();
    Rule rule = rule(Limit.log(2, Duration.ofMinutes(10)));
    scene.decide(rule, call("slow"));
    scene.clock.advance(Duration.ofMinutes(5));

    assertThat(scene.decide(rule, call("slow")).allowed()).isTrue();
    assertThat(scene.decide(rule, call("other")).allowed()).isFalse();
  }

  @Test
  default void sameIdForAnotherAccountIsAnotherCall() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      Limiter limiter = scene.limiter(rule);
      String id = "shared-" + limit.getClass().getSimpleName();
      Call bobs = Call.of("test", BOB).costing(2).withId(id);
      scene.reset(rule);
      Scene.await(limiter.reset("test", BOB));

      assertThat(limiter.decide(call(id)).allowed()).isTrue();
      assertThat(limiter.decide(bobs).allowed()).isTrue();
      assertThat(limiter.decide(bobs.withId("new-" + id)).allowed()).as("%s", limit).isFalse();
    }
  }

  @Test
  default void receiptOfAResentCallIsSettledOnce() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofMinutes(1))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Limiter limiter = scene.limiter(rule);
      Call call = call("settled-" + limit.getClass().getSimpleName());
      Decision first = limiter.decide(call);
      Decision again = limiter.decide(call);
      scene.take(rule, 3);

      assertThat(Scene.await(limiter.giveBack(Scene.receipt(first)))).isTrue();
      assertThat(Scene.await(limiter.giveBack(Scene.receipt(again)))).isFalse();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void lookWithAnIdRemembersNothing() {
    Scene scene = scene();
    Rule rule = rule(Limit.bucket(2, 2, Duration.ofMinutes(1)));

    assertThat(scene.decide(rule, call("look").peeking()).allowed()).isTrue();
    assertThat(scene.decide(rule, call("look")).allowed()).isTrue();
    assertThat(scene.left(rule)).isZero();
  }
}
