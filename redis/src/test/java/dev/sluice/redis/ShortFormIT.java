package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A bucket alone is one whole number, larger than a double is exact for. Whatever the rate, at the
 * first and the last moments that it can name, it says to the microsecond what the memory store
 * says.
 */
@ExtendWith(RedisServers.class)
class ShortFormIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final int[] DIGITS = {1, 2, 7, 36, 51, 99, 512, 513, 948, 949, 999};

  @ParameterizedTest
  @ValueSource(
      longs = {
        1_767_225_600_000_000L, // 2026, from which the number counts
        1_767_225_600_999_999L,
        1_790_000_000_000_000L,
        2_055_000_000_000_001L,
        2_667_225_599_000_000L, // the last of its moments is a second later
        2_667_225_600_000_000L,
      })
  void everyRateIsKeptToTheMicrosecond(long start) {
    RedisProcess server = RedisServers.single(newest());
    server.command("FLUSHALL");
    long[] periods =
        Arrays.stream(DIGITS)
            .asLongStream()
            .flatMap(digits -> LongStream.iterate(digits, micros -> micros * 10).limit(10))
            .toArray();
    Rule[] rules = Arrays.stream(periods).mapToObj(ShortFormIT::oneEvery).toArray(Rule[]::new);
    long[] now = {start};
    try (Limiter shared =
            Limiter.of(
                RedisStore.at(server.uri()).testClock(() -> now[0]).openBare(), Rules.of(rules));
        Limiter memory =
            Limiter.of(
                MemoryStore.create(() -> Instant.EPOCH.plus(now[0], ChronoUnit.MICROS)),
                Rules.of(rules))) {
      for (long micros : periods) {
        String rule = "every" + micros;
        now[0] = start;
        for (int i = 0; i < 12; i++) {
          // By odd and even moments, one plan goes two ways.
          now[0] += i % 3 == 0 ? 1 : micros / 3;
          Decision here = shared.decide(rule, ANN);
          Decision there = memory.decide(rule, ANN);
          assertThat(here.allowed()).isEqualTo(there.allowed());
          assertThat(here.balances()).isEqualTo(there.balances());
        }
      }
    }
    RedisServers.assertEveryKeyHasTtl(server);
  }

  private static Rule oneEvery(long micros) {
    return Rule.named("every" + micros)
        .by("member")
        .limit(Limit.bucket(9, 1, Duration.of(micros, ChronoUnit.MICROS)))
        .build();
  }
}
