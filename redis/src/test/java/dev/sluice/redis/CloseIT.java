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
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A closed store leaves nothing behind. */
@ExtendWith(RedisServers.class)
class CloseIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r").by("member").limit(Limit.fixedWindow(100, Duration.ofDays(1))).build());

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(Thread::isAlive)
        .filter(
            thread ->
                thread.getName().startsWith("lettuce") || thread.getName().startsWith("sluice"))
        .collect(Collectors.toSet());
  }

  /** Threads of stores that other tests have not closed, or are closing. */
  private static Set<Thread> others() {
    Set<Thread> others = threads();
    others.forEach(
        thread ->
            System.out.printf(
                "Left by another test: %s %s%n", thread, List.of(thread.getStackTrace())));
    return others;
  }

  @Test
  void noThreadAndNoConnectionIsLeft() {
    RedisProcess server = RedisServers.single(newest());
    Set<Thread> others = others();
    long before = server.info("clients", "connected_clients");
    for (int i = 0; i < 3; i++) {
      try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), RULES)) {
        limiter.decide("r", ANN);
      }
    }
    try {
      RedisCluster.await(() -> others.containsAll(threads()));
    } catch (IllegalStateException late) {
      String left =
          threads().stream()
              .filter(thread -> !others.contains(thread))
              .map(thread -> thread + " " + List.of(thread.getStackTrace()))
              .collect(Collectors.joining("\n"));
      throw new AssertionError("threads are left after closing:\n" + left, late);
    }
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
