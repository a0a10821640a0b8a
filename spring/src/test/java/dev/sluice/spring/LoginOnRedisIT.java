package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;

/** Logins that are counted in Redis, by two nodes. */
class LoginOnRedisIT {
  private static final String[] SETTINGS = {
    "sluice.rules.SecureLogin.by=login+ip",
    "sluice.rules.SecureLogin.limit=5 per 30m",
    "sluice.rules.SecureLogin.lock=30m",
    "sluice.login.rule=SecureLogin",
    "sluice.deadline=5s",
    "spring.security.user.name=ann",
    "spring.security.user.password=secret",
    "",
  };

  @Test
  void nodesShareTriesAndForgiveness() {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        App mvc = start(WebApplicationType.SERVLET, redis);
        App webFlux = start(WebApplicationType.REACTIVE, redis)) {
      for (int i = 0; i < 3; i++) {
        assertThat(statuses(2, mvc, "wrong")).containsOnly(401);
        assertThat(statuses(2, webFlux, "wrong")).containsOnly(401);
        assertThat(statuses(1, i == 1 ? webFlux : mvc, "secret")).containsOnly(200);
      }

      List<CompletableFuture<Integer>> guesses =
          IntStream.range(0, 40)
              .mapToObj(i -> (i % 2 == 0 ? mvc : webFlux).statusAs("ann", "guess" + i, "/x"))
              .toList();
      assertThat(guesses.stream().map(CompletableFuture::join).filter(status -> status == 401))
          .hasSize(5);

      assertThat(statuses(1, mvc, "secret")).containsOnly(429);
      assertThat(statuses(1, webFlux, "secret")).containsOnly(429);
    }
  }

  private static List<Integer> statuses(int times, App app, String password) {
    return IntStream.range(0, times)
        .mapToObj(i -> app.getAs("ann", password, "/x").statusCode())
        .toList();
  }

  private static App start(WebApplicationType type, RedisProcess redis) {
    String[] settings = SETTINGS.clone();
    settings[settings.length - 1] = "sluice.store=" + redis.uri();
    return App.startSecured(type, LoginStartTest.Least.class, settings);
  }
}
