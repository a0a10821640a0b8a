package dev.sluice.redis;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.SeedScenarios;
import dev.sluice.store.Store;
import java.time.Instant;
import java.time.InstantSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The six scenarios of the seeds on a real Redis. */
class SeedScenariosIT extends SeedScenarios {
  private static RedisProcess redis;

  @BeforeAll
  static void start() {
    redis = RedisProcess.start(RedisProcess.newest());
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  @Override
  protected Store open(InstantSource clock) {
    redis.command("FLUSHALL");
    return RedisStore.builder(redis.uri()).testClock(() -> micros(clock.instant())).buildBare();
  }

  private static long micros(Instant now) {
    return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
  }
}
