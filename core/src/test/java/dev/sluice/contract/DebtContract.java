package dev.sluice.contract;

import static dev.sluice.contract.Scene.await;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How far below empty a limit can be recorded, and what is answered about the rest. */
public interface DebtContract {
  Duration SECOND = Duration.ofSeconds(1);

  Scene scene();

  private static long uncharged(Decision decision) {
    return decision.balances().get(0).uncharged();
  }

  @Test
  default void bucketGoesIntoDebtByOneCapacityUnlessItsRuleSaysOtherwise() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(5, 1, SECOND));

    assertThat(uncharged(scene.record(rule, 8))).isZero();
    assertThat(uncharged(scene.record(rule, 8))).isEqualTo(6);
    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("denied [0 of 5, retry 6s, reset 10s]");
    scene.clock.advance(SECOND);
    assertThat(uncharged(scene.record(rule, 1))).isZero();
    assertThat(uncharged(scene.record(rule, 1))).isEqualTo(1);
  }

  @Test
  default void bucketOfItsOwnDebtGoesThatDeep() {
    Scene scene = scene();
    Rule deep = rule(Limit.tokenBucket(5, 1, SECOND).withDebt(100));
    assertThat(uncharged(scene.record(deep, 105))).isZero();
    assertThat(scene.shown(scene.peek(deep, 1)))
        .isEqualTo("denied [0 of 5, retry 1m41s, reset 1m45s]");

    Rule none = rule(Limit.tokenBucket(5, 1, SECOND).withDebt(0));
    scene.reset(none);
    assertThat(uncharged(scene.record(none, 7))).isEqualTo(2);
    assertThat(scene.shown(scene.peek(none, 1))).isEqualTo("denied [0 of 5, retry 1s, reset 5s]");
  }

  @Test
  default void partOfATokenThatCouldNotBeChargedCountsAsOne() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(5, 1, SECOND).withDebt(0));
    scene.take(rule, 5);
    scene.clock.advance(Duration.ofMillis(1_500));

    assertThat(uncharged(scene.record(rule, 3))).isEqualTo(2);
    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("denied [0 of 5, retry 1s, reset 5s]");
  }

  @Test
  default void takesNeverGoIntoDebt() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(5, 1, SECOND).withDebt(100));

    assertThat(scene.passing(rule, 50)).isEqualTo(5);
    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("denied [0 of 5, retry 1s, reset 5s]");
  }

  @Test
  default void logsAndWindowsAreAtMostFullyUsed() {
    Scene scene = scene();
    for (Limit limit : Scene.everyWindow(5, Duration.ofMinutes(1))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      scene.take(rule, 3);

      assertThat(uncharged(scene.record(rule, 2))).as("%s", limit).isZero();
      assertThat(uncharged(scene.record(rule, 4))).as("%s", limit).isEqualTo(4);
      assertThat(uncharged(scene.record(rule, Limit.LARGEST)))
          .as("%s", limit)
          .isEqualTo(Limit.LARGEST);
      assertThat(scene.left(rule)).as("%s", limit).isZero();
      scene.clock.advance(Duration.ofSeconds(67));
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(5);
      scene.clock.set(Scene.START);
      scene.reset(rule);
    }
  }

  @Test
  default void recordPushesOutTheOldest() {
    Scene scene = scene();
    for (Limit limit : Scene.everySlidingKind(5, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      scene.clock.set(Scene.START);
      scene.reset(rule);
      scene.take(rule, 3);
      scene.clock.advance(Duration.ofSeconds(5));
      scene.record(rule, 4);
      scene.clock.set(Scene.START.plusSeconds(11));

      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(1);
      scene.clock.set(Scene.START.plusSeconds(16));
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(5);
    }
  }

  @Test
  default void settlementAnswersWhatCouldNotBeCharged() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(5, Duration.ofMinutes(1))) {
      Rule rule = rule(limit);
      scene.reset(rule);

      Settled settled =
          await(scene.limiter(rule).settleAsync(scene.receipt(rule, 3), Settlement.of(20)));

      long room = 2 + Scene.debt(limit);
      assertThat(settled)
          .as("%s", limit)
          .isEqualTo(new Settled(true, Map.of(rule.name(), 17 - room)));
      assertThat(scene.left(rule)).as("%s", limit).isZero();
    }
  }

  @Test
  default void unchargedOfASettlementIsTheMostOfALimitAndTheSumOfTheAccounts() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("both")
            .by("member", "ip")
            .limit(Limit.fixedWindow(5, Duration.ofHours(1)))
            .limit(Limit.slidingLog(8, Duration.ofHours(1)))
            .build();
    Decision taken = scene.take(rule, Scene.ANN.with("ip", "10.0.0.1"), 2);

    assertThat(await(scene.limiter(rule).settleAsync(Scene.receipt(taken), Settlement.of(10))))
        .isEqualTo(new Settled(true, Map.of("both", 10L)));
  }

  @Test
  default void unchargedOfASettlementIsReportedByRule() {
    Scene scene = scene();
    Limiter limiter =
        scene.limiter(
            Rule.builder("few")
                .by("member", "ip")
                .limit(Limit.fixedWindow(5, Duration.ofHours(1)))
                .build(),
            Rule.builder("some")
                .by("member")
                .limit(Limit.slidingLog(8, Duration.ofHours(1)))
                .build(),
            Rule.builder("many")
                .by("member")
                .limit(Limit.fixedWindow(90, Duration.ofHours(1)))
                .build());
    Call call =
        Call.of(List.of("few", "some", "many"), Scene.ANN.with("ip", "10.0.0.1")).costing(2);

    Settled settled =
        await(limiter.settleAsync(Scene.receipt(limiter.decide(call)), Settlement.of(11)));

    assertThat(settled).isEqualTo(new Settled(true, Map.of("few", 12L, "some", 3L)));
    assertThat(settled.uncharged()).isEqualTo(15);
  }

  @Test
  default void debtIsPaidBackBeforeAnythingPasses() {
    Scene scene = scene();
    Rule rule = rule(Limit.tokenBucket(2, 1, SECOND));
    scene.record(rule, 4);
    for (int i = 0; i < 2; i++) {
      scene.clock.advance(SECOND);
      assertThat(scene.take(rule, 1).allowed()).isFalse();
    }
    scene.clock.advance(SECOND);

    assertThat(scene.take(rule, 1).allowed()).isTrue();
  }
}
