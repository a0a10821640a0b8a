package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.contract.Scene;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A server's clock that is 30 s behind, ahead, or toggles, as after failovers between machines that
 * disagree. It comes in through the scripts' test argument; what passes is judged by true time.
 */
@ExtendWith(RedisServers.class)
class ClockIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final long SECOND = 1_000_000;
  private static final long START = 1_800_000_000 * SECOND;
  private static final int LIMIT = 10;
  private static final int STEPS = 240;
  private static final Duration WINDOW = Duration.ofSeconds(10);

  private RedisProcess server;
  private long offset;
  private long truth;

  @BeforeEach
  void empty() {
    server = RedisServers.single(newest());
    server.command("FLUSHALL");
    offset = 0;
    truth = START;
  }

  @AfterEach
  void everyKeyHasTtl() {
    RedisServers.assertEveryKeyHasTtl(server);
  }

  static Stream<Arguments> kindsAndClocks() {
    return Stream.of(
            Limit.fixedWindow(LIMIT, WINDOW),
            Limit.slidingLog(LIMIT, WINDOW),
            Limit.slidingWindow(LIMIT, WINDOW, Duration.ofSeconds(1)),
            Limit.tokenBucket(LIMIT, LIMIT, WINDOW))
        .flatMap(limit -> Stream.of("behind", "ahead").map(clock -> Arguments.of(limit, clock)));
  }

  static Stream<Limit> kinds() {
    return kindsAndClocks().map(each -> (Limit) each.get()[0]).distinct();
  }

  private static long offset(String clock, int step) {
    long far = 30 * SECOND;
    return switch (clock) {
      case "behind" -> step < 40 ? 0 : -far;
      case "ahead" -> step < 40 ? 0 : far;
      default -> step / 7 % 2 == 0 ? 0 : far;
    };
  }

  private static int firstStepAhead(String clock) {
    return IntStream.range(1, STEPS)
        .filter(step -> offset(clock, step) > offset(clock, step - 1))
        .findFirst()
        .orElse(STEPS);
  }

  /**
   * Calls four times a second for a minute. A step ahead looks like time that has passed: the two
   * cannot be distinguished. Before it and after it, the promise holds.
   */
  @ParameterizedTest
  @MethodSource("kindsAndClocks")
  void clockThatStepsGivesNobodyMoreThanThePromise(Limit limit, String clock) {
    Rule rule = Rule.builder("r").by("member").limit(limit).build();
    List<Long> passed = new ArrayList<>();
    try (Limiter limiter =
        Limiter.owning(
            RedisStore.builder(server.uri()).testClock(() -> truth + offset).buildBare(),
            Rules.of(rule))) {
      for (int step = 0; step < STEPS; step++) {
        offset = offset(clock, step);
        truth += SECOND / 4;
        for (int i = 0; i < 3; i++) {
          Decision decision = limiter.decide("r", ANN);
          if (decision.allowed()) {
            passed.add(truth);
          }
        }
      }
    }
    long stepped = START + (firstStepAhead(clock) + 1) * SECOND / 4;
    long before = mostWithin(passed.stream().filter(time -> time < stepped).toList(), limit);
    long after = mostWithin(passed.stream().filter(time -> time >= stepped).toList(), limit);
    long last = passed.get(passed.size() - 1);
    System.out.printf(
        "clock %s, %s: %d passed in 60 s; at most %d, then %d, within a window%n",
        clock, limit, passed.size(), before, after);
    // A bucket may give its capacity and what refills; a fixed window twice its limit at an edge.
    boolean twice = Scene.refills(limit) || limit instanceof Limit.FixedWindow;
    long promise = twice ? 2 * LIMIT : LIMIT;
    assertThat(before).isLessThanOrEqualTo(promise);
    assertThat(after).isLessThanOrEqualTo(promise);
    assertThat(START + 60 * SECOND - last).as("open again").isLessThan(11 * SECOND);
    assertThat(passed).as("not shut out").hasSizeGreaterThanOrEqualTo(2 * LIMIT);
  }

  /**
   * A clock that jumps ahead by three windows and back, every 3.5 s: each step ahead is taken for
   * passed time, so it can let one limit more through; a step back gives nothing.
   */
  @ParameterizedTest
  @MethodSource("kinds")
  void clockThatJumpsBackAndForthGivesOneLimitForEachJumpAheadAtMost(Limit limit) {
    Rule rule = Rule.builder("r").by("member").limit(limit).build();
    int passed = 0;
    int jumps = 0;
    try (Limiter limiter =
        Limiter.owning(
            RedisStore.builder(server.uri()).testClock(() -> truth + offset).buildBare(),
            Rules.of(rule))) {
      for (int step = 0; step < STEPS; step++) {
        long before = offset;
        offset = offset("toggling", step);
        jumps += offset > before ? 1 : 0;
        truth += SECOND / 4;
        for (int i = 0; i < 3; i++) {
          passed += limiter.decide("r", ANN).allowed() ? 1 : 0;
        }
      }
    }
    long windows = 60 * SECOND / (limit.window().toMillis() * 1_000);
    long steady = LIMIT * (windows + 1);
    System.out.printf(
        "clock jumping ahead %d times in 60 s, %s: %d passed, %d would without jumps%n",
        jumps, limit, passed, steady);
    assertThat(passed).isLessThanOrEqualTo((int) steady + jumps * LIMIT);
    assertThat(passed).as("not shut out").isGreaterThanOrEqualTo(2 * LIMIT);
  }

  /** The most that passed within any window's length. */
  private static long mostWithin(List<Long> times, Limit limit) {
    long window = limit.window().toMillis() * 1_000;
    long most = 0;
    for (int i = 0; i < times.size(); i++) {
      long since = times.get(i);
      most = Math.max(most, times.stream().filter(t -> t >= since && t < since + window).count());
    }
    return most;
  }

  /** Alone in a call, and with others. */
  @ParameterizedTest
  @MethodSource("kindsAndCrowds")
  void everyReplyHasTheClock(Limit limit, int crowd) {
    Rule rule = Rule.builder("r").by("member").limit(limit).build();
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
      CompletableFuture<?>[] answers =
          IntStream.range(0, crowd)
              .mapToObj(i -> limiter.decideAsync(Call.of("r", Identity.of("member", "m" + i))))
              .map(CompletionStage::toCompletableFuture)
              .toArray(CompletableFuture<?>[]::new);
      CompletableFuture.allOf(answers).join();

      long seconds = Long.parseLong(server.command("TIME").lines().findFirst().orElseThrow());
      assertThat(store.estimatedNow() / SECOND).isBetween(seconds - 10, seconds + 10);
    }
  }

  static Stream<Arguments> kindsAndCrowds() {
    return Stream.of(
            Limit.tokenBucket(LIMIT, LIMIT, WINDOW),
            Limit.fixedWindow(LIMIT, WINDOW),
            Limit.slidingLog(LIMIT, WINDOW))
        .flatMap(limit -> Stream.of(Arguments.of(limit, 1), Arguments.of(limit, 40)));
  }
}
