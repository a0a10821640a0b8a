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
import org.junit.jupiter.api.Test;
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
  private static final long EPOCH = 1_767_225_600_000_000L; // 2026, from which the number counts
  private static final int[] DIGITS = {1, 2, 7, 36, 51, 99, 512, 513, 948, 949, 999};

  @ParameterizedTest
  @ValueSource(
      longs = {
        EPOCH,
        EPOCH + 999_999,
        EPOCH + 99_999_999_999_990L, // soon the number has a digit more
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
        for (int i = 0; i < 24; i++) {
          // By odd and even moments, one plan goes two ways. Once, it is full again meanwhile.
          now[0] += i % 3 == 0 ? 1 : i == 7 ? 20 * micros + 1 : micros / 3;
          Decision here = shared.decide(rule, ANN);
          Decision there = memory.decide(rule, ANN);
          assertThat(here.allowed()).isEqualTo(there.allowed());
          assertThat(here.balances()).isEqualTo(there.balances());
        }
      }
    }
    RedisServers.assertEveryKeyHasTtl(server);
  }

  /**
   * A bucket that was full when numbers had a digit less, though that text may seem the later one.
   */
  @Test
  void shorterNumberIsEarlier() {
    RedisProcess server = RedisServers.single(newest());
    server.command("FLUSHALL");
    long digitMore = EPOCH + 1_000_000_000;
    Duration micro = Duration.of(1, ChronoUnit.MICROS);
    Rule rule = Rule.named("r").by("member").limit(Limit.bucket(8_999_999_400L, 1, micro)).build();
    long[] now = {digitMore - 201};
    try (Limiter limiter =
        Limiter.of(
            RedisStore.at(server.uri()).testClock(() -> now[0]).openBare(), Rules.of(rule))) {
      assertThat(limiter.decide("r", ANN).allowed()).isTrue();
      now[0] = digitMore + 501;
      assertThat(limiter.decide("r", ANN).balances().get(0).remaining()).isEqualTo(8_999_999_399L);
    }
  }

  private static Rule oneEvery(long micros) {
    return Rule.named("every" + micros)
        .by("member")
        .limit(Limit.bucket(9, 1, Duration.of(micros, ChronoUnit.MICROS)))
        .build();
  }
}
