package dev.sluice.history;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.history.RecordedCalls.Seen;
import dev.sluice.memory.MemoryStore;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the check of recorded calls: it must find a wrong store and accept a right one. */
class RecordedCallsTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final long START = 1_700_000_000_000_000L;

  /** The limit that was promised, and one that admits too much. */
  static Stream<Arguments> limits() {
    return Stream.of(
        Arguments.of(Limit.slidingLog(10, SECOND), Limit.slidingLog(20, SECOND)),
        Arguments.of(Limit.slidingLog(10, SECOND), Limit.slidingLog(11, SECOND)),
        Arguments.of(Limit.slidingLog(10, SECOND), Limit.slidingLog(10, Duration.ofMillis(800))),
        Arguments.of(Limit.slidingWindow(10, SECOND), Limit.slidingWindow(20, SECOND)),
        Arguments.of(Limit.slidingWindow(10, SECOND), Limit.slidingWindow(11, SECOND)),
        Arguments.of(Limit.fixedWindow(10, SECOND), Limit.fixedWindow(20, SECOND)),
        Arguments.of(Limit.fixedWindow(10, SECOND), Limit.fixedWindow(11, SECOND)),
        Arguments.of(Limit.tokenBucket(10, 5, SECOND), Limit.tokenBucket(20, 5, SECOND)),
        Arguments.of(Limit.tokenBucket(10, 5, SECOND), Limit.tokenBucket(11, 5, SECOND)),
        Arguments.of(Limit.tokenBucket(10, 5, SECOND), Limit.tokenBucket(10, 7, SECOND)));
  }

  @ParameterizedTest
  @MethodSource("limits")
  void storeThatAdmitsMoreThanPromisedIsFound(Limit promised, Limit kept) {
    for (int blurMicros : new int[] {0, 5_000}) {
      Played right = play(promised, 5, blurMicros);
      Played wrong = play(kept, 5, blurMicros);

      assertThat(new RecordedCalls(promised, right.paid).peak().margin()).isNotNegative();
      assertThat(new RecordedCalls(promised, wrong.paid).peak().margin()).isNegative();
    }
  }

  @ParameterizedTest
  @MethodSource("limits")
  void storeThatDeniesWithoutNeedIsFound(Limit kept, Limit promised) {
    for (int blurMicros : new int[] {0, 5_000}) {
      Played right = play(promised, 6, blurMicros);
      Played wrong = play(kept, 6, blurMicros);

      assertThat(right.denied)
          .isNotEmpty()
          .allMatch(new RecordedCalls(promised, right.paid)::explain);
      assertThat(wrong.denied)
          .anyMatch(denied -> !new RecordedCalls(promised, wrong.paid).explain(denied));
    }
  }

  @Test
  void callsThatMayLieInTwoWindowsAreNotOverTheBound() {
    List<Seen> paid =
        List.of(new Seen(START, START + 100, 10), new Seen(START + 50, START + 1_000_000, 10));

    assertThat(new RecordedCalls(Limit.slidingLog(10, SECOND), paid).peak().margin()).isZero();
    assertThat(new RecordedCalls(Limit.slidingLog(10, SECOND.plusMillis(1)), paid).peak().margin())
        .isEqualTo(-10);
  }

  @Test
  void denialIsExplainedByWhatMayHaveBeenPaid() {
    List<Seen> unclear = List.of(new Seen(START, START + 5_000_000, 10));
    RecordedCalls calls = new RecordedCalls(Limit.slidingLog(10, SECOND), unclear);

    assertThat(calls.explain(new Seen(START - 2, START - 1, 1))).isFalse();
    assertThat(calls.explain(new Seen(START + 5_900_000, START + 5_900_000, 1))).isTrue();
    assertThat(calls.explain(new Seen(START + 6_000_000, START + 6_000_000, 1))).isFalse();
  }

  private record Played(List<Seen> paid, List<Seen> denied) {}

  /** What a caller of a correct store sees; it knows times only up to the blur. */
  private static Played play(Limit limit, long seed, int blurMicros) {
    SplittableRandom random = new SplittableRandom(seed);
    long[] now = {START};
    InstantSource clock = () -> Instant.EPOCH.plus(now[0], ChronoUnit.MICROS);
    Rules rules = Rules.of(Rule.builder("r").by("member").limit(limit).build());
    Played played = new Played(new ArrayList<>(), new ArrayList<>());
    try (Limiter limiter =
        Limiter.builder(MemoryStore.create(clock), RuleSource.fixed(rules)).clock(clock).build()) {
      for (int i = 0; i < 2_000; i++) {
        now[0] += random.nextInt(60_000);
        long cost = 1L + random.nextInt(2);
        Call call = Call.of("r", Identity.of("member", "ann")).costing(cost);
        boolean allowed = limiter.decide(call).allowed();
        long from = now[0] - random.nextInt(blurMicros + 1);
        Seen seen = new Seen(from, now[0] + random.nextInt(blurMicros + 1), cost);
        (allowed ? played.paid : played.denied).add(seen);
      }
    }
    return played;
  }
}
