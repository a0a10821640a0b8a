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
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A closed store leaves nothing behind. */
@ExtendWith(RedisServers.class)
class CloseIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r").by("member").limit(Limit.fixedWindow(100, Duration.ofDays(1))).build());

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(Thread::isAlive)
        .map(Thread::getName)
        .filter(name -> name.startsWith("lettuce") || name.startsWith("sluice"))
        .toList();
  }

  /** Fails with what the threads that are left do. */
  private static void awaitNoThreads(String when) {
    try {
      RedisCluster.await(() -> threads().isEmpty());
    } catch (IllegalStateException late) {
      StringBuilder left = new StringBuilder();
      Thread.getAllStackTraces()
          .forEach(
              (thread, stack) -> {
                if (threads().contains(thread.getName())) {
                  left.append(thread).append(' ').append(List.of(stack)).append('\n');
                }
              });
      throw new AssertionError("threads are left " + when + ":\n" + left, late);
    }
  }

  @Test
  void noThreadAndNoConnectionIsLeft() {
    RedisProcess server = RedisServers.single(newest());
    awaitNoThreads("before the test");
    long before = server.info("clients", "connected_clients");
    for (int i = 0; i < 3; i++) {
      try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), RULES)) {
        limiter.decide("r", ANN);
      }
    }
    awaitNoThreads("after closing");
    RedisCluster.await(() -> server.info("clients", "connected_clients") <= before);
  }

  @Test
  void callsUnderWayAreAnsweredWhenTheStoreIsClosed() throws Exception {
    try (RedisProcess server = RedisProcess.start(newest())) {
      Store store = RedisStore.builder(server.uri()).deadline(Duration.ofMinutes(1)).build();
      Limiter limiter = Limiter.owning(store, RULES);
      RedisCluster.await(() -> !limiter.decide("r", ANN).balances().isEmpty());
      server.pause();
      CompletableFuture<Decision> asked =
          limiter.decideAsync(Call.of("r", ANN)).toCompletableFuture();
      limiter.close();

      assertThat(asked.get(10, TimeUnit.SECONDS).countedBy()).isEqualTo(Decision.CountedBy.LOCAL);
      server.resume();
    }
  }
}
