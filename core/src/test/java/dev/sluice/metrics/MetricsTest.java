package dev.sluice.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Decision.CountedBy;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import dev.sluice.metrics.Metrics.Count;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class MetricsTest {
  private static final Identity ANN = Identity.of("login", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("Login")
              .by("login")
              .limit(Limit.slidingLog(1, Duration.ofMinutes(1)))
              .lock(Duration.ofMinutes(5))
              .build(),
          Rule.builder("Daily").by("login").limit(Limit.slidingLog(9, Duration.ofDays(1))).build(),
          Rule.builder("Trial")
              .by("login")
              .limit(Limit.slidingLog(1, Duration.ofHours(1)))
              .shadow()
              .build());

  @Test
  void everyRuleOfACallCountsItOnceWithTheOutcomeOfTheCall() {
    try (Limiter limiter = Limiter.owning(MemoryStore.create(), RULES)) {
      Call call = Call.of(List.of("Login", "Daily"), ANN);

      assertThat(counts(call, limiter.decide(call)))
          .containsExactly(
              new Count("sluice.decisions", "Login", "allowed", "store", false),
              new Count("sluice.decisions", "Daily", "allowed", "store", false));
      assertThat(counts(call, limiter.decide(call)))
          .containsExactly(
              new Count("sluice.decisions", "Login", "denied", "store", true),
              new Count("sluice.decisions", "Daily", "denied", "store", true));
    }
  }

  @Test
  void ruleThatIsNamedTwiceTakesOnceAndCountsOnce() {
    try (Limiter limiter = Limiter.owning(MemoryStore.create(), RULES)) {
      Call call = Call.of(List.of("Daily", "Trial", "Daily", "Trial"), ANN);
      Decision decision = limiter.decide(call);

      assertThat(decision.balances()).extracting(Balance::remaining).containsExactly(8L, 0L);
      assertThat(counts(call, decision))
          .containsExactly(
              new Count("sluice.decisions", "Daily", "allowed", "store", false),
              new Count("sluice.shadow.decisions", "Trial", "allowed", "store", false));
    }
  }

  @Test
  void ruleInShadowIsCountedApartWithWhatItWouldHaveDecided() {
    try (Limiter limiter = Limiter.owning(MemoryStore.create(), RULES)) {
      Call call = Call.of(List.of("Daily", "Trial"), ANN);
      limiter.decide(call);

      assertThat(counts(call, limiter.decide(call)))
          .containsExactly(
              new Count("sluice.decisions", "Daily", "allowed", "store", false),
              new Count("sluice.shadow.decisions", "Trial", "denied", "store", false));
    }
  }

  @Test
  void whatNobodyCountedIsUnmeteredWhetherItPassesOrNot() {
    Call call = Call.of(List.of("Daily", "Trial"), ANN);

    for (boolean allowed : new boolean[] {true, false}) {
      assertThat(counts(call, new Decision.Unmetered(allowed, "no answer")))
          .containsExactly(
              new Count("sluice.decisions", "Daily", "unmetered", "none", false),
              new Count("sluice.shadow.decisions", "Trial", "unmetered", "none", false));
    }
  }

  @Test
  void replicaCountsAsTheStore() {
    assertThat(Arrays.stream(CountedBy.values()).map(Metrics::countedBy))
        .containsExactly("store", "store", "cache", "local", "none");
  }

  private static List<Count> counts(Call call, Decision decision) {
    return Metrics.counts(RULES, call.rules(), decision);
  }
}
