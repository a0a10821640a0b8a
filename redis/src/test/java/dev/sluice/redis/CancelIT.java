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
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a caller does to its future changes nothing for its call, nor for others. */
@ExtendWith(RedisServers.class)
class CancelIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final int CALLS = 500;
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r")
              .by("member")
              .limit(Limit.fixedWindow(10 * CALLS, Duration.ofDays(1)))
              .build());

  @Test
  void callsWhoseCallersStoppedWaitingAreCounted() {
    RedisProcess server = RedisServers.single(newest());
    server.command("FLUSHALL");
    try (Limiter limiter =
        Limiter.owning(
            RedisStore.builder(server.uri()).deadline(Duration.ofMinutes(1)).build(), RULES)) {
      server.pause();
      List<CompletableFuture<Decision>> asked = new ArrayList<>();
      for (int i = 0; i < CALLS; i++) {
        asked.add(limiter.decideAsync(Call.of("r", ANN)).toCompletableFuture());
      }
      for (int i = 0; i < CALLS; i += 3) {
        asked.get(i).cancel(true);
        asked.get(i + 1).completeExceptionally(new IllegalStateException("no longer needed"));
      }
      server.resume();

      RedisCluster.await(
          () ->
              limiter.decide(Call.of("r", ANN).peeking()).balances().get(0).remaining()
                  == 9 * CALLS);
      for (int i = 2; i < CALLS; i += 3) {
        assertThat(asked.get(i).join().countedBy()).isEqualTo(Decision.CountedBy.STORE);
      }
    }
  }
}
