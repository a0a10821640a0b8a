package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.await;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.IdReusedException;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Settlement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Costs by rule, and large ones. */
public interface CostsContract {
  Duration MINUTE = Duration.ofMinutes(1);

  Scene scene();

  private static Rule named(String name, Limit limit) {
    return Rule.builder(name).by("member").limit(limit).build();
  }

  private static Limiter limiter(Scene scene) {
    return scene.limiter(
        named("requests", Limit.fixedWindow(10, MINUTE)),
        named("tokens", Limit.slidingLog(1_000, MINUTE)));
  }

  private static Call both() {
    return Call.of(List.of("requests", "tokens"), ANN).costing("tokens", 400);
  }

  private static List<Long> left(Limiter limiter) {
    return limiter.decide(both().peeking()).balances().stream()
        .map(balance -> balance.remaining())
        .toList();
  }

  @Test
  default void eachRuleTakesItsOwnCost() {
    Limiter limiter = limiter(scene());

    assertThat(limiter.decide(both()).allowed()).isTrue();
    assertThat(left(limiter)).containsExactly(9L, 600L);
    assertThat(limiter.decide(both().costing(3)).allowed()).isTrue();
    assertThat(left(limiter)).containsExactly(6L, 200L);
  }

  @Test
  default void allOrNothing() {
    Limiter limiter = limiter(scene());
    limiter.decide(both());
    limiter.decide(both());

    assertThat(limiter.decide(both()).allowed()).isFalse();
    assertThat(left(limiter)).containsExactly(8L, 200L);
    assertThat(limiter.decide(both().costing("tokens", 200)).allowed()).isTrue();
    assertThat(left(limiter)).containsExactly(7L, 0L);
  }

  @Test
  default void costOfZeroByARuleTakesNothingThere() {
    Limiter limiter = limiter(scene());

    assertThat(limiter.decide(both().costing("tokens", 0)).allowed()).isTrue();
    assertThat(left(limiter)).containsExactly(9L, 1_000L);
  }

  @Test
  default void costByARuleThatTheCallDoesNotNameIsAnError() {
    assertThatThrownBy(() -> Call.of("requests", ANN).costing("tokens", 2))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("costs: rule 'tokens' (expected: a rule that the call names)");
    assertThatThrownBy(() -> both().costing("tokens", -1))
        .hasMessage("costs: tokens: -1 (expected: 0 to 2^52)");
  }

  @Test
  default void eachRuleIsSettledWithItsOwnCost() {
    Limiter limiter = limiter(scene());
    Receipt receipt = Scene.receipt(limiter.decide(both()));

    assertThat(
            await(limiter.settleAsync(receipt, Settlement.CONFIRMED.costing("tokens", 150))).done())
        .isTrue();

    assertThat(left(limiter)).containsExactly(9L, 850L);
  }

  @Test
  default void oneRuleIsRefundedWhileAnotherIsChargedMore() {
    Limiter limiter = limiter(scene());
    Receipt receipt = Scene.receipt(limiter.decide(both()));

    await(limiter.settleAsync(receipt, Settlement.of(0).costing("tokens", 500)));

    assertThat(left(limiter)).containsExactly(10L, 500L);
  }

  @Test
  default void settlingByARuleFromWhichTheCallerIsExemptDoesNothingThere() {
    Limiter limiter =
        scene()
            .limiter(
                named("requests", Limit.fixedWindow(10, MINUTE)),
                Rule.builder("tokens")
                    .by("member")
                    .limit(Limit.slidingLog(1_000, MINUTE))
                    .exempt(Map.of("member", "ann"))
                    .build());
    Settlement settlement = Settlement.CONFIRMED.costing("tokens", 500).costing("requests", 3);
    Receipt some = Scene.receipt(limiter.decide(both()));
    Receipt none =
        Scene.receipt(await(limiter.decideAsync(Call.of("tokens", ANN).costing("tokens", 400))));

    assertThat(await(limiter.settleAsync(some, settlement)).done()).isTrue();
    assertThat(left(limiter)).containsExactly(7L);
    assertThat(await(limiter.settleAsync(none, Settlement.CONFIRMED.costing("tokens", 5))).done())
        .isFalse();
  }

  @Test
  default void settlingByARuleThatTheCallDidNotNameIsAnErrorAndLeavesTheReceiptOpen() {
    Limiter limiter = limiter(scene());
    Receipt receipt = Scene.receipt(limiter.decide(Call.of("requests", ANN)));

    assertThatThrownBy(
            () -> limiter.settleAsync(receipt, Settlement.CONFIRMED.costing("tokens", 1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("costs: rule 'tokens' (expected: a rule of the receipt)");
    assertThat(await(limiter.refundAsync(receipt))).isTrue();
  }

  @Test
  default void costsAndIntentArePartOfAnIdsQuestion() {
    Limiter limiter = limiter(scene());
    limiter.decide(both().withId("x"));

    List<Call> others =
        List.of(both().costing("tokens", 401), both().costing("requests", 2), both().reserving());
    for (Call other : others) {
      assertThatThrownBy(() -> limiter.decide(other.withId("x")))
          .as("%s", other)
          .isInstanceOf(IdReusedException.class);
    }
    assertThat(limiter.decide(both().costing("requests", 1).withId("x")).allowed()).isTrue();
    assertThat(left(limiter)).containsExactly(9L, 600L);
  }

  @Test
  default void reservationWithAnIdIsTakenOnce() {
    Limiter limiter = limiter(scene());
    Call call = both().reserving().withId("r");
    Receipt first = Scene.receipt(limiter.decide(call));
    assertThat(Scene.receipt(limiter.decide(call))).isEqualTo(first);

    assertThat(await(limiter.refundAsync(first))).isTrue();

    assertThat(left(limiter)).containsExactly(10L, 1_000L);
    assertThat(limiter.decide(call).allowed()).as("judged again").isTrue();
    assertThat(left(limiter)).containsExactly(9L, 600L);
  }

  @Test
  default void millionOnASlidingLogIsOneEntry() {
    Scene scene = scene();
    Rule rule = rule(Limit.slidingLog(1_000_000, MINUTE));
    Receipt first = scene.receipt(rule, 999_999);
    scene.clock.advance(Duration.ofSeconds(10));
    scene.take(rule, 1);

    assertThat(scene.shown(scene.take(rule, 1_000_000)))
        .isEqualTo("denied [0 of 1000000, retry 1m, reset 1m]");
    assertThat(scene.shown(scene.take(rule, 5)))
        .isEqualTo("denied [0 of 1000000, retry 50s, reset 1m]");
    await(scene.limiter(rule).settleAsync(first, 100_000));
    assertThat(scene.left(rule)).isEqualTo(899_999);
    scene.clock.advance(MINUTE);
    assertThat(scene.shown(scene.take(rule, 1_000_000)))
        .isEqualTo("allowed [0 of 1000000, reset 1m]");
    assertThat(scene.record(rule, 1_000_000).balances().get(0).uncharged()).isEqualTo(1_000_000);
  }
}
