package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.spring.testing.SluiceTesting;
import jakarta.servlet.http.HttpServletRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.annotation.Order;
import org.springframework.http.ResponseEntity;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.authentication.ProviderManager;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.authentication.dao.DaoAuthenticationProvider;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.authentication.configuration.AuthenticationConfiguration;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.AuthenticationException;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.core.userdetails.UsernameNotFoundException;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestAttribute;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Logins of servlets: also by remember-me, and by a manager that is no bean. */
class LoginOnMvcTest extends LoginContract {
  @RestController
  static class Pages {
    private final AuthenticationManager manager;

    Pages(AuthenticationManager manager) {
      this.manager = manager;
    }

    @GetMapping({"/api/x", "/inline/x", "/members/x"})
    public String secret() {
      return "secret";
    }

    @GetMapping("/page")
    public String page(
        @RequestAttribute(name = "loginRestrictedUntil", required = false) Long until,
        HttpServletRequest request) {
      request.getSession();
      return "until " + until;
    }

    @PostMapping("/own")
    public ResponseEntity<String> own(@RequestParam String login, @RequestParam String password) {
      try {
        manager.authenticate(UsernamePasswordAuthenticationToken.unauthenticated(login, password));
        return ResponseEntity.ok("welcome");
      } catch (AuthenticationException e) {
        return ResponseEntity.status(401).body("no");
      }
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Common.class, Pages.class, SluiceTesting.class})
  static class Mvc {
    @Bean
    UserDetailsService people() {
      return name -> {
        UserDetails found = find(name);
        if (found == null) {
          throw new UsernameNotFoundException(name);
        }
        return found;
      };
    }

    @Bean
    AuthenticationManager manager(AuthenticationConfiguration configuration) throws Exception {
      return configuration.getAuthenticationManager();
    }

    @Bean
    @Order(1)
    SecurityFilterChain api(HttpSecurity http) throws Exception {
      return http.securityMatcher("/api/**")
          .authorizeHttpRequests(all -> all.anyRequest().authenticated())
          .httpBasic(Customizer.withDefaults())
          .build();
    }

    @Bean
    @Order(2)
    SecurityFilterChain inline(
        HttpSecurity http, UserDetailsService people, PasswordEncoder encoder) throws Exception {
      DaoAuthenticationProvider provider = new DaoAuthenticationProvider(people);
      provider.setPasswordEncoder(encoder);
      return http.securityMatcher("/inline/**")
          .authenticationManager(new ProviderManager(provider))
          .authorizeHttpRequests(all -> all.anyRequest().authenticated())
          .httpBasic(Customizer.withDefaults())
          .build();
    }

    @Bean
    @Order(1)
    SecurityFilterChain several(
        HttpSecurity http, UserDetailsService people, PasswordEncoder encoder) throws Exception {
      DaoAuthenticationProvider first = new DaoAuthenticationProvider(people);
      first.setPasswordEncoder(encoder);
      DaoAuthenticationProvider away = new DaoAuthenticationProvider(name -> find("broken"));
      return odd(http, "several", new ProviderManager(List.of(first), new ProviderManager(away)));
    }

    @Bean
    @Order(1)
    SecurityFilterChain nothing(HttpSecurity http) throws Exception {
      return odd(http, "nothing", login -> null);
    }

    @Bean
    @Order(1)
    SecurityFilterChain unsure(HttpSecurity http) throws Exception {
      return odd(http, "unsure", login -> login);
    }

    private static SecurityFilterChain odd(
        HttpSecurity http, String path, AuthenticationManager manager) throws Exception {
      return http.securityMatcher("/" + path + "/**")
          .authenticationManager(manager)
          .authorizeHttpRequests(all -> all.anyRequest().authenticated())
          .httpBasic(Customizer.withDefaults())
          .build();
    }

    @Bean
    @Order(3)
    SecurityFilterChain pages(HttpSecurity http) throws Exception {
      return http.authorizeHttpRequests(
              all -> all.requestMatchers("/members/**").authenticated().anyRequest().permitAll())
          .csrf(csrf -> csrf.disable())
          .formLogin(Customizer.withDefaults())
          .rememberMe(remember -> remember.key("a key for tests").rememberMeCookieName("stay"))
          .build();
    }
  }

  @Override
  App open() {
    return App.startSecured(
        WebApplicationType.SERVLET,
        Mvc.class,
        SETTINGS[0],
        "server.servlet.session.cookie.name=SESSION");
  }

  @Test
  void managerThatIsNoBeanIsGuardedIfHttpSecurityHasIt() {
    assertThat(IntStream.range(0, 4).map(i -> app.getAs("ann", "wrong", "/inline/x").statusCode()))
        .containsExactly(401, 401, 401, 429);
  }

  @Test
  void goodRememberMeCookieCostsNothing() {
    HttpResponse<String> login = app.post("/login", form("ann", "secret") + "&remember-me=on");
    String cookie = cookie(login, "stay");

    assertThat(IntStream.range(0, 20).map(i -> members(cookie))).containsOnly(200);
    assertThat(statuses(1, "ann", "secret")).containsOnly(200);
  }

  @Test
  void badRememberMeCookieCountsByAddressAndThenNoCookieIsLookedAt() {
    String good = cookie(app.post("/login", form("ann", "secret") + "&remember-me=on"), "stay");
    IntStream.range(0, 9).forEach(i -> members("stay=guess" + i));
    assertThat(members(good)).isEqualTo(200);

    members("stay=guess9");

    assertThat(members(good)).isEqualTo(302);
    assertThat(app.get("/page", "Cookie", good).statusCode()).isEqualTo(200);
    assertThat(statuses(1, "bob", "secret")).containsOnly(429);
  }

  @Test
  void badCookieOfAPageWithManyRequestsCountsOnce() {
    IntStream.range(0, 30).forEach(i -> members("stay=stale"));

    assertThat(statuses(1, "bob", "secret")).containsOnly(200);
  }

  private int members(String cookie) {
    return app.get("/members/x", "Cookie", cookie, "Accept", "text/html").statusCode();
  }
}
