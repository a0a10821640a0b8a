package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.BOB;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Plans of several accounts: taken whole, or nothing of them. */
public interface PlanContract {
  Scene scene();

  private static Identity member(String member, String ip) {
    return Identity.of("member", member, "ip", ip);
  }

  @Test
  default void everyIdentityOfARuleHasItsOwnAccount() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("promo")
            .by("member", "ip", "member+promo")
            .limit(Limit.slidingLog(3, Duration.ofSeconds(10)))
            .build();

    Decision decision = scene.take(rule, member("ann", "10.0.0.1").with("promo", "x"), 1);

    assertThat(scene.shown(decision))
        .isEqualTo(
            "allowed [promo:member=ann 2 of 3, reset 10s; promo:ip=10.0.0.1 2 of 3, reset 10s; "
                + "promo:member=ann&promo=x 2 of 3, reset 10s]");
  }

  @Test
  default void deniedPlanTakesNothing() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(3, Duration.ofSeconds(10))) {
      String name = "r" + limit.getClass().getSimpleName();
      Rule rule = Rule.builder(name).by("member", "ip").limit(limit).build();
      assertThat(scene.take(rule, member("ann", "10.0.0.1"), 2).allowed()).isTrue();

      Decision decision = scene.take(rule, member("bob", "10.0.0.1"), 2);

      assertThat(decision.allowed()).isFalse();
      assertThat(decision.deciding().orElseThrow().account())
          .isEqualTo(new Account(name, Identity.of("ip", "10.0.0.1")));
      assertThat(decision.balances().get(0).remaining()).isEqualTo(3);
      assertThat(decision.balances().get(0).fits()).isTrue();
      assertThat(decision.balances().get(1).remaining()).isEqualTo(1);
      assertThat(scene.take(rule, member("bob", "10.0.0.2"), 3).allowed()).isTrue();
      assertThat(scene.take(rule, member("cid", "10.0.0.1"), 1).allowed()).isTrue();
    }
  }

  @Test
  default void rulesOfOneCallAreTakenTogether() {
    Scene scene = scene();
    Rule burst =
        Rule.builder("burst")
            .by("member")
            .limit(Limit.tokenBucket(1, 1, Duration.ofSeconds(1)))
            .build();
    Rule daily =
        Rule.builder("daily").by("member").limit(Limit.fixedWindow(5, Duration.ofDays(1))).build();
    Limiter limiter = scene.limiter(burst, daily);
    Call both = Call.of(List.of("burst", "daily", "burst"), ANN);

    assertThat(scene.shown(limiter.decide(both)))
        .isEqualTo(
            "allowed [burst:member=ann 0 of 1, reset 1s; daily:member=ann 4 of 5, reset 14h]");
    assertThat(scene.shown(limiter.decide(both)))
        .isEqualTo(
            "denied [burst:member=ann 0 of 1, retry 1s, reset 1s; "
                + "daily:member=ann 4 of 5, reset 14h]");
  }

  @Test
  default void otherIdentitiesAndOtherRulesAreNotTouched() {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(2, Duration.ofSeconds(10))) {
      Rule rule = rule(limit);
      Rule other = Rule.builder("other").by("member").limit(limit).build();
      scene.reset(rule);
      scene.reset(other);

      assertThat(scene.take(rule, ANN, 2).allowed()).isTrue();

      assertThat(scene.shown(scene.peek(other, 2))).isEqualTo("allowed [2 of 2, reset 0s]");
      assertThat(scene.take(rule, Identity.of("member", limit.getClass().getName()), 2).allowed())
          .isTrue();
    }
  }

  @Test
  default void identitiesThatLookAlikeDoNotShareAnAccount() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("pair").by("a+b").limit(Limit.slidingLog(1, Duration.ofMinutes(1))).build();
    List<Identity> alike =
        List.of(
            Identity.of("a", "x&b=y", "b", "z"),
            Identity.of("a", "x", "b", "y&b=z"),
            Identity.of("a", "x_y", "b", "z"),
            Identity.of("a", "x", "b", "y_z"),
            Identity.of("a", "x:y", "b", "z"),
            Identity.of("a", "x", "b", "y:z"),
            Identity.of("a", "%78", "b", "z"),
            Identity.of("a", "x", "b", "z"),
            Identity.of("a", "{x}", "b", "z"),
            Identity.of("a", "X", "b", "z"),
            Identity.of("a", "x ", "b", "z"),
            Identity.of("a", "x".repeat(128), "b", "z"),
            Identity.of("a", "x".repeat(129), "b", "z"),
            Identity.of("a", "x".repeat(130), "b", "z"),
            Identity.of("a", "\uD83D\uDE00", "b", "z"));

    for (Identity identity : alike) {
      assertThat(scene.take(rule, identity, 1).allowed()).as("%s", identity).isTrue();
      assertThat(scene.take(rule, identity, 1).allowed()).as("%s", identity).isFalse();
    }
  }

  @Test
  default void costFitsOnlyIfItFitsEverywhere() {
    Scene scene = scene();
    Rule small =
        Rule.builder("small")
            .by("member")
            .limit(Limit.slidingLog(2, Duration.ofSeconds(5)))
            .build();
    Rule large =
        Rule.builder("large")
            .by("member")
            .limit(Limit.slidingLog(9, Duration.ofSeconds(5)))
            .build();
    Call both = Call.of(List.of("small", "large"), BOB).costing(3);

    assertThat(scene.shown(scene.limiter(small, large).decide(both)))
        .isEqualTo(
            "denied [small:member=bob 2 of 2, never, reset 0s; "
                + "large:member=bob 9 of 9, reset 0s]");
    assertThat(scene.shown(scene.limiter(small, large).decide(both.costing(2))))
        .isEqualTo(
            "allowed [small:member=bob 0 of 2, reset 5s; large:member=bob 7 of 9, reset 5s]");
  }
}
