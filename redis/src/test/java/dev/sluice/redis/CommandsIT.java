package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.store.Store;
import java.time.Duration;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a decision costs Redis, by its own count. */
@ExtendWith(RedisServers.class)
class CommandsIT {
  private static final Identity BOTH = Identity.of("member", "ann", "ip", "10.0.0.1");
  private static final Rule RULE =
      Rule.builder("r")
          .by("member", "ip")
          .limit(Limit.tokenBucket(10, 1, Duration.ofHours(1)))
          .limit(Limit.slidingWindow(10, Duration.ofHours(1)))
          .limit(Limit.slidingLog(10, Duration.ofHours(1)))
          .build();

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void decisionOfThreeLimitsAndTwoIdentitiesIsOneCall(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    server.command("FLUSHALL");
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), Rules.of(RULE))) {
      RedisCluster.await(() -> limiter.decide("r", BOTH).balances().size() == 6);
      server.command("CONFIG", "RESETSTAT");
      for (int i = 0; i < 9; i++) {
        assertThat(limiter.decide("r", BOTH).allowed()).isTrue();
      }

      assertThat(server.libraryCalls()).isEqualTo(9);
      assertThat(server.info("commandstats", "cmdstat_time"))
          .as("one look at the clock")
          .isEqualTo(9);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void openingGoesTheWayOfOneCallAndWritesNoKey(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    server.command("FLUSHALL");
    server.forgetLibrary();
    server.command("CONFIG", "RESETSTAT");
    try (Store store = RedisStore.connect(server.uri())) {
      assertThat(store.locks(null, 1_000, null).toCompletableFuture().join().locks()).isEmpty();
      // The first is answered that the library is not there, or that there are no functions.
      assertThat(server.libraryCalls()).isBetween(1L, 3L);
      assertThat(server.command("DBSIZE")).isEqualTo("0");
    }
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void knownDenialCostsNoCommand(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    server.command("FLUSHALL");
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), Rules.of(RULE))) {
      RedisCluster.await(() -> limiter.decide("r", BOTH) instanceof Decision.Denied);
      server.command("CONFIG", "RESETSTAT");
      for (int i = 0; i < 1_000; i++) {
        assertThat(limiter.decide("r", BOTH).allowed()).isFalse();
      }

      long calls = server.libraryCalls();
      System.out.printf("1000 calls while a denial is known, %s: %d calls%n", binary, calls);
      assertThat(calls).isZero();
    }
  }
}
