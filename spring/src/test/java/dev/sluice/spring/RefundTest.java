package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.spring.call.UncountableException;
import dev.sluice.store.Store;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import reactor.core.publisher.Mono;

/** A call that fails at its second rule has taken nothing of its first. */
class RefundTest {
  private static App app;

  static class Work {
    @RateLimit(value = "Play", by = "member=#member")
    @RateLimit(value = "Code", by = "login=#login")
    String needsLogin(String member, @Nullable String login) {
      return member;
    }

    @RateLimit(value = "Play", by = "member=#member")
    @RateLimit(value = "Code", by = "login=#login")
    Mono<String> needsLoginLater(String member, @Nullable String login) {
      return Mono.just(member);
    }

    @RateLimit(value = "Play", by = "member=#member")
    @RateLimit(value = "Code", by = "login='x'", cost = "3")
    String tooMuch(String member) {
      return member;
    }

    @RateLimit(value = "Play", by = "member=#member")
    @RateLimit(value = TroubledStore.THROWS, by = "login='x'")
    String storeThrows(String member) {
      return member;
    }

    @RateLimit(value = "Play", by = "member=#member")
    @RateLimit(value = TroubledStore.FAILS_LATER, by = "login='x'")
    CompletableFuture<String> storeFailsLater(String member) {
      return CompletableFuture.completedFuture(member);
    }

    @RateLimit(value = "Play", by = "member=#member")
    @RateLimit(value = TroubledStore.FAILS_LATER, by = "login='x'")
    Mono<String> monoFailsLater(String member) {
      return Mono.just(member);
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
    Store store() {
      return TroubledStore.failing();
    }
  }

  @BeforeAll
  static void start() {
    app =
        App.start(
            WebApplicationType.NONE,
            Main.class,
            "sluice.rules.Play.by=member",
            "sluice.rules.Play.limit=1 per 1d",
            "sluice.rules.Code.by=login",
            "sluice.rules.Code.limit=1 per 1d",
            "sluice.rules.Throws.by=login",
            "sluice.rules.Throws.limit=1 per 1d",
            "sluice.rules.FailsLater.by=login",
            "sluice.rules.FailsLater.limit=1 per 1d");
  }

  @AfterAll
  static void stop() {
    app.close();
  }

  private static Work work() {
    return app.bean(Work.class);
  }

  private static void assertNothingTakenFrom(String member) {
    Call look = Call.of("Play", Identity.of("member", member)).peeking();
    assertThat(app.bean(Limiter.class).decide(look).allowed()).isTrue();
  }

  @Test
  void missingFacetTakesNothing() {
    assertThatThrownBy(() -> work().needsLogin("ann", null))
        .isInstanceOf(UncountableException.class)
        .hasMessageContaining("login");

    assertNothingTakenFrom("ann");
  }

  @Test
  void missingFacetTakesNothingFromASubscriber() {
    assertThatThrownBy(() -> work().needsLoginLater("bea", null).block())
        .isInstanceOf(UncountableException.class);

    assertNothingTakenFrom("bea");
  }

  @Test
  void refusalTakesNothing() {
    assertThatThrownBy(() -> work().tooMuch("cleo")).isInstanceOf(RateLimitedException.class);

    assertNothingTakenFrom("cleo");
  }

  @Test
  void storeThatThrowsAtOnceTakesNothing() {
    assertThatThrownBy(() -> work().storeThrows("dan")).hasMessage("thrown at once");

    assertNothingTakenFrom("dan");
  }

  @Test
  void storeThatFailsLaterTakesNothing() {
    assertThatThrownBy(() -> work().storeFailsLater("eve")).hasMessage("failed later");
    assertThatThrownBy(() -> work().monoFailsLater("fay").block()).hasMessage("failed later");

    assertNothingTakenFrom("eve");
    assertNothingTakenFrom("fay");
  }
}
