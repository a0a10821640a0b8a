package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.KeptOverride;
import dev.sluice.rules.Until;
import dev.sluice.rules.source.KeptOverrides;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Overrides that operators make at run time hold in an application, too. */
class OverridesIT {
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {
    @Bean
    Game game() {
      return new Game();
    }
  }

  static class Game {
    @RateLimit(value = "Play", by = "member=#member")
    String play(String member) {
      return "played";
    }
  }

  @Test
  void anOverrideIsInForceInAnApplicationWithinASecond() throws Exception {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        App app =
            App.start(
                WebApplicationType.NONE,
                Application.class,
                "sluice.store=" + redis.uri(),
                "sluice.deadline=5s",
                "sluice.rules.Play.limit=1 per 1h",
                "sluice.rules.Play.by=member");
        Store store = RedisStore.connect(redis.uri());
        KeptOverrides operator = KeptOverrides.follow(store.sharedData(), "operator")) {
      Game game = app.bean(Game.class);
      Limiter limiter = app.bean(Limiter.class);
      assertThat(game.play("ann")).isEqualTo("played");
      assertThatThrownBy(() -> game.play("ann")).isInstanceOf(RateLimitedException.class);

      String text = "{\"when\": {\"member\": \"ann\"}, \"limit\": \"2 per 1h\"}";
      KeptOverride override = new KeptOverride("a", "Play", Instant.now(), "rita", "", text);
      assertThat(operator.put(override).toCompletableFuture().get(10, TimeUnit.SECONDS)).isTrue();

      Until.within(
          Duration.ofSeconds(1),
          "the override",
          () -> limiter.rules().find("Play").overrides().size() == 1);
      assertThat(game.play("ann")).isEqualTo("played");
      assertThatThrownBy(() -> game.play("ann")).isInstanceOf(RateLimitedException.class);
    }
  }
}
