package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.store.Store;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Locks are looked for at a replica first, where that is asked for. */
class ReplicaIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r")
              .by("member")
              .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
              .lock(Duration.ofHours(1))
              .build());

  @Test
  void lockedCallerNeverReachesTheMaster() {
    try (RedisProcess master = RedisProcess.start(newest(), "--repl-diskless-sync-delay", "0");
        RedisProcess replica =
            RedisProcess.start(newest(), "--replicaof", "127.0.0.1", "" + master.port())) {
      // A replica that is connected but still loads is not yet one to read from.
      RedisCluster.await(() -> master.command("INFO", "replication").contains("state=online"));
      Duration patient = Duration.ofSeconds(5);
      try (Store store =
              RedisStore.builder(master.uri())
                  .deadline(patient)
                  .cacheDenials(false)
                  .readLocksFromReplica()
                  .build();
          Limiter limiter = Limiter.owning(store, RULES)) {
        assertThat(limiter.decide("r", ANN).allowed()).isTrue();
        Decision first = limiter.decide("r", ANN);
        assertThat(first.locked()).isTrue();
        RedisCluster.await(() -> replica.command("DBSIZE").equals(master.command("DBSIZE")));
        master.command("CONFIG", "RESETSTAT");
        replica.command("CONFIG", "RESETSTAT");
        for (int i = 0; i < 10; i++) {
          Decision locked = limiter.decide("r", ANN);
          assertThat(locked.allowed()).isFalse();
          assertThat(locked.restrictedUntil()).isEqualTo(first.restrictedUntil());
        }

        assertThat(master.libraryCalls()).isZero();
        assertThat(replica.info("commandstats", "cmdstat_get")).isEqualTo(10);

        replica.pause();
        assertThat(limiter.decide("r", ANN).locked()).as("the master knows, too").isTrue();
        replica.kill();
        assertThat(limiter.decide("r", ANN).locked()).as("the master knows, too").isTrue();
      }
      assertThat(master.keysWithoutTtl()).isEmpty();
    }
  }

  @Test
  void lockThatALaggingReplicaStillShowsIsNotBelievedAfterItWasLifted() {
    try (RedisProcess master = RedisProcess.start(newest(), "--repl-diskless-sync-delay", "0");
        RedisProcess replica =
            RedisProcess.start(newest(), "--replicaof", "127.0.0.1", "" + master.port())) {
      RedisCluster.await(() -> master.command("INFO", "replication").contains("state=online"));
      try (Store store =
              RedisStore.builder(master.uri())
                  .deadline(Duration.ofSeconds(5))
                  .readLocksFromReplica()
                  .build();
          Limiter limiter = Limiter.owning(store, RULES)) {
        limiter.decide("r", ANN);
        assertThat(limiter.decide("r", ANN).locked()).isTrue();
        RedisCluster.await(() -> replica.command("DBSIZE").equals(master.command("DBSIZE")));
        replica.command("REPLICAOF", "NO", "ONE"); // from now on it lags behind
        limiter.reset("r", ANN);

        assertThat(replica.command("DBSIZE")).as("it still shows the lock").isNotEqualTo("0");
        assertThat(limiter.decide("r", ANN).allowed()).isTrue();
      }
    }
  }
}
