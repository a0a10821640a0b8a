package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisSentinels;
import dev.sluice.redis.testing.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sentinels choose another master, and the store follows them. */
class SentinelIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final long MUCH = 1_000_000;

  /**
   * If a master is killed, its connections break; if it is stopped, they stay open without answers.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void failoverIsFollowedWithoutRestart(boolean killed) {
    Rules rules =
        Rules.of(
            Rule.builder("r")
                .by("member")
                .limit(Limit.fixedWindow(MUCH, Duration.ofDays(1)))
                .onStoreFailure(OnStoreFailure.DENY)
                .build());
    try (RedisSentinels sentinels = RedisSentinels.start(newest());
        Limiter limiter = Limiter.owning(RedisStore.connect(sentinels.uri()), rules)) {
      RedisCluster.await(() -> limiter.decide("r", ANN).allowed());
      long before = used(limiter);
      RedisCluster.await(() -> replicated(sentinels));
      if (killed) {
        sentinels.master().kill();
      } else {
        sentinels.master().pause();
      }
      long start = System.nanoTime();
      List<Decision> meanwhile = new ArrayList<>();
      RedisCluster.await(
          () -> {
            Decision decision = limiter.decide("r", ANN);
            meanwhile.add(decision);
            return decision instanceof Decision.Allowed;
          });
      double millis = (System.nanoTime() - start) / 1e6;

      System.out.printf(
          "Sentinel failover, master %s: %d calls by policy, metered again after %.0f ms%n",
          killed ? "killed" : "stopped", meanwhile.size() - 1, millis);
      assertThat(meanwhile.subList(0, meanwhile.size() - 1))
          .allMatch(Decision.Unmetered.class::isInstance);
      assertThat(used(limiter)).as("what was replicated still counts").isEqualTo(before + 1);
      RedisServers.assertEveryKeyHasTtl(sentinels.replica());
    }
  }

  private static long used(Limiter limiter) {
    List<Long> seen = new ArrayList<>();
    RedisCluster.await(
        () -> {
          Decision decision = limiter.decide(Call.of("r", ANN).peeking());
          decision.balances().forEach(balance -> seen.add(MUCH - balance.remaining()));
          return !seen.isEmpty();
        });
    return seen.get(0);
  }

  private static boolean replicated(RedisSentinels sentinels) {
    RedisProcess master = sentinels.master();
    return master.info("replication", "master_repl_offset")
        == sentinels.replica().info("replication", "master_repl_offset");
  }
}
