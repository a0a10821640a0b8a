package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.BOB;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Cycle;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.CompletionException;
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
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void denialIsRepeatedUntilItsRetryAfterAndThenJudgedAgain() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Call call = call("denied-" + limit.getClass().getSimpleName());
      scene.take(rule, 1);
      Decision first = scene.decide(rule, call);
      assertThat(first.allowed()).isFalse();
      long wait = first.deciding().orElseThrow().retryAfterMicros();
      scene.clock.advanceMicros(wait - 1);
      assertThat(scene.decide(rule, call)).as("%s", limit).isEqualTo(first);
      scene.clock.advanceMicros(1);

      assertThat(scene.decide(rule, call).allowed()).as("%s", limit).isTrue();
      assertThat(scene.left(rule)).as("%s", limit).isZero();
      scene.clock.advance(Duration.ofSeconds(20));
    }
  }

  @Test
  default void denialIsRepeatedForAMinuteAtMost() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofHours(1))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Call call = call("long-" + limit.getClass().getSimpleName());
      scene.take(rule, 1);
      Decision first = scene.decide(rule, call);
      scene.reset(rule);
      scene.clock.advanceMicros(59_999_999);
      assertThat(scene.decide(rule, call)).as("%s", limit).isEqualTo(first);
      scene.clock.advanceMicros(1);

      assertThat(scene.decide(rule, call).allowed()).as("%s", limit).isTrue();
    }
  }

  @Test
  default void denialOfWhatNeverFitsIsRepeatedForAMinute() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(2, Duration.ofHours(1)));
    Call call = Call.of("test", ANN).costing(3).withId("never");
    Decision first = scene.decide(rule, call);
    scene.take(rule, 1);
    scene.clock.advanceMicros(59_999_999);

    assertThat(first.retryAfter()).isEmpty();
    assertThat(scene.decide(rule, call)).isEqualTo(first);
    scene.clock.advanceMicros(1);
    assertThat(scene.decide(rule, call)).isNotEqualTo(first);
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
  default void idIsCountedOnceForAsLongAsItsLimitCountsIt() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofMinutes(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Call call = call("slow-" + limit.getClass().getSimpleName());
      scene.decide(rule, call);
      long memory = rule.terms().horizonMicros(scene.clock.micros());
      scene.clock.advanceMicros(memory - 1);
      long before = scene.left(rule);

      Decision again = scene.decide(rule, call);

      assertThat(again.allowed()).as("%s", limit).isTrue();
      assertThat(again.balances().get(0).remaining()).as("%s", limit).isEqualTo(before);
      assertThat(Scene.receipt(again).entries()).isEmpty();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(before);
      scene.clock.advanceMicros(1);
      assertThat(scene.decide(rule, call).allowed()).as("%s", limit).isTrue();
      assertThat(scene.left(rule)).as("%s: counted again", limit).isZero();
    }
  }

  @Test
  default void idIsRememberedAsLongAsTheLongestLimitOfItsCall() {
    Scene scene = scene();
    Rule quick =
        Rule.builder("quick").by("member").limit(Limit.fixedWindow(5, ofSeconds(1))).build();
    Rule slow =
        Rule.builder("slow").by("member").limit(Limit.slidingLog(1, Duration.ofHours(1))).build();
    Limiter limiter = scene.limiter(quick, slow);
    Call call = Call.of(List.of("quick", "slow"), ANN).withId("both");
    limiter.decide(call);
    scene.clock.advance(Duration.ofMinutes(59));

    Decision again = limiter.decide(call);

    assertThat(scene.shown(again))
        .isEqualTo("allowed [quick:member=ann 5 of 5, reset 0s; slow:member=ann 0 of 1, reset 1m]");
  }

  private static Duration ofSeconds(long seconds) {
    return Duration.ofSeconds(seconds);
  }

  @Test
  default void idIsRememberedForTheLengthOfACalendarRound() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(4, Cycle.calendar(Cycle.Unit.DAY, ZoneOffset.UTC)));
    scene.decide(rule, call("daily"));
    scene.clock.advance(Duration.ofHours(24).minusMillis(1));
    assertThat(scene.left(rule)).as("the round has ended").isEqualTo(4);

    scene.decide(rule, call("daily"));
    assertThat(scene.left(rule)).isEqualTo(4);
    scene.clock.advance(Duration.ofMillis(1));
    scene.decide(rule, call("daily"));
    assertThat(scene.left(rule)).isEqualTo(2);
  }

  @Test
  default void callOfCostZeroIsRememberedForAMinute() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(1, Duration.ofHours(1)));
    Call call = Call.of("test", ANN).costing(0).withId("room");
    assertThat(scene.decide(rule, call).allowed()).isTrue();
    scene.take(rule, 1);
    scene.clock.advanceMicros(59_999_999);
    assertThat(scene.decide(rule, call).allowed()).isTrue();
    scene.clock.advanceMicros(1);

    assertThat(scene.decide(rule, call).allowed()).isFalse();
  }

  @Test
  default void sameIdWithAnotherQuestionIsAnErrorAndCountsNothing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(9, Duration.ofMinutes(10))) {
      Rule rule = rule(limit);
      Rule other = Rule.builder("other").by("member").limit(limit).build();
      Limiter limiter = scene.limiter(rule, other);
      String id = "asked-" + limit.getClass().getSimpleName();
      scene.reset(rule);
      scene.reset(other);
      limiter.decide(call(id));
      List<Call> others =
          List.of(
              call(id).costing(1),
              call(id).costing(100),
              call(id).recording(),
              Call.of("other", ANN).costing(2).withId(id),
              Call.of(List.of("test", "other"), ANN).costing(2).withId(id));
      for (int minutes = 0; minutes < 10; minutes += 3) {
        long left = scene.left(rule);
        for (Call each : others) {
          assertThatThrownBy(() -> limiter.decide(each))
              .as("%s of %s after %d minutes", each, limit, minutes)
              .isInstanceOf(IdReusedException.class)
              .hasMessage(
                  "id: '"
                      + id
                      + "' was used for another call (expected: the same rules, costs and intent)");
        }
        assertThat(scene.left(rule)).as("%s", limit).isEqualTo(left);
        assertThat(scene.left(other)).as("%s", limit).isEqualTo(9);
        scene.clock.advance(Duration.ofMinutes(3));
      }
    }
  }

  @Test
  default void idOfADeniedCallBelongsToItsQuestionForAMinute() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(2, Duration.ofSeconds(10)));
    scene.take(rule, 1);
    assertThat(scene.decide(rule, call("denied")).allowed()).isFalse();
    scene.clock.advance(Duration.ofSeconds(59));

    assertThatThrownBy(() -> scene.decide(rule, call("denied").costing(1)))
        .isInstanceOf(IdReusedException.class);
    scene.clock.advance(Duration.ofSeconds(1));
    assertThat(scene.decide(rule, call("denied").costing(1)).allowed()).isTrue();
  }

  @Test
  default void usedIdFailsTheStageOfACall() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingLog(9, Duration.ofMinutes(10)));
    Limiter limiter = scene.limiter(rule);
    limiter.decide(call("stage"));

    assertThatThrownBy(() -> Scene.await(limiter.decideAsync(call("stage").costing(1))))
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(IdReusedException.class);
  }

  @Test
  default void idThatWasCountedLetsNoOtherCostPassAFullLog() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingLog(3, Duration.ofMinutes(10)));
    scene.decide(rule, Call.of("test", ANN).withId("x"));
    scene.take(rule, 2);
    scene.clock.advance(Duration.ofMinutes(2));

    assertThatThrownBy(() -> scene.decide(rule, Call.of("test", ANN).costing(3).withId("x")))
        .isInstanceOf(IdReusedException.class);
    scene.clock.advance(Duration.ofMinutes(8));
    scene.take(rule, 3);
    assertThat(scene.decide(rule, Call.of("test", ANN).costing(3).withId("x")).allowed()).isFalse();
  }

  @Test
  default void callersWithTheSameIdAreCountedEachOnTheAccountTheyShare() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofMinutes(10))) {
      Rule rule = Rule.builder("shared").by("ip").limit(limit).build();
      Limiter limiter = scene.limiter(rule);
      Identity ip = Identity.of("ip", "10.0.0.1");
      Scene.await(limiter.resetAsync("shared", ip));
      String id = "same-" + limit.getClass().getSimpleName();
      Call anns = Call.of("shared", ip.with("member", "ann")).costing(2).withId(id);
      Call bobs = Call.of("shared", ip.with("member", "bob")).costing(2).withId(id);
      Receipt first = Scene.receipt(limiter.decide(anns));

      Receipt second = Scene.receipt(limiter.decide(bobs));

      assertThat(left(limiter, ip)).as("%s", limit).isEqualTo(1);
      assertThat(Scene.await(limiter.refundAsync(first))).isTrue();
      assertThat(left(limiter, ip)).as("%s", limit).isEqualTo(3);
      assertThat(Scene.await(limiter.refundAsync(second))).isTrue();
      assertThat(left(limiter, ip)).as("%s", limit).isEqualTo(5);
    }
  }

  private static long left(Limiter limiter, Identity ip) {
    return limiter.decide(Call.of("shared", ip).peeking()).balances().get(0).remaining();
  }

  @Test
  default void firstVerdictStandsAfterAChangeOfRules() {
    Scene scene = scene();
    Rule before = rule(Limit.fixedWindow(5, Duration.ofMinutes(10)));
    Rule raised = rule(Limit.fixedWindow(9, Duration.ofMinutes(10)));
    scene.decide(before, call("passes").costing(4));
    scene.decide(before, call("fails"));

    Decision passed = scene.decide(raised, call("passes").costing(4));
    Decision failed = scene.decide(raised, call("fails"));

    assertThat(scene.shown(passed)).isEqualTo("allowed [5 of 9, reset 10m]");
    assertThat(Scene.receipt(passed).entries()).isEmpty();
    assertThat(scene.shown(failed)).isEqualTo("denied [5 of 9, reset 10m]");
  }

  @Test
  default void receiptOfARepeatedAnswerGivesNothingToAccountsOfAnotherRule() {
    Scene scene = scene();
    Rule before = rule(Limit.fixedWindow(5, Duration.ofMinutes(10)));
    Rule after =
        Rule.builder("test").by("ip").limit(Limit.fixedWindow(5, Duration.ofMinutes(10))).build();
    Identity ip = Identity.of("ip", "10.0.0.1");
    Call call = Call.of("test", ip.with("member", "ann")).costing(2).withId("moved");
    scene.decide(before, call);
    scene.take(after, ip, 3);

    Decision again = scene.decide(after, call);

    // A Cluster remembers ids beside the accounts, so that one may have counted it here.
    Scene.await(scene.limiter(after).refundAsync(Scene.receipt(again)));
    assertThat(scene.take(after, ip, 0).balances().get(0).remaining()).isEqualTo(2);
  }

  @Test
  default void idThatWasForgottenIsCountedBesideItsFirstCall() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingLog(3, Duration.ofMinutes(1)));
    Rule longer = rule(Limit.slidingLog(3, Duration.ofMinutes(10)));
    Call call = Call.of("test", ANN).withId("x");
    Receipt first = Scene.receipt(scene.decide(rule, call));
    scene.clock.advance(Duration.ofSeconds(61));

    Receipt second = Scene.receipt(scene.decide(longer, call));

    assertThat(scene.left(longer)).isEqualTo(1);
    assertThat(Scene.await(scene.limiter(longer).refundAsync(first))).as("past its end").isFalse();
    assertThat(scene.left(longer)).isEqualTo(1);
    assertThat(Scene.await(scene.limiter(longer).refundAsync(second))).isTrue();
    assertThat(scene.left(longer)).isEqualTo(2);
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
      Scene.await(limiter.resetAsync("test", BOB));

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

      assertThat(Scene.await(limiter.refundAsync(Scene.receipt(first)))).isTrue();
      assertThat(Scene.await(limiter.refundAsync(Scene.receipt(again)))).isFalse();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void lookWithAnIdRemembersNothing() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(2, 2, Duration.ofMinutes(1)));

    assertThat(scene.decide(rule, call("look").peeking()).allowed()).isTrue();
    assertThat(scene.decide(rule, call("look")).allowed()).isTrue();
    assertThat(scene.left(rule)).isZero();
  }

  @Test
  default void idThatWasRefundedIsDecidedAgain() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofHours(1))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Call call = Call.of("test", ANN).withId("back-" + limit.getClass().getSimpleName());
      Receipt first = Scene.receipt(scene.decide(rule, call));
      Scene.await(scene.limiter(rule).refundAsync(first));

      Decision again = scene.decide(rule, call);
      assertThat(again.balances().get(0).remaining()).as("%s", limit).isEqualTo(1);
      assertThat(scene.decide(rule, call).balances()).as("%s", limit).isEqualTo(again.balances());
      Scene.await(scene.limiter(rule).refundAsync(Scene.receipt(again)));
      scene.take(rule, 2);

      assertThat(scene.decide(rule, call).allowed()).as("%s: nothing is left", limit).isFalse();
    }
  }

  @Test
  default void idThatWasSettledForLessStands() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(5, Duration.ofHours(1)));
    Call call = Call.of("test", ANN).costing(4).withId("job-1");
    Scene.await(scene.limiter(rule).settleAsync(Scene.receipt(scene.decide(rule, call)), 1));

    assertThat(scene.decide(rule, call).allowed()).isTrue();
    assertThat(scene.left(rule)).isEqualTo(4);
  }
}
