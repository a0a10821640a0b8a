package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** An application that has meters but observes nothing. */
class MetersTest {
  /** Whatever a Spring Boot calls it. */
  private static final String OBSERVATIONS =
      "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration,"
          + "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration";

  static class Work {
    @RateLimit(value = "Play", by = "member=#member")
    String play(String member) {
      return member;
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Main {
    @Bean
    Work work() {
      return new Work();
    }

    @Bean
    MeterRegistry meters() {
      return new SimpleMeterRegistry();
    }
  }

  @Test
  void decisionsAreMeasuredWithoutObservations() {
    try (App app =
        App.start(
            WebApplicationType.NONE,
            Main.class,
            "spring.autoconfigure.exclude=" + OBSERVATIONS,
            "sluice.rules.Play.by=member",
            "sluice.rules.Play.limit=1 per 1d")) {
      assertThatThrownBy(() -> app.bean(ObservationRegistry.class)).isNotNull();
      Work work = app.bean(Work.class);

      assertThat(work.play("ann")).isEqualTo("ann");
      assertThatThrownBy(() -> work.play("ann")).isInstanceOf(RateLimitedException.class);

      assertThat(decisions(app, "allowed")).isEqualTo(1);
      assertThat(decisions(app, "denied")).isEqualTo(1);
    }
  }

  private static long decisions(App app, String outcome) {
    return app.bean(MeterRegistry.class)
        .get("sluice.decisions")
        .tags("rule", "Play", "outcome", outcome)
        .timer()
        .count();
  }
}
