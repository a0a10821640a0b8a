package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.await;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is given back was really taken, once, and has not come back by itself. */
public interface ReceiptContract {
  Scene scene();

  @Test
  default void refundIsAvailableAgainOnce() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Limiter limiter = scene.limiter(rule);
      Receipt first = scene.receipt(rule, 3);
      scene.receipt(rule, 2);

      assertThat(await(limiter.refundAsync(first))).isTrue();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(3);
      assertThat(await(limiter.refundAsync(first))).isFalse();
      assertThat(await(limiter.settleAsync(first, 9))).isFalse();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(3);
    }
  }

  @Test
  default void settlingForLessRefundsTheRest() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(9, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Receipt receipt = scene.receipt(rule, 8);

      assertThat(await(scene.limiter(rule).settleAsync(receipt, 3))).isTrue();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(6);
      assertThat(await(scene.limiter(rule).refundAsync(receipt))).isFalse();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(6);
    }
  }

  @Test
  default void settledForTheSameChangesNothing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(9, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);

      assertThat(await(scene.limiter(rule).settleAsync(scene.receipt(rule, 4), 4))).isTrue();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(5);
    }
  }

  @Test
  default void settledForMoreIsRecordedEvenBeyondTheLimit() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(9, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Limiter limiter = scene.limiter(rule);

      await(limiter.settleAsync(scene.receipt(rule, 3), 5));
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(4);
      await(limiter.settleAsync(scene.receipt(rule, 1), 20));
      assertThat(scene.take(rule, 1).allowed()).as("%s", limit).isFalse();
    }
    Rule bucket = rule(Limit.tokenBucket(5, 1, Duration.ofSeconds(1)));
    scene.reset(bucket);
    await(scene.limiter(bucket).settleAsync(scene.receipt(bucket, 2), 9));
    assertThat(scene.shown(scene.peek(bucket, 1))).isEqualTo("denied [0 of 5, retry 5s, reset 9s]");
  }

  @Test
  default void whatCameBackByItselfIsNotGivenTwice() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(4, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Receipt old = scene.receipt(rule, 4);
      scene.clock.advance(Duration.ofSeconds(11));
      scene.receipt(rule, 4);

      await(scene.limiter(rule).refundAsync(old));

      assertThat(scene.left(rule)).as("%s", limit).isZero();
      scene.clock.advance(Duration.ofSeconds(19));
    }
  }

  @Test
  default void bucketReturnsAtMostWhatRefillsUntilItWouldBeFull() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(10, 10, Duration.ofSeconds(1)));
    Receipt receipt = scene.receipt(rule, 5);
    scene.clock.advance(Duration.ofMillis(300));
    assertThat(scene.shown(scene.take(rule, 8))).isEqualTo("allowed [0 of 10, reset 1s]");

    await(scene.limiter(rule).refundAsync(receipt));

    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("allowed [2 of 10, reset 800ms]");
  }

  @Test
  default void slidingWindowReturnsAsLongAsItStillCounts() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingWindow(4, Duration.ofSeconds(10), Duration.ofSeconds(1)));
    Receipt receipt = scene.receipt(rule, 4);
    scene.clock.advanceMicros(10_999_998);
    assertThat(scene.left(rule)).isZero();

    await(scene.limiter(rule).refundAsync(receipt));

    assertThat(scene.shown(scene.peek(rule, 4))).isEqualTo("allowed [4 of 4, reset 0s]");
  }

  @Test
  default void everyAccountOfThePlanIsSettled() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("both")
            .by("member", "ip")
            .limit(Limit.slidingLog(4, Duration.ofSeconds(10)))
            .build();
    Identity who = ANN.with("ip", "10.0.0.1");
    Receipt receipt = Scene.receipt(scene.take(rule, who, 4));
    assertThat(receipt.entries()).hasSize(2);

    await(scene.limiter(rule).settleAsync(receipt, 1));

    assertThat(scene.shown(scene.take(rule, who, 0)))
        .isEqualTo(
            "allowed [both:member=ann 3 of 4, reset 10s; both:ip=10.0.0.1 3 of 4, reset 10s]");
  }

  @Test
  default void receiptOfALookHoldsNothing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(4, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      scene.receipt(rule, 2);

      await(scene.limiter(rule).refundAsync(Scene.receipt(scene.peek(rule, 2))));
      await(scene.limiter(rule).refundAsync(Scene.receipt(scene.take(rule, 0))));

      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void recordedCallCannotBeRefunded() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(4, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      scene.receipt(rule, 1);
      Decision recorded = scene.record(rule, 2);
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(1);

      assertThat(await(scene.limiter(rule).refundAsync(Scene.receipt(recorded)))).isFalse();

      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(1);
    }
  }

  @Test
  default void givingBackOneCallLeavesTheOthersOfTheSameInstant() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(6, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Limiter limiter = scene.limiter(rule);
      Call call = Call.of("test", ANN).costing(2);
      Receipt first = Scene.receipt(limiter.decide(call.withId("a" + limit.hashCode())));
      limiter.decide(call.withId("b" + limit.hashCode()));

      await(limiter.settleAsync(first, 1));

      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(3);
    }
  }

  @Test
  default void callWhoseIdHasACommaIsRefunded() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(6, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Limiter limiter = scene.limiter(rule);
      for (String id : List.of("a,b", ",", ",,,", "a+b", "x!done!y", "{x}", "a@1", "a|b")) {
        Call call = Call.of("test", ANN).costing(4).withId(id + limit.hashCode());
        Receipt receipt = Scene.receipt(limiter.decide(call));
        assertThat(scene.left(rule)).as("%s %s", id, limit).isEqualTo(2);

        assertThat(await(limiter.refundAsync(receipt))).as("%s %s", id, limit).isTrue();
        assertThat(scene.left(rule)).as("%s %s", id, limit).isEqualTo(6);
        assertThat(await(limiter.refundAsync(receipt))).as("%s %s", id, limit).isFalse();
      }
    }
  }

  @Test
  default void receiptHasAnIdOfItsOwn() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingLog(9, Duration.ofSeconds(10)));
    Limiter limiter = scene.limiter(rule);
    Call call = Call.of("test", ANN);

    List<String> ids =
        List.of(
            Scene.receipt(limiter.decide(call)).id(),
            Scene.receipt(limiter.decide(call)).id(),
            Scene.receipt(limiter.decide(call.withId("a,b"))).id(),
            Scene.receipt(limiter.decide(call.withId("a"))).id());

    assertThat(ids).doesNotHaveDuplicates().allMatch(id -> id.matches("[0-9a-z]{1,40}"));
  }

  @Test
  default void actualCostMustBeACost() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingLog(1, Duration.ofSeconds(1)));
    Receipt receipt = scene.receipt(rule, 1);

    assertThatThrownBy(() -> scene.limiter(rule).settleAsync(receipt, -1))
        .hasMessage("actualCost: -1 (expected: 0 to 2^52)");
    assertThat(await(scene.limiter(rule).refundAsync(receipt))).isTrue();
  }
}
