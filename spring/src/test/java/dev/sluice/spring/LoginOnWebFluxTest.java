package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.spring.testing.SluiceTesting;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.core.annotation.Order;
import org.springframework.http.ResponseEntity;
import org.springframework.security.authentication.DelegatingReactiveAuthenticationManager;
import org.springframework.security.authentication.ReactiveAuthenticationManager;
import org.springframework.security.authentication.UserDetailsRepositoryReactiveAuthenticationManager;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.reactive.EnableWebFluxSecurity;
import org.springframework.security.config.web.server.ServerHttpSecurity;
import org.springframework.security.core.AuthenticationException;
import org.springframework.security.core.userdetails.ReactiveUserDetailsService;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.web.server.SecurityWebFilterChain;
import org.springframework.security.web.server.util.matcher.PathPatternParserServerWebExchangeMatcher;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Logins of WebFlux, with a manager that is a bean. */
class LoginOnWebFluxTest extends LoginContract {
  @RestController
  static class Pages {
    private final ReactiveAuthenticationManager manager;

    Pages(ReactiveAuthenticationManager manager) {
      this.manager = manager;
    }

    @GetMapping("/api/x")
    public Mono<String> secret() {
      return Mono.just("secret");
    }

    @GetMapping("/page")
    public Mono<String> page(ServerWebExchange exchange) {
      return exchange
          .getSession()
          .doOnNext(session -> session.getAttributes().put("seen", true))
          .thenReturn("until " + exchange.getAttribute(attribute()));
    }

    @PostMapping("/own")
    public Mono<ResponseEntity<String>> own(
        @RequestParam String login, @RequestParam String password) {
      return manager
          .authenticate(UsernamePasswordAuthenticationToken.unauthenticated(login, password))
          .map(found -> ResponseEntity.ok("welcome"))
          .onErrorResume(
              AuthenticationException.class, e -> Mono.just(ResponseEntity.status(401).body("no")));
    }
  }

  /** Everything but the manager. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @EnableWebFluxSecurity
  @Import({Common.class, SluiceTesting.class})
  static class WebFlux {
    @Bean
    ReactiveUserDetailsService people() {
      return name -> Mono.fromSupplier(() -> find(name));
    }

    @Bean
    @Order(1)
    SecurityWebFilterChain api(ServerHttpSecurity http) {
      return http.securityMatcher(new PathPatternParserServerWebExchangeMatcher("/api/**"))
          .authorizeExchange(all -> all.anyExchange().authenticated())
          .httpBasic(Customizer.withDefaults())
          .build();
    }

    @Bean
    @Order(2)
    SecurityWebFilterChain pages(ServerHttpSecurity http) {
      return http.authorizeExchange(all -> all.anyExchange().permitAll())
          .csrf(csrf -> csrf.disable())
          .formLogin(Customizer.withDefaults())
          .build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @Import({WebFlux.class, Pages.class})
  static class WithManager {
    @Bean
    ReactiveAuthenticationManager several(ReactiveUserDetailsService people) {
      // The first of them says nothing if it does not know somebody.
      return new DelegatingReactiveAuthenticationManager(
          login -> people.findByUsername(login.getName()).then(Mono.empty()),
          new UserDetailsRepositoryReactiveAuthenticationManager(
              name -> people.findByUsername("broken")));
    }

    @Bean
    ReactiveAuthenticationManager nothing() {
      return login -> Mono.empty();
    }

    @Bean
    ReactiveAuthenticationManager unsure() {
      return Mono::just;
    }

    @Bean
    @Order(1)
    SecurityWebFilterChain severalChain(
        ServerHttpSecurity http, @Qualifier("several") ReactiveAuthenticationManager manager) {
      return odd(http, "several", manager);
    }

    @Bean
    @Order(1)
    SecurityWebFilterChain nothingChain(
        ServerHttpSecurity http, @Qualifier("nothing") ReactiveAuthenticationManager manager) {
      return odd(http, "nothing", manager);
    }

    @Bean
    @Order(1)
    SecurityWebFilterChain unsureChain(
        ServerHttpSecurity http, @Qualifier("unsure") ReactiveAuthenticationManager manager) {
      return odd(http, "unsure", manager);
    }

    private static SecurityWebFilterChain odd(
        ServerHttpSecurity http, String path, ReactiveAuthenticationManager manager) {
      return http.securityMatcher(new PathPatternParserServerWebExchangeMatcher("/" + path + "/**"))
          .authenticationManager(manager)
          .authorizeExchange(all -> all.anyExchange().authenticated())
          .httpBasic(Customizer.withDefaults())
          .build();
    }

    @Bean
    @Primary
    UserDetailsRepositoryReactiveAuthenticationManager manager(
        ReactiveUserDetailsService people, PasswordEncoder encoder) {
      UserDetailsRepositoryReactiveAuthenticationManager manager =
          new UserDetailsRepositoryReactiveAuthenticationManager(people);
      manager.setPasswordEncoder(encoder);
      return manager;
    }
  }

  @Override
  App open() {
    return App.startSecured(WebApplicationType.REACTIVE, WithManager.class, SETTINGS);
  }

  @Test
  void loginWhoseClientGoesAwayCounts() {
    ReactiveAuthenticationManager manager = app.bean(ReactiveAuthenticationManager.class);
    // Outside of a request, so only by the rule that does without an address.
    for (int i = 0; i < 40; i++) {
      manager
          .authenticate(UsernamePasswordAuthenticationToken.unauthenticated("ann", "guess" + i))
          .subscribe()
          .dispose();
    }

    // Open reservations would refuse the next try, but lock nobody.
    assertThat(
            app.bean(Limiter.class)
                .inspect(Call.of("Account", Identity.of("login", "ann")))
                .locked())
        .isTrue();
  }
}
