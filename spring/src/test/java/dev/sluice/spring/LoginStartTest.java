package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.memory.MemoryStore;
import dev.sluice.spring.boot.SluiceAutoConfiguration;
import dev.sluice.spring.boot.SluiceServletAutoConfiguration;
import dev.sluice.spring.login.SluiceLoginAutoConfiguration;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** One property is enough; what would leave logins unguarded stops the start. */
class LoginStartTest {
  private static final String[] RULE = {
    "sluice.rules.SecureLogin.by=login+ip",
    "sluice.rules.SecureLogin.limit=3 per 30m",
    "sluice.rules.SecureLogin.lock=30m",
  };

  @RestController
  static class Pages {
    @GetMapping("/x")
    public Mono<String> page() {
      return Mono.just("x");
    }
  }

  /** As little as an application can have. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Pages.class)
  static class Least {}

  @Test
  void onePropertyGuardsAnApplicationThatHasNothingButADependencyOnSpringSecurity() {
    for (WebApplicationType type :
        new WebApplicationType[] {WebApplicationType.SERVLET, WebApplicationType.REACTIVE}) {
      try (App app =
          start(
              type,
              Least.class,
              "sluice.login.rule=SecureLogin",
              "spring.security.user.password=secret")) {
        assertThat(app.getAs("user", "secret", "/x").statusCode()).isEqualTo(200);
        assertThat(IntStream.range(0, 5).map(i -> app.getAs("user", "wrong", "/x").statusCode()))
            .as(type.name())
            .containsExactly(401, 401, 401, 429, 429);
        assertThat(app.getAs("user", "secret", "/x").statusCode()).isEqualTo(429);
      }
    }
  }

  /** A store that counts what is sent to it. */
  static final class CountingStore extends ForwardingStore {
    final AtomicInteger takes = new AtomicInteger();
    final AtomicInteger settlements = new AtomicInteger();

    CountingStore() {
      super(MemoryStore.create());
    }

    @Override
    public CompletionStage<Decision> take(Plan plan) {
      takes.incrementAndGet();
      return super.store.take(plan);
    }

    @Override
    public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
      settlements.incrementAndGet();
      return super.store.settle(receipt, settlement);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Pages.class)
  static class Counted {
    @Bean
    Store store() {
      return new CountingStore();
    }

    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
      return http.authorizeHttpRequests(all -> all.anyRequest().authenticated())
          .httpBasic(Customizer.withDefaults())
          .build();
    }

    @Bean
    InMemoryUserDetailsManager users() {
      return new InMemoryUserDetailsManager(
          User.withUsername("ann").password("{noop}secret").roles("USER").build());
    }
  }

  @Test
  void rightBasicLoginAgainAndAgainIsOneLookAtTheStoreEach() {
    try (App app =
        start(WebApplicationType.SERVLET, Counted.class, "sluice.login.rule=SecureLogin")) {
      CountingStore store = (CountingStore) app.bean(Store.class);
      app.getAs("ann", "/x");
      int takes = store.takes.get();
      int settlements = store.settlements.get();

      IntStream.range(0, 10).forEach(i -> app.getAs("ann", "/x"));

      assertThat(store.takes.get() - takes).isEqualTo(10);
      assertThat(store.settlements.get()).isEqualTo(settlements);
    }
  }

  @Test
  void ruleThatIsNotThereStopsTheStart() {
    assertThatThrownBy(
            () -> start(WebApplicationType.SERVLET, Least.class, "sluice.login.rule=SecureLogn"))
        .hasStackTraceContaining(
            "sluice.login: no rule 'SecureLogn' (did you mean 'SecureLogin'?)");
  }

  @Test
  void addressIsNeverForgiven() {
    assertThatThrownBy(
            () ->
                start(
                    WebApplicationType.SERVLET,
                    Least.class,
                    "sluice.login.rule=SecureLogin",
                    "sluice.login.forgive=login,ip"))
        .hasStackTraceContaining("sluice.login.forgive: 'ip' (expected: facets with login among");
  }

  @Test
  void settingsWithoutARuleStopTheStart() {
    assertThatThrownBy(
            () -> start(WebApplicationType.SERVLET, Least.class, "sluice.login.facet=login"))
        .hasStackTraceContaining("sluice.login.rule: missing");
  }

  @Test
  void withoutSpringSecurityTheStarterWorksAndAGuardedLoginIsAMistake() {
    WebApplicationContextRunner runner =
        new WebApplicationContextRunner()
            .withClassLoader(new FilteredClassLoader("org.springframework.security"))
            .withConfiguration(
                AutoConfigurations.of(
                    SluiceAutoConfiguration.class,
                    SluiceServletAutoConfiguration.class,
                    SluiceLoginAutoConfiguration.class))
            .withPropertyValues(RULE);

    runner.run(
        app ->
            assertThat(
                    app.getBean(Limiter.class)
                        .decide(
                            Call.of("SecureLogin", Identity.of("login", "ann", "ip", "192.0.2.1")))
                        .allowed())
                .isTrue());
    runner
        .withPropertyValues("sluice.login.rule=SecureLogin")
        .run(
            app ->
                assertThat(app.getStartupFailure())
                    .hasStackTraceContaining("sluice.login: nothing to guard"));
  }

  private static App start(WebApplicationType type, Class<?> main, String... settings) {
    String[] all = new String[settings.length + RULE.length];
    System.arraycopy(RULE, 0, all, 0, RULE.length);
    System.arraycopy(settings, 0, all, RULE.length, settings.length);
    return App.startSecured(type, main, all);
  }
}
