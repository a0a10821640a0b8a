package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class PolledRulesTest {
  private static final Duration OFTEN = Duration.ofMillis(2);
  private static final Duration LONG = Duration.ofSeconds(10);

  private static Rules rules(int limit) {
    return RuleFiles.parse("backend.yaml", FileRulesTest.text(limit));
  }

  @Test
  void changeOfTheBackendIsFetched() {
    AtomicInteger limit = new AtomicInteger(1);
    try (PolledRules source = PolledRules.every(OFTEN, () -> rules(limit.get()))) {
      assertThat(source.rules()).isEqualTo(rules(1));

      limit.set(2);

      Until.within(LONG, "limit 2", () -> source.rules().equals(rules(2)));
      assertThat(source.failure()).isEmpty();
    }
  }

  @Test
  void lastGoodRulesHoldWhileTheBackendFailsAndItSaysSinceWhen() {
    AtomicReference<Supplier<Rules>> backend = new AtomicReference<>(() -> rules(1));
    Instant before = Instant.now();
    try (PolledRules source = PolledRules.every(OFTEN, () -> backend.get().get())) {
      backend.set(
          () -> {
            throw new IllegalStateException("connection refused");
          });
      Until.within(LONG, "failing", () -> source.failure().isPresent());

      RuleSource.Failure failure = source.failure().orElseThrow();
      assertThat(failure.message())
          .isEqualTo("java.lang.IllegalStateException: connection refused");
      assertThat(failure.since()).isBetween(before, Instant.now());
      assertThat(source.rules()).isEqualTo(rules(1));

      backend.set(() -> rules(0));
      Until.within(
          LONG,
          "another mistake",
          () -> source.failure().orElseThrow().message().contains("limit is 0"));
      assertThat(source.failure().orElseThrow().since()).isEqualTo(failure.since());

      backend.set(() -> null);
      Until.within(
          LONG, "nothing", () -> source.failure().orElseThrow().message().contains("rules of"));
      assertThat(source.rules()).isEqualTo(rules(1));

      backend.set(() -> rules(3));
      Until.within(LONG, "good again", () -> source.failure().isEmpty());
      assertThat(source.rules()).isEqualTo(rules(3));
    }
  }

  @Test
  void backendThatIsAwayAtTheStartIsAnErrorUnlessThereAreRulesToBeginWith() {
    Supplier<Rules> away =
        () -> {
          throw new IllegalStateException("connection refused");
        };

    assertThatThrownBy(() -> PolledRules.every(OFTEN, away)).hasMessage("connection refused");
    try (PolledRules source = PolledRules.every(OFTEN, away, rules(1))) {
      assertThat(source.rules()).isEqualTo(rules(1));
      assertThat(source.failure()).isPresent();
    }
  }

  @Test
  void closingEndsTheThreadEvenIfTheBackendHangs() throws InterruptedException {
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    PolledRules source =
        PolledRules.every(
            OFTEN,
            () -> {
              if (calls.incrementAndGet() > 1) {
                try {
                  hangs.countDown();
                  new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                  ended.countDown();
                }
              }
              return rules(1);
            });
    hangs.await();

    source.close();

    ended.await();
    assertThat(source.failure()).isEmpty();
  }

  @Test
  void intervalHasToBePositive() {
    assertThatThrownBy(() -> PolledRules.every(Duration.ZERO, () -> rules(1)))
        .hasMessageStartingWith("interval: PT0S (expected: 1ms to ");
  }
}
