package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.memory.MemoryStore;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a listener of a limiter hears, and on which thread. */
class ListenerTest {
  private static final Identity ANN = Identity.of("login", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("Login")
              .by("login")
              .limit(Limit.slidingLog(1, Duration.ofDays(1)))
              .exempt(Map.of("login", "root"))
              .build(),
          Rule.builder("Daily").by("login").limit(Limit.slidingLog(9, Duration.ofDays(1))).build());

  private final List<String> heard = new ArrayList<>();

  private final LimiterListener listener =
      new LimiterListener() {
        @Override
        public void decided(Rules rules, Call call, Decision decision, long nanos) {
          hear(call.rules() + (decision.allowed() ? " allowed" : " denied"));
        }

        @Override
        public void failed(Call call, Throwable error, long nanos) {
          hear(call.rules() + " failed: " + error.getMessage());
        }

        private void hear(String what) {
          heard.add(Thread.currentThread().getName() + " " + what);
        }
      };

  private final String here = Thread.currentThread().getName() + " ";

  private static Limiter limiter(MemoryStore memory, LimiterListener listener) {
    return Limiter.builder(answeringElsewhere(memory), RuleSource.fixed(RULES))
        .listener(listener)
        .build();
  }

  /** Like Redis: another thread has the answer. */
  private static ForwardingStore answeringElsewhere(MemoryStore memory) {
    return new ForwardingStore(memory) {
      @Override
      public CompletionStage<Decision> take(Plan plan) {
        return CompletableFuture.supplyAsync(
            () -> memory.decide(plan), task -> new Thread(task, "elsewhere").start());
      }
    };
  }

  @Test
  void hearsADecisionOnTheThreadThatWaitsForIt() {
    Limiter limiter = limiter(MemoryStore.create(), listener);

    limiter.decide("Login", ANN);
    limiter.decide(Call.of("Login", ANN));
    limiter.decide(Call.of(List.of("Login", "Daily"), ANN));
    limiter.decide("Login", Identity.of("login", "root"));

    assertThat(heard)
        .containsExactly(
            here + "[Login] allowed",
            here + "[Login] denied",
            here + "[Login, Daily] denied",
            here + "[Login] allowed");
  }

  @Test
  void hearsADecisionOnTheThreadThatAnswersBeforeTheStageIsComplete() throws Exception {
    MemoryStore memory = MemoryStore.create();
    CompletableFuture<Void> may = new CompletableFuture<>();
    Limiter limiter =
        Limiter.builder(
                new ForwardingStore(memory) {
                  @Override
                  public CompletionStage<Decision> take(Plan plan) {
                    return may.thenApply(now -> memory.decide(plan));
                  }
                },
                RuleSource.fixed(RULES))
            .listener(listener)
            .build();

    CompletableFuture<List<String>> heardThen =
        limiter
            .decideAsync("Login", ANN)
            .thenApply(decision -> List.copyOf(heard))
            .toCompletableFuture();
    new Thread(() -> may.complete(null), "elsewhere").start();

    assertThat(heardThen.get(10, TimeUnit.SECONDS)).containsExactly("elsewhere [Login] allowed");
  }

  @Test
  void hearsWhyACallCouldNotBeDecided() {
    IllegalStateException broken = new IllegalStateException("broken");
    Limiter limiter =
        Limiter.builder(
                new ForwardingStore(MemoryStore.create()) {
                  @Override
                  public CompletionStage<Decision> take(Plan plan) {
                    return CompletableFuture.failedFuture(broken);
                  }
                },
                RuleSource.fixed(RULES))
            .listener(listener)
            .build();

    assertThatThrownBy(() -> limiter.decide("Login", ANN)).isSameAs(broken);
    assertThatThrownBy(() -> limiter.decide("Login", Identity.none()))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(limiter.decideAsync("Login", ANN).toCompletableFuture()).isCompletedExceptionally();
    assertThatThrownBy(() -> limiter.decideAsync("Login", Identity.none()))
        .isInstanceOf(IllegalArgumentException.class);

    String lacking = here + "[Login] failed: rule 'Login': the call has no facets";
    assertThat(heard)
        .hasSize(4)
        .contains(here + "[Login] failed: broken")
        .satisfies(each -> assertThat(each.get(1)).startsWith(lacking))
        .satisfies(each -> assertThat(each.get(2)).isEqualTo(here + "[Login] failed: broken"))
        .satisfies(each -> assertThat(each.get(3)).startsWith(lacking));
  }

  @Test
  void listenerThatThrowsChangesNoDecisionAndHidesNothingFromOthers() {
    MemoryStore memory = MemoryStore.create();
    Limiter limiter =
        Limiter.builder(memory, RuleSource.fixed(RULES))
            .listener(
                (rules, call, decision, nanos) -> {
                  throw new IllegalStateException("a bug of the listener");
                })
            .listener(listener)
            .build();

    assertThat(limiter.decide("Login", ANN).allowed()).isTrue();
    assertThat(limiter.decideAsync("Login", ANN).toCompletableFuture().join().allowed()).isFalse();
    assertThat(heard).containsExactly(here + "[Login] allowed", here + "[Login] denied");
  }
}
