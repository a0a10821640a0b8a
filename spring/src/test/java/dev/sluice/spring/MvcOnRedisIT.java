package dev.sluice.spring;

import dev.sluice.redis.testing.RedisProcess;
import org.junit.jupiter.api.AfterAll;
import org.springframework.boot.WebApplicationType;

class MvcOnRedisIT extends EdgeContract {
  private final RedisProcess redis = RedisProcess.start(RedisProcess.newest());

  @Override
  App start() {
    return App.start(WebApplicationType.SERVLET, Shop.Mvc.class, Shop.on(redis.uri()));
  }

  @AfterAll
  void stopRedis() {
    redis.close();
  }
}
