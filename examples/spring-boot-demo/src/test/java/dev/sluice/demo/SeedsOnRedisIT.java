package dev.sluice.demo;

import dev.sluice.redis.testing.RedisProcess;
import org.junit.jupiter.api.AfterAll;

class SeedsOnRedisIT extends SeedScenarios {
  private final RedisProcess redis = RedisProcess.start(RedisProcess.newest());

  @Override
  RunningShop open() {
    return new RunningShop(redis.uri());
  }

  @AfterAll
  void stopRedis() {
    redis.close();
  }
}
