package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.reactive.EnableWebFluxSecurity;
import org.springframework.security.config.web.server.ServerHttpSecurity;
import org.springframework.security.core.userdetails.MapReactiveUserDetailsService;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.server.SecurityWebFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** With Spring Security: before it every request counts, after it the user is known. */
class SecurityTest {
  private static final String[] SETTINGS = {
    "sluice.rules.ByMember.by=member",
    "sluice.rules.ByMember.limit=2 per 1m",
    "sluice.rules.Address.by=ip",
    "sluice.rules.Address.limit=3 per 1m",
    "sluice.routes[0].path=/after/**",
    "sluice.routes[0].rule=ByMember",
    "sluice.routes[0].place=after-security",
    "sluice.routes[1].path=/before/**",
    "sluice.routes[1].rule=Address",
  };

  @RestController
  static class Pages {
    @GetMapping({"/after/x", "/before/x"})
    public Mono<String> page() {
      return Mono.just("page");
    }

    @GetMapping("/annotated")
    @RateLimit("ByMember")
    public Mono<String> annotated() {
      return Mono.just("annotated");
    }
  }

  private static UserDetails user(String name) {
    return User.withUsername(name).password("{noop}secret").roles("USER").build();
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Pages.class)
  static class Mvc {
    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
      return http.authorizeHttpRequests(all -> all.anyRequest().authenticated())
          .httpBasic(Customizer.withDefaults())
          .build();
    }

    @Bean
    InMemoryUserDetailsManager users() {
      return new InMemoryUserDetailsManager(user("ann"), user("bob"));
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @EnableWebFluxSecurity
  @Import(Pages.class)
  static class WebFlux {
    @Bean
    SecurityWebFilterChain chain(ServerHttpSecurity http) {
      return http.authorizeExchange(all -> all.anyExchange().authenticated())
          .httpBasic(Customizer.withDefaults())
          .build();
    }

    @Bean
    MapReactiveUserDetailsService users() {
      return new MapReactiveUserDetailsService(user("ann"), user("bob"));
    }
  }

  @Test
  void onMvc() {
    check(WebApplicationType.SERVLET, Mvc.class);
  }

  @Test
  void onWebFlux() {
    check(WebApplicationType.REACTIVE, WebFlux.class);
  }

  private static void check(WebApplicationType type, Class<?> main) {
    try (App app = App.startSecured(type, main, SETTINGS)) {
      assertThat(repeat(3, () -> app.get("/after/x").statusCode())).containsOnly(401);
      assertThat(repeat(3, () -> app.getAs("ann", "/after/x").statusCode()))
          .containsExactly(200, 200, 429);
      assertThat(repeat(3, () -> app.getAs("bob", "/annotated").statusCode()))
          .containsExactly(200, 200, 429);
      // No client may claim the address of another.
      AtomicInteger next = new AtomicInteger();
      assertThat(repeat(4, () -> callFrom(app, "203.0.113." + next.incrementAndGet())))
          .containsExactly(401, 401, 401, 429);
    }
  }

  private static int callFrom(App app, String pretended) {
    return app.get("/before/x", "X-Forwarded-For", pretended).statusCode();
  }

  private static List<Integer> repeat(int times, Supplier<Integer> call) {
    return IntStream.range(0, times).mapToObj(i -> call.get()).toList();
  }
}
