package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Settlement;
import dev.sluice.internal.Stages;
import dev.sluice.metrics.Metrics;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.call.PreparedCall;
import dev.sluice.spring.call.UncountableException;
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

  private static void ask(Gate gate, Call call) {
    Stages.await(gate.ask(new PreparedCall(call, gate.rules())));
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

      assertThat(decisions(app, Metrics.DECISIONS, "Play", "allowed", "store")).isEqualTo(1);
      assertThat(decisions(app, Metrics.DECISIONS, "Play", "denied", "store")).isEqualTo(1);
      assertThat(calls(app, "allowed")).isEqualTo(1);
      assertThat(calls(app, "denied")).isEqualTo(1);
    }
  }

  @Test
  void callIsTimedOnceAndCountedOnceByEachOfItsRules() {
    try (App app =
        App.start(
            WebApplicationType.NONE,
            Main.class,
            "sluice.rules.Play.by=member",
            "sluice.rules.Play.limit=10 per 1d",
            "sluice.rules.Words.by=member",
            "sluice.rules.Words.limit=1 per 1d",
            "sluice.rules.Trial.by=member",
            "sluice.rules.Trial.limit=1 per 1d",
            "sluice.rules.Trial.mode=shadow")) {
      Gate gate = app.bean(Gate.class);
      Identity ann = Identity.of("member", "ann");

      ask(gate, Call.of(List.of("Play", "Trial"), ann));
      ask(gate, Call.of(List.of("Play", "Words", "Trial"), ann));
      ask(gate, Call.of(List.of("Play", "Words"), ann));
      assertThatThrownBy(() -> ask(gate, Call.of("Play", Identity.none())))
          .isInstanceOf(UncountableException.class);

      assertThat(decisions(app, Metrics.DECISIONS, "Play", "allowed", "store")).isEqualTo(2);
      assertThat(decisions(app, Metrics.DECISIONS, "Play", "denied", "store")).isEqualTo(1);
      assertThat(decisions(app, Metrics.DECISIONS, "Words", "allowed", "store")).isEqualTo(1);
      assertThat(decisions(app, Metrics.DECISIONS, "Words", "denied", "store")).isEqualTo(1);
      assertThat(decisions(app, Metrics.SHADOW_DECISIONS, "Trial", "allowed", "store"))
          .isEqualTo(1);
      assertThat(decisions(app, Metrics.SHADOW_DECISIONS, "Trial", "denied", "store")).isEqualTo(1);
      assertThat(calls(app, "allowed")).isEqualTo(2);
      assertThat(calls(app, "denied")).isEqualTo(1);
      assertThat(calls(app, "failed")).isEqualTo(1);
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
      limiter.settle(first, Settlement.CONFIRMED.costing("Words", 130));
      assertThat(uncharged(app, "Words")).isEqualTo(30);
      limiter.decide(call.recording());
      assertThat(uncharged(app, "Words")).isEqualTo(30 + 60);
      limiter.decide(call.recording());
      assertThat(uncharged(app, "Words")).isEqualTo(30 + 60 + 60);
      Call other = Call.of(List.of("Play", "Words"), Identity.of("member", "bob"));
      Receipt second = ((Decision.Allowed) limiter.decide(other)).receipt();
      limiter.settle(second, 101);

      assertThat(uncharged(app, "Play")).isEqualTo(91);
      assertThat(uncharged(app, "Words")).isEqualTo(30 + 60 + 60 + 1);
    }
  }

  @Test
  void foreignValuesAreAMeter() {
    try (App app =
        App.start(
            WebApplicationType.NONE,
            Main.class,
            "sluice.rules.Play.by=member",
            "sluice.rules.Play.limit=1 per 1d")) {
      assertThat(
              app.bean(MeterRegistry.class).get(Metrics.FOREIGN_VALUES).functionCounter().count())
          .isZero();
    }
  }

  private static double uncharged(App app, String rule) {
    return app.bean(MeterRegistry.class)
        .get("sluice.uncharged")
        .tag("rule", rule)
        .counter()
        .count();
  }

  private static double decisions(
      App app, String meter, String rule, String outcome, String countedBy) {
    return app.bean(MeterRegistry.class)
        .get(meter)
        .tags("rule", rule, "outcome", outcome, "counted.by", countedBy, "locked", "false")
        .counter()
        .count();
  }

  private static long calls(App app, String outcome) {
    return app.bean(MeterRegistry.class)
        .get(Metrics.CALLS)
        .tags("outcome", outcome)
        .timer()
        .count();
  }
}
