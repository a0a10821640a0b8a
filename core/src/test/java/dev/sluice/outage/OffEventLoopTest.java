package dev.sluice.outage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.Charge;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** On which thread a caller continues. */
class OffEventLoopTest {
  private static final Rule RULE =
      Rule.builder("r").by("member").limit(Limit.fixedWindow(2, Duration.ofDays(1))).build();
  private static final Plan PLAN =
      Plan.of(new Charge(RULE, Identity.of("member", "ann"), RULE.terms(), 1));

  private final CompletableFuture<Decision> later = new CompletableFuture<>();
  private final Handoff handoff = new Handoff();

  /** Answers when the test says so. */
  private final Store store =
      new ForwardingStore(MemoryStore.create()) {
        @Override
        public CompletionStage<Decision> take(Plan plan) {
          return later;
        }
      };

  private final Store wrapped = new OffEventLoop(store, handoff::run, handoff::close);

  @AfterEach
  void close() {
    wrapped.close();
  }

  private static Decision decision() {
    try (Store memory = MemoryStore.create()) {
      return memory.decide(PLAN);
    }
  }

  @Test
  void callerContinuesOffTheThreadThatAnswers() throws Exception {
    CompletableFuture<String> thread =
        wrapped
            .take(PLAN)
            .thenApply(decision -> Thread.currentThread().getName())
            .toCompletableFuture();
    later.complete(decision());

    assertThat(thread.get(10, TimeUnit.SECONDS)).isEqualTo("sluice-answers");
  }

  @Test
  void answerThatIsThereAtOnceNeedsNoOtherThread() {
    later.complete(decision());

    assertThat(wrapped.take(PLAN).toCompletableFuture()).isCompleted();
  }

  @Test
  void errorReachesTheCallerWithoutWrappers() {
    CompletableFuture<Decision> asked = wrapped.take(PLAN).toCompletableFuture();
    later.completeExceptionally(new IllegalStateException("the store is closed"));

    assertThatThrownBy(asked::join)
        .hasCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("the store is closed");
  }

  @Test
  void callerThatCancelsItsFutureLeavesTheCallOfTheStoreAlone() {
    CompletableFuture<Decision> asked = wrapped.take(PLAN).toCompletableFuture();
    asked.cancel(true);

    assertThat(later).isNotDone();
    assertThat(later.complete(decision())).isTrue();
    assertThat(asked).isCancelled();
  }
}
