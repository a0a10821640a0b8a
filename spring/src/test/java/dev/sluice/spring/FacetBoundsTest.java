package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.Bounds;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** Facets that are too long or too many are a bad request, before the store is asked. */
class FacetBoundsTest {
  private static final String LONGEST = "x".repeat(Bounds.LONGEST_FACET_VALUE);
  private static final String TOO_LONG = LONGEST + "x";

  @RestController
  static class Pages {
    @GetMapping({"/route/key", "/route/visitor", "/route/search", "/route/all"})
    public Mono<String> route() {
      return Mono.just("route");
    }

    @GetMapping("/key")
    @RateLimit("Key")
    public Mono<String> key() {
      return Mono.just("key");
    }

    @GetMapping("/argument")
    @RateLimit(value = "Key", by = "key=#value")
    public Mono<String> argument(@RequestParam String value) {
      return Mono.just("argument");
    }

    @GetMapping("/direct")
    @RateLimit(value = "Key", by = "key=#value")
    public String direct(@RequestParam String value) {
      return "direct";
    }

    @GetMapping("/cost")
    @RateLimit(value = "Key", by = "key='k'", cost = "#cost")
    public Mono<String> cost(@RequestParam long cost) {
      return Mono.just("cost");
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Pages.class)
  static class Main {
    @Bean
    TroubledStore store() {
      return TroubledStore.failing();
    }
  }

  private static String[] settings() {
    List<String> all = new ArrayList<>();
    all.add("server.max-http-request-header-size=64KB");
    all.add("sluice.facets.key.header=X-Key");
    all.add("sluice.facets.visitor.cookie=visitor");
    all.add("sluice.facets.search.query=q");
    for (int i = 1; i <= Bounds.MOST_FACETS + 1; i++) {
      all.add("sluice.facets.f%d.header=X-F%d".formatted(i, i));
    }
    for (String by : List.of("key", "visitor", "search")) {
      String rule = by.equals("key") ? "Key" : by;
      all.add("sluice.rules.%s.by=%s".formatted(rule, by));
      all.add("sluice.rules.%s.limit=1000 per 1d".formatted(rule));
    }
    all.add("sluice.rules.All.limit=1000 per 1d");
    int route = 0;
    for (String path : List.of("Key", "visitor", "search", "All")) {
      all.add("sluice.routes[%d].path=/route/%s".formatted(route, path.toLowerCase(Locale.ROOT)));
      all.add("sluice.routes[%d].rule=%s".formatted(route, path));
      route++;
    }
    return all.toArray(new String[0]);
  }

  private static String[] headers(int count) {
    List<String> headers = new ArrayList<>();
    for (int i = 1; i <= count; i++) {
      headers.add("X-F" + i);
      headers.add("v");
    }
    return headers.toArray(new String[0]);
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void facetsOverTheBoundAreABadRequestAndNeverReachTheStore(WebApplicationType type) {
    try (App app = App.start(type, Main.class, settings())) {
      assertThat(app.get("/route/key", "X-Key", LONGEST).statusCode()).isEqualTo(200);
      assertThat(app.get("/key", "X-Key", LONGEST).statusCode()).isEqualTo(200);
      assertThat(app.get("/argument?value=" + LONGEST).statusCode()).isEqualTo(200);
      assertThat(app.get("/route/all", headers(Bounds.MOST_FACETS)).statusCode()).isEqualTo(200);
      int asked = app.bean(TroubledStore.class).takes();

      assertThat(app.get("/route/key", "X-Key", TOO_LONG).statusCode()).isEqualTo(400);
      assertThat(app.get("/key", "X-Key", TOO_LONG).statusCode()).isEqualTo(400);
      assertThat(app.get("/route/visitor", "Cookie", "visitor=" + TOO_LONG).statusCode())
          .isEqualTo(400);
      assertThat(app.get("/route/search?q=" + TOO_LONG).statusCode()).isEqualTo(400);
      assertThat(app.get("/argument?value=" + TOO_LONG).body()).contains("1,024");
      assertThat(app.get("/direct?value=" + TOO_LONG).statusCode()).isEqualTo(400);
      assertThat(app.get("/route/all", headers(Bounds.MOST_FACETS + 1)).statusCode())
          .isEqualTo(400);
      assertThat(app.get("/cost?cost=-1").statusCode()).isEqualTo(400);
      assertThat(app.get("/cost?cost=" + Long.MAX_VALUE).statusCode()).isEqualTo(400);

      assertThat(app.bean(TroubledStore.class).takes()).isEqualTo(asked);
    }
  }
}
