package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.BOB;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Lock;
import dev.sluice.LockPage;
import dev.sluice.Rule;
import dev.sluice.Terms;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Special cases: shadow mode, overrides, exemptions, missing facets. */
public interface SpecialContract {
  Duration TEN = Duration.ofSeconds(10);

  Scene scene();

  private static Rule.Builder members(String name, long limit) {
    return Rule.builder(name).by("member").limit(Limit.slidingLog(limit, TEN));
  }

  @Test
  default void shadowRuleCountsAndReportsAndNeverStandsInTheWay() {
    Scene scene = scene();
    Rule rule = members("test", 1).shadow().lock(Duration.ofHours(1)).build();

    assertThat(scene.shown(scene.take(rule, 1))).isEqualTo("allowed [shadow 0 of 1, reset 10s]");
    Decision second = scene.take(rule, 1);
    assertThat(second.allowed()).isTrue();
    assertThat(second.shadowDenials()).containsExactly("test");
    assertThat(second.retryAfter()).contains(Duration.ZERO);
    assertThat(second.restrictedUntil()).isEmpty();
  }

  @Test
  default void deniedCallCountsNothingOnShadowRules() {
    Scene scene = scene();
    Rule hard = members("hard", 1).build();
    Rule shadow = members("shadow", 5).shadow().build();
    Limiter limiter = scene.limiter(hard, shadow);
    Call both = Call.of(List.of("hard", "shadow"), ANN);

    assertThat(scene.shown(limiter.decide(both)))
        .isEqualTo(
            "allowed [hard:member=ann 0 of 1, reset 10s; "
                + "shadow:member=ann shadow 4 of 5, reset 10s]");
    assertThat(scene.shown(limiter.decide(both)))
        .isEqualTo(
            "denied [hard:member=ann 0 of 1, retry 10s, reset 10s; "
                + "shadow:member=ann shadow 4 of 5, reset 10s]");
  }

  @Test
  default void shadowRuleWithoutRoomTakesNothingWhileTheOthersAreTaken() {
    Scene scene = scene();
    Rule hard = members("hard", 9).build();
    Rule shadow =
        Rule.builder("shadow").by("member", "ip").limit(Limit.slidingLog(1, TEN)).shadow().build();
    Limiter limiter = scene.limiter(hard, shadow);
    List<String> both = List.of("hard", "shadow");
    limiter.decide(Call.of(both, ANN.with("ip", "10.0.0.1")));

    Decision second = limiter.decide(Call.of(both, BOB.with("ip", "10.0.0.1")));

    assertThat(scene.shown(second))
        .isEqualTo(
            "allowed [hard:member=bob 8 of 9, reset 10s; "
                + "shadow:member=bob shadow 1 of 1, reset 0s; "
                + "shadow:ip=10.0.0.1 shadow 0 of 1, retry 10s, reset 10s]");
  }

  @Test
  default void overrideGivesOneIdentityOtherTermsUntilItEnds() {
    Scene scene = scene();
    Rule rule =
        members("test", 2)
            .override(
                Map.of("member", "ann"),
                Scene.START.plusSeconds(5),
                Terms.of(Limit.slidingLog(4, TEN)))
            .build();

    assertThat(scene.shown(scene.take(rule, ANN, 3))).isEqualTo("allowed [1 of 4, reset 10s]");
    assertThat(scene.shown(scene.take(rule, BOB, 3))).isEqualTo("denied [2 of 2, never, reset 0s]");
    scene.clock.advanceMicros(4_999_999);
    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("allowed [1 of 4, reset 5s1us]");
    scene.clock.advanceMicros(1);
    assertThat(scene.shown(scene.peek(rule, 1))).isEqualTo("denied [0 of 2, retry 5s, reset 5s]");
    scene.clock.advance(Duration.ofSeconds(5));
    assertThat(scene.shown(scene.take(rule, ANN, 2))).isEqualTo("allowed [0 of 2, reset 10s]");
  }

  @Test
  default void firstMatchingOverrideHolds() {
    Scene scene = scene();
    Rule rule =
        members("test", 1)
            .override(
                Map.of("member", "ann", "plan", "pro"), null, Terms.of(Limit.slidingLog(3, TEN)))
            .override(Map.of("member", "ann"), null, Terms.of(Limit.slidingLog(2, TEN)))
            .build();

    assertThat(scene.shown(scene.take(rule, ANN.with("plan", "pro"), 1)))
        .isEqualTo("allowed [2 of 3, reset 10s]");
    assertThat(scene.shown(scene.take(rule, ANN, 1))).isEqualTo("allowed [0 of 2, reset 10s]");
    assertThat(scene.shown(scene.take(rule, BOB, 1))).isEqualTo("allowed [0 of 1, reset 10s]");
  }

  @Test
  default void exemptIdentityIsNotCountedAtAll() {
    Scene scene = scene();
    Rule rule = members("test", 1).exempt(Map.of("member", "ann")).build();

    for (int i = 0; i < 3; i++) {
      Decision decision = scene.take(rule, ANN, 1);
      assertThat(scene.shown(decision)).isEqualTo("allowed []");
      assertThat(decision.retryAfter()).contains(Duration.ZERO);
      assertThat(Scene.await(scene.limiter(rule).refundAsync(Scene.receipt(decision)))).isFalse();
    }
    assertThat(scene.take(rule, BOB, 1).allowed()).isTrue();
    assertThat(scene.take(rule, BOB, 1).allowed()).isFalse();
  }

  @Test
  default void missingFacetIsAnErrorUnlessTheRuleSkipsIt() {
    Scene scene = scene();
    Rule strict = Rule.builder("strict").by("member", "ip").limit(Limit.slidingLog(1, TEN)).build();
    Rule lenient =
        Rule.builder("lenient")
            .by("member", "ip")
            .limit(Limit.slidingLog(1, TEN))
            .missing(Rule.Missing.SKIP)
            .build();

    assertThatThrownBy(() -> scene.take(strict, ANN, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("rule 'strict': the call has only [member] (expected: member, ip)");
    assertThat(scene.shown(scene.take(lenient, ANN, 1))).isEqualTo("allowed [0 of 1, reset 10s]");
    assertThat(scene.take(lenient, ANN, 1).allowed()).isFalse();
    assertThat(scene.shown(scene.take(lenient, Identity.of("apiKey", "k"), 1)))
        .isEqualTo("allowed []");
    assertThat(scene.shown(scene.take(strict, ANN.with("ip", "10.0.0.1"), 1)))
        .startsWith("allowed");
  }

  @Test
  default void everyoneIsOneAccountForAllCallers() {
    Scene scene = scene();
    Rule rule = Rule.builder("all").by("everyone").limit(Limit.slidingLog(3, TEN)).build();

    assertThat(scene.shown(scene.take(rule, ANN, 1))).isEqualTo("allowed [2 of 3, reset 10s]");
    assertThat(scene.take(rule, BOB, 1).allowed()).isTrue();
    assertThat(scene.shown(scene.take(rule, Identity.none(), 1)))
        .isEqualTo("allowed [0 of 3, reset 10s]");
    assertThat(scene.take(rule, ANN, 1).allowed()).isFalse();
  }

  @Test
  default void everyoneStandsBesideOtherIdentities() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("both").by("everyone", "member").limit(Limit.slidingLog(2, TEN)).build();

    assertThat(scene.shown(scene.take(rule, ANN, 1)))
        .isEqualTo(
            "allowed [both:everyone=all 1 of 2, reset 10s; both:member=ann 1 of 2, reset 10s]");
    assertThat(scene.take(rule, BOB, 1).allowed()).isTrue();
    assertThat(scene.take(rule, BOB, 1).allowed()).as("two of two together").isFalse();
  }

  @Test
  default void exemptCallerIsNotCountedWithEveryone() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("all")
            .by("everyone")
            .limit(Limit.slidingLog(1, TEN))
            .exempt(Map.of("member", "ann"))
            .build();

    assertThat(scene.shown(scene.take(rule, ANN, 1))).isEqualTo("allowed []");
    assertThat(scene.take(rule, BOB, 1).allowed()).isTrue();
    assertThat(scene.take(rule, Identity.none(), 1).allowed()).isFalse();
  }

  @Test
  default void lockOfEveryoneIsListedAndLiftedWithoutFreeingOneCaller() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("both")
            .by("everyone", "member")
            .limit(Limit.slidingLog(1, TEN))
            .lock(Lock.of(TEN).onLimit())
            .build();
    Limiter limiter = scene.limiter(rule);
    scene.take(rule, ANN, 1);

    LockPage locks = Scene.await(limiter.locksAsync("both", 10, null));
    assertThat(locks.locks())
        .extracting(lock -> lock.account().identity().toString())
        .containsExactlyInAnyOrder("everyone=all", "member=ann");
    assertThat(Scene.await(limiter.liftAsync("both", ANN))).isTrue();
    assertThat(scene.take(rule, BOB, 1).allowed()).as("everyone is still locked").isFalse();
    assertThat(Scene.await(limiter.liftAsync("both", Identity.parse("everyone=all")))).isTrue();
    assertThat(scene.take(rule, BOB, 1).allowed()).isTrue();
    assertThat(Scene.await(limiter.liftAsync("both", Identity.none()))).as("by no facets").isTrue();
  }

  @Test
  default void overrideForARangeHoldsForEachAddressOnItsOwnAccount() {
    Scene scene = scene();
    Rule rule =
        Rule.builder("test")
            .by("ip")
            .limit(Limit.slidingLog(1, TEN))
            .override(Map.of("ip", "10.0.0.0/8"), null, Terms.of(Limit.slidingLog(2, TEN)))
            .build();

    for (String ip : List.of("10.0.0.1", "10.255.0.9")) {
      Identity caller = Identity.of("ip", ip);
      assertThat(scene.shown(scene.take(rule, caller, 1))).isEqualTo("allowed [1 of 2, reset 10s]");
      assertThat(scene.take(rule, caller, 1).allowed()).isTrue();
      assertThat(scene.take(rule, caller, 1).allowed()).isFalse();
    }
    assertThat(scene.shown(scene.take(rule, Identity.of("ip", "11.0.0.1"), 1)))
        .isEqualTo("allowed [0 of 1, reset 10s]");
  }

  @Test
  default void ruleWithoutByCountsEveryFacetOnItsOwn() {
    Scene scene = scene();
    Rule rule = Rule.builder("any").limit(Limit.slidingLog(1, TEN)).build();

    assertThat(scene.shown(scene.take(rule, ANN.with("ip", "10.0.0.1"), 1)))
        .isEqualTo("allowed [any:ip=10.0.0.1 0 of 1, reset 10s; any:member=ann 0 of 1, reset 10s]");
    assertThat(scene.take(rule, BOB.with("ip", "10.0.0.1"), 1).allowed()).isFalse();
    assertThat(scene.take(rule, BOB, 1).allowed()).isTrue();
    assertThatThrownBy(() -> scene.take(rule, Identity.of("member", ""), 1))
        .hasMessage("rule 'any': the call has no facets (expected: at least one facet)");
  }
}
