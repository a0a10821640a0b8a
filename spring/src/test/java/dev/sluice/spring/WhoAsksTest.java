package dev.sluice.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.Bounds;
import jakarta.servlet.http.HttpServletRequest;
import java.net.http.HttpResponse;
import java.security.GeneralSecurityException;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.reactive.EnableWebFluxSecurity;
import org.springframework.security.config.web.server.ServerHttpSecurity;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.oauth2.jwt.NimbusReactiveJwtDecoder;
import org.springframework.security.oauth2.jwt.ReactiveJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.server.SecurityWebFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.WebSession;
import reactor.core.publisher.Mono;

/**
 * Where the identity of a request is found: its session, a cookie, a verified token, its proxies.
 */
class WhoAsksTest {
  private static final String[] SETTINGS = {
    "sluice.facets.visit=session",
    "sluice.facets.visitor.cookie=visitor",
    "sluice.facets.account.claim=account_id",
    "sluice.facets.ip=client-address",
    "sluice.rules.ByVisit.by=visit",
    "sluice.rules.ByVisit.limit=1 per 1d",
    "sluice.rules.ByVisitor.by=visitor",
    "sluice.rules.ByVisitor.limit=1 per 1d",
    "sluice.rules.ByAccount.by=account",
    "sluice.rules.ByAccount.limit=1 per 1d",
    "sluice.rules.ByAddress.by=ip",
    "sluice.rules.ByAddress.limit=1 per 1d",
    "sluice.routes[0].path=/path/visit",
    "sluice.routes[0].rule=ByVisit",
    "sluice.routes[1].path=/path/account",
    "sluice.routes[1].rule=ByAccount",
    "sluice.routes[1].place=after-security",
    "sluice.trusted-proxies=127.0.0.1",
  };
  private static final SecretKey KEY =
      new SecretKeySpec("a key of at least 256 bits, as HS256 wants".getBytes(UTF_8), "HmacSHA256");

  @RestController
  static class Pages {
    @GetMapping("/visit")
    @RateLimit("ByVisit")
    public Mono<String> visit() {
      return Mono.just("visit");
    }

    @GetMapping("/visitor")
    @RateLimit("ByVisitor")
    public Mono<String> visitor() {
      return Mono.just("visitor");
    }

    @GetMapping("/account")
    @RateLimit("ByAccount")
    public Mono<String> account() {
      return Mono.just("account");
    }

    @GetMapping("/address")
    @RateLimit("ByAddress")
    public Mono<String> address() {
      return Mono.just("address");
    }

    @GetMapping({"/path/visit", "/path/account"})
    public Mono<String> path() {
      return Mono.just("path");
    }
  }

  @RestController
  static class MvcDoor {
    @GetMapping("/enter")
    public String enter(HttpServletRequest request) {
      return request.getSession().getId();
    }
  }

  @RestController
  static class FluxDoor {
    @GetMapping("/enter")
    public String enter(WebSession session) {
      session.start();
      return session.getId();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({Pages.class, MvcDoor.class})
  static class Mvc {
    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
      return http.authorizeHttpRequests(all -> all.anyRequest().permitAll())
          .oauth2ResourceServer(tokens -> tokens.jwt(Customizer.withDefaults()))
          .build();
    }

    @Bean
    JwtDecoder tokens() {
      return NimbusJwtDecoder.withSecretKey(KEY).build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @EnableWebFluxSecurity
  @Import({Pages.class, FluxDoor.class})
  static class WebFlux {
    @Bean
    SecurityWebFilterChain chain(ServerHttpSecurity http) {
      return http.authorizeExchange(all -> all.anyExchange().permitAll())
          .oauth2ResourceServer(tokens -> tokens.jwt(Customizer.withDefaults()))
          .build();
    }

    @Bean
    ReactiveJwtDecoder tokens() {
      return NimbusReactiveJwtDecoder.withSecretKey(KEY).build();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"SERVLET", "REACTIVE"})
  void eachIsCountedByItself(WebApplicationType type) throws GeneralSecurityException {
    Class<?> main = type == WebApplicationType.SERVLET ? Mvc.class : WebFlux.class;
    try (App app = App.startSecured(type, main, SETTINGS)) {
      checkSessions(app, type == WebApplicationType.SERVLET ? "JSESSIONID=" : "SESSION=");
      checkCookies(app);
      checkClaims(app);
      checkAddresses(app);
    }
  }

  private static void checkSessions(App app, String cookie) {
    String one = cookie + app.get("/enter").body();
    String other = cookie + app.get("/enter").body();

    for (String visit : new String[] {one, other}) {
      assertThat(app.get("/visit", "Cookie", visit).statusCode()).isEqualTo(200);
      assertThat(app.get("/visit", "Cookie", visit).statusCode()).isEqualTo(429);
    }
    // A session that nobody began is none, so it is no way to a fresh account.
    assertThat(app.get("/visit", "Cookie", cookie + "invented").statusCode()).isEqualTo(400);
    assertThat(app.get("/visit").statusCode()).isEqualTo(400);
    assertThat(app.get("/path/visit").statusCode()).isEqualTo(400);
    assertThat(app.get("/path/visit", "Cookie", one).statusCode()).isEqualTo(429);
  }

  private static void checkCookies(App app) {
    assertThat(app.get("/visitor", "Cookie", "visitor=ann").statusCode()).isEqualTo(200);
    assertThat(app.get("/visitor", "Cookie", "visitor=ann").statusCode()).isEqualTo(429);
    assertThat(app.get("/visitor", "Cookie", "visitor=bob").statusCode()).isEqualTo(200);
    assertThat(app.get("/visitor", "Cookie", "other=ann").statusCode()).isEqualTo(400);
  }

  private static void checkClaims(App app) throws GeneralSecurityException {
    String ann = "Bearer " + token("a1", KEY);
    String bob = "Bearer " + token("b2", KEY);
    String forged =
        "Bearer " + token("c3", new SecretKeySpec("x".repeat(32).getBytes(UTF_8), "HmacSHA256"));

    assertThat(app.get("/account", "Authorization", ann).statusCode()).isEqualTo(200);
    assertThat(app.get("/path/account", "Authorization", ann).statusCode()).isEqualTo(429);
    assertThat(app.get("/path/account", "Authorization", bob).statusCode()).isEqualTo(200);
    assertThat(app.get("/account", "Authorization", bob).statusCode()).isEqualTo(429);
    assertThat(app.get("/account", "Authorization", forged).statusCode()).isEqualTo(401);
    assertThat(app.get("/account").statusCode()).isEqualTo(400);
    String list = "Bearer " + signed("[\"a1\",\"b2\"]", KEY);
    HttpResponse<String> refused = app.get("/account", "Authorization", list);
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(refused.body())
        .contains("claim 'account_id' is a list (expected: a single value: text, a number,");
    assertThat(app.get("/path/account", "Authorization", list).statusCode()).isEqualTo(400);
    String object = "Bearer " + signed("{\"id\":\"a1\"}", KEY);
    assertThat(app.get("/account", "Authorization", object).body()).contains("is an object");
    String number = "Bearer " + signed("17", KEY);
    assertThat(app.get("/account", "Authorization", number).statusCode()).isEqualTo(200);
    String tooLong = "Bearer " + token("x".repeat(Bounds.LONGEST_FACET_VALUE + 1), KEY);
    assertThat(app.get("/account", "Authorization", tooLong).statusCode()).isEqualTo(400);
    assertThat(app.get("/path/account", "Authorization", tooLong).statusCode()).isEqualTo(400);
  }

  private static void checkAddresses(App app) {
    assertThat(app.get("/address", "X-Forwarded-For", "203.0.113.7").statusCode()).isEqualTo(200);
    // What the client says of itself stands left of what the proxy saw.
    assertThat(app.get("/address", "X-Forwarded-For", "198.51.100.9, 203.0.113.7").statusCode())
        .isEqualTo(429);
    assertThat(app.get("/address", "X-Forwarded-For", "203.0.113.8").statusCode()).isEqualTo(200);
  }

  private static String token(String account, SecretKey key) throws GeneralSecurityException {
    return signed("\"" + account + "\"", key);
  }

  /** A token whose account is any JSON. */
  private static String signed(String account, SecretKey key) throws GeneralSecurityException {
    String signed =
        base64("{\"alg\":\"HS256\"}") + "." + base64("{\"account_id\":" + account + "}");
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(key);
    byte[] signature = mac.doFinal(signed.getBytes(UTF_8));
    return signed + "." + Base64.getUrlEncoder().withoutPadding().encodeToString(signature);
  }

  private static String base64(String text) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(text.getBytes(UTF_8));
  }
}
