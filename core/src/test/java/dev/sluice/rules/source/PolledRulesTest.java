package dev.sluice.rules.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.Until;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

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

  /** What no backend should throw, and the message that it gives. */
  static Stream<Arguments> thrown() {
    return Stream.of(
        Arguments.of(new OutOfMemoryError("heap"), "java.lang.OutOfMemoryError: heap"),
        Arguments.of(new StackOverflowError(), "java.lang.StackOverflowError"),
        Arguments.of(new NoClassDefFoundError("a/B"), "java.lang.NoClassDefFoundError: a/B"),
        Arguments.of(new AssertionError("never"), "java.lang.AssertionError: never"),
        Arguments.of(new IOException("reset"), "java.io.IOException: reset"),
        Arguments.of(new InterruptedException("stop"), "java.lang.InterruptedException: stop"));
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void errorOrCheckedExceptionOfTheBackendIsReportedAndItIsAskedAgain(
      Throwable thrown, String message) {
    AtomicReference<Supplier<Rules>> backend = new AtomicReference<>(() -> rules(1));
    try (PolledRules source = PolledRules.every(OFTEN, () -> backend.get().get())) {
      backend.set(
          () -> {
            throw PolledRulesTest.<RuntimeException>sneaky(thrown);
          });
      Until.within(LONG, "failing", () -> source.failure().isPresent());

      assertThat(source.failure().orElseThrow().message()).isEqualTo(message);
      assertThat(source.rules()).isEqualTo(rules(1));

      backend.set(() -> rules(2));
      Until.within(LONG, "good again", () -> source.failure().isEmpty());
      assertThat(source.rules()).isEqualTo(rules(2));
    }
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <T extends Throwable> T sneaky(Throwable thrown) throws T {
    throw (T) thrown;
  }

  @Test
  void interruptOfAFetchDoesNotEndTheOthers() {
    AtomicInteger limit = new AtomicInteger(1);
    try (PolledRules source =
        PolledRules.every(
            OFTEN,
            () -> {
              Thread.currentThread().interrupt();
              return rules(limit.get());
            })) {
      for (int next = 2; next < 6; next++) {
        Rules wanted = rules(next);
        limit.set(next);
        Until.within(LONG, "limit " + next, () -> source.rules().equals(wanted));
      }

      assertThat(source.failure()).isEmpty();
    }
  }

  @Test
  void backendThatHangsAtTheStartKeepsNobodyFromStartingWithOtherRules() {
    CountDownLatch answers = new CountDownLatch(1);
    Supplier<Rules> hanging =
        () -> {
          await(answers);
          return rules(2);
        };
    InstantSource clock = InstantSource.system();
    Duration patience = Duration.ofMillis(20);

    assertThatThrownBy(() -> PolledRules.every(OFTEN, hanging, clock, patience))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("the backend of the rules has not answered within 20ms");
    try (PolledRules source = PolledRules.every(OFTEN, hanging, rules(1), clock, patience)) {
      assertThat(source.rules()).isEqualTo(rules(1));
      Until.within(LONG, "reported", () -> source.failure().isPresent());
      assertThat(source.failure().orElseThrow().message())
          .startsWith("the backend has not answered since 20");

      answers.countDown();

      Until.within(LONG, "limit 2", () -> source.rules().equals(rules(2)));
      Until.within(LONG, "good again", () -> source.failure().isEmpty());
    }
  }

  @Test
  void fetchThatHangsLaterIsReportedWithItsTime() throws InterruptedException {
    MovableClock clock = MovableClock.at(Instant.parse("2026-01-01T00:00:00Z"));
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch answers = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    Supplier<Rules> backend =
        () -> {
          if (calls.incrementAndGet() == 2) {
            hangs.countDown();
            await(answers);
          }
          return rules(calls.get());
        };
    try (PolledRules source = PolledRules.every(OFTEN, backend, clock, LONG)) {
      hangs.await();
      clock.advance(LONG);
      assertThat(source.failure()).as("not longer than it may take").isEmpty();

      clock.advance(Duration.ofMillis(1));

      Instant since = Instant.parse("2026-01-01T00:00:00Z");
      assertThat(source.failure())
          .contains(
              new RuleSource.Failure(
                  since, "the backend has not answered since 2026-01-01T00:00:00Z"));
      assertThat(source.rules()).isEqualTo(rules(1));

      answers.countDown();
      Until.within(LONG, "good again", () -> source.failure().isEmpty());
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
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
