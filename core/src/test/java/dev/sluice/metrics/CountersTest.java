package dev.sluice.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import dev.sluice.metrics.Metrics.Count;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CountersTest {
  private static final Rule LOGIN =
      Rule.builder("Login")
          .by("login")
          .limit(Limit.slidingLog(1, Duration.ofDays(1)))
          .lock(Duration.ofDays(2))
          .build();
  private static final Rule DAILY =
      Rule.builder("Daily").by("login").limit(Limit.slidingLog(2, Duration.ofDays(1))).build();
  private static final Rules RULES = Rules.of(LOGIN, DAILY);
  private static final Rules IN_SHADOW = Rules.of(LOGIN.toBuilder().shadow().build(), DAILY);
  private static final List<List<String>> NAMES =
      List.of(List.of("Login"), List.of("Daily"), List.of("Login", "Daily", "Login"));

  private final List<Count> made = new ArrayList<>();
  private final Counters<Count> counters =
      new Counters<>(
          count -> {
            made.add(count);
            return count;
          });

  @Test
  void countersOfADecisionAreThoseOfItsCounts() {
    for (int round = 0; round < 3; round++) {
      for (Rules rules : List.of(RULES, IN_SHADOW)) {
        Limiter limiter = Limiter.of(MemoryStore.create(), RuleSource.fixed(rules));
        for (int i = 0; i < 5; i++) {
          for (List<String> names : NAMES) {
            Call call = Call.of(names, Identity.of("login", "ann" + names.size()));
            Decision decision = limiter.decide(call);
            for (Decision each : otherwise(decision)) {
              List<Count> counted = new ArrayList<>();

              counters.of(rules, call, each, counted::add);

              assertThat(counted).isEqualTo(Metrics.counts(rules, names, each));
            }
          }
        }
      }
    }
    assertThat(made).doesNotHaveDuplicates();
  }

  /** The decision, and what else could have been decided. */
  private static List<Decision> otherwise(Decision decision) {
    List<Decision> all = new ArrayList<>(List.of(decision));
    for (Decision.CountedBy by : Decision.CountedBy.values()) {
      all.add(new Decision.Denied(decision.balances(), by));
      all.add(
          Decision.Allowed.of(
              decision.balances(),
              by,
              () -> {
                throw new AssertionError("nobody asks for a receipt");
              }));
    }
    all.add(new Decision.Unmetered(true, "no answer"));
    all.add(new Decision.Unmetered(false, "no answer"));
    return all;
  }

  @Test
  void ruleThatIsNotInForceCountsAsEnforced() {
    Call call = Call.of("Gone", Identity.of("login", "ann"));
    List<Count> counted = new ArrayList<>();

    counters.of(RULES, call, new Decision.Unmetered(true, "no answer"), counted::add);

    assertThat(counted)
        .containsExactly(new Count("sluice.decisions", "Gone", "unmetered", "none", false));
  }
}
