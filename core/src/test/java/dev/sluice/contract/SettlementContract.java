package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.await;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A receipt is settled once, while something of it is left. */
public interface SettlementContract {
  Duration TEN_MINUTES = Duration.ofMinutes(10);

  Scene scene();

  /** Where the horizon of a receipt that is taken now ends. */
  private static long horizon(Scene scene, Rule rule) {
    return rule.terms().horizonMicros(scene.clock.micros());
  }

  @Test
  default void nothingIsRefundedAfterTheHorizon() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, TEN_MINUTES)) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Receipt early = scene.receipt(rule, 1);
      Receipt late = scene.receipt(rule, 1);
      scene.clock.advanceMicros(horizon(scene, rule) - 1);
      assertThat(await(scene.limiter(rule).refundAsync(early))).as("%s", limit).isTrue();
      scene.clock.advanceMicros(1);
      scene.take(rule, 3);

      for (Settlement each :
          List.of(Settlement.GIVEN_BACK, Settlement.CONFIRMED, Settlement.of(1))) {
        assertThat(await(scene.limiter(rule).settleAsync(late, each)))
            .as("%s", limit)
            .isEqualTo(Settled.NOT_DONE);
      }
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void settlementAboveTheEstimateIsRecordedAfterTheHorizonToo() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, TEN_MINUTES)) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Receipt receipt = scene.receipt(rule, 1);
      scene.clock.advanceMicros(2 * horizon(scene, rule));

      assertThat(await(scene.limiter(rule).settleAsync(receipt, Settlement.of(3))))
          .as("%s", limit)
          .isEqualTo(new Settled(true, Map.of()));
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(3);
      scene.clock.advanceMicros(9_999_999);
      assertThat(await(scene.limiter(rule).settleAsync(receipt, 3)))
          .as("%s: again", limit)
          .isFalse();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(3);
    }
  }

  @Test
  default void receiptDoesNotSurviveAReset() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, TEN_MINUTES)) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Receipt old = scene.receipt(rule, 3);
      scene.clock.advanceMicros(1);
      scene.reset(rule);
      scene.clock.advanceMicros(1);
      scene.take(rule, 3);
      Receipt fresh = scene.receipt(rule, 1);

      await(scene.limiter(rule).refundAsync(old));

      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(1);
      await(scene.limiter(rule).refundAsync(fresh));
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void receiptDoesNotSurviveTheLiftingOfALock() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, TEN_MINUTES)) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Receipt old = scene.receipt(rule, 3);
      await(scene.limiter(rule).lockAsync("test", ANN, Duration.ofMinutes(1), "by hand"));
      scene.clock.advanceMicros(1);
      await(scene.limiter(rule).liftAsync("test", ANN));
      scene.clock.advanceMicros(1);
      scene.take(rule, 3);

      await(scene.limiter(rule).refundAsync(old));

      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(2);
    }
  }

  @Test
  default void idRefundedAfterAResetIsStillDecidedAgain() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(5, TEN_MINUTES));
    Limiter limiter = scene.limiter(rule);
    Call call = Call.of("test", ANN).costing(2).withId("x");
    Receipt receipt = Scene.receipt(limiter.decide(call));
    scene.clock.advanceMicros(1);
    scene.reset(rule);
    await(limiter.refundAsync(receipt));

    limiter.decide(call);

    assertThat(scene.left(rule)).isEqualTo(3);
  }

  @Test
  default void idWhoseCallWasOnlyPartlyRefundedStands() {
    Scene scene = scene();
    Limiter limiter =
        scene.limiter(
            Rule.builder("a").by("member").limit(Limit.fixedWindow(5, TEN_MINUTES)).build(),
            Rule.builder("b").by("member").limit(Limit.fixedWindow(5, TEN_MINUTES)).build());
    Call call = Call.of(List.of("a", "b"), ANN).withId("x");
    Receipt receipt = Scene.receipt(limiter.decide(call));
    await(limiter.settleAsync(receipt, Settlement.CONFIRMED.costing("a", 0)));

    assertThat(Scene.receipt(limiter.decide(call))).isEqualTo(receipt);
    assertThat(limiter.decide(call.peeking()).balances())
        .extracting(balance -> balance.remaining())
        .containsExactly(5L, 4L);
  }

  @Test
  default void receiptOfAFirstJudgementLeavesTheSecondAlone() {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(5, TEN_MINUTES));
    Limiter limiter = scene.limiter(rule);
    Call call = Call.of("test", ANN).withId("x");
    Receipt first = Scene.receipt(limiter.decide(call));
    await(limiter.refundAsync(first));
    scene.clock.advanceMicros(1);
    limiter.decide(call);

    assertThat(await(limiter.refundAsync(first))).isFalse();
    limiter.decide(call);

    assertThat(scene.left(rule)).isEqualTo(4);
  }

  @Test
  default void settledByManyAtOnceItIsSettledOnce() throws InterruptedException {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(9, TEN_MINUTES)) {
      Rule rule = rule(limit);
      scene.reset(rule);
      scene.take(rule, 4);
      Receipt receipt = scene.receipt(rule, 2);
      Limiter limiter = scene.limiter(rule);
      AtomicInteger done = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        threads.add(
            new Thread(() -> done.addAndGet(await(limiter.refundAsync(receipt)) ? 1 : 0), "s" + i));
      }
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }

      assertThat(done).as("%s", limit).hasValue(1);
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(5);
    }
  }

  @Test
  default void confirmedTakeStands() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, TEN_MINUTES)) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Receipt receipt = scene.receipt(rule, 2);

      assertThat(await(scene.limiter(rule).settleAsync(receipt, Settlement.CONFIRMED)))
          .isEqualTo(new Settled(true, Map.of()));
      assertThat(await(scene.limiter(rule).refundAsync(receipt))).as("%s", limit).isFalse();
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(3);
    }
  }
}
