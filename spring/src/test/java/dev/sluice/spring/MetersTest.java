package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Settlement;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
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

  @Test
  void whatCouldNotBeChargedIsCountedByRule() {
    try (App app =
        App.start(
            WebApplicationType.NONE,
            Main.class,
            "sluice.rules.Play.by=member",
            "sluice.rules.Play.limit=10 per 1d",
            "sluice.rules.Words.by=member",
            "sluice.rules.Words.limits[0]=100 per 1d",
            "sluice.rules.Words.limits[1]=500 per 7d")) {
      Limiter limiter = app.bean(Limiter.class);
      Identity ann = Identity.of("member", "ann");
      Call call = Call.of(List.of("Play", "Words"), ann).costing("Words", 60);

      Receipt first = ((Decision.Allowed) limiter.decide(call)).receipt();
      limiter
          .settle(first, Settlement.CONFIRMED.costing("Words", 130))
          .toCompletableFuture()
          .join();
      assertThat(uncharged(app, "Words")).isEqualTo(30);
      limiter.decide(call.recording());
      assertThat(uncharged(app, "Words")).isEqualTo(30 + 60);
      limiter.ask(call.recording()).toCompletableFuture().join();
      assertThat(uncharged(app, "Words")).isEqualTo(30 + 60 + 60);
      Call other = Call.of(List.of("Play", "Words"), Identity.of("member", "bob"));
      Receipt second = ((Decision.Allowed) limiter.decide(other)).receipt();
      limiter.settle(second, 101).toCompletableFuture().join();

      assertThat(uncharged(app, ChargeCountingStore.SEVERAL_RULES)).isEqualTo(91 + 1);
      assertThat(uncharged(app, "Words")).isEqualTo(30 + 60 + 60);
      assertThat(
              app.bean(MeterRegistry.class).find("sluice.uncharged").tag("rule", "Play").counter())
          .isNull();
    }
  }

  private static double uncharged(App app, String rule) {
    return app.bean(MeterRegistry.class)
        .get("sluice.uncharged")
        .tag("rule", rule)
        .counter()
        .count();
  }

  private static long decisions(App app, String outcome) {
    return app.bean(MeterRegistry.class)
        .get("sluice.decisions")
        .tags("rule", "Play", "outcome", outcome)
        .timer()
        .count();
  }
}
