package dev.sluice.spring.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.SluiceProperties.Place;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.http.server.PathContainer;

/** What is left of a path when everything is taken out that some reader leaves out. */
class PathReadingTest {
  @ParameterizedTest
  @CsvSource({
    "/api/1, /api/1",
    "/api/1/, /api/1",
    "//api///1, /api/1",
    "/./api/./1/., /api/1",
    "/x/../api/1, /api/1",
    "/../../api/1, /api/1",
    "/api;a=b/1;c, /api/1",
    "/%61pi/%31, /api/1",
    "/%2561pi/1, /api/1",
    "/api%2F1, /api/1",
    "/api%5c1, /api/1",
    "/api\\1, /api/1",
    "/api/1%20, /api/1",
    "/api/1%0a, /api/1",
    "/api/1%3Bv=1, /api/1",
    "/%2e%2e/api/1, /api/1",
    "/100%, /100%",
    "/, /",
  })
  void pathWithoutWhatReadersLeaveOut(String path, String plain) {
    assertThat(PathReading.plain(path)).isEqualTo(plain);
  }

  @Test
  void otherReadingsCountButDoNotChooseTheAccount() {
    Routes routes =
        routes(
            Map.of(
                "sluice.routes[0].path", "/api/*",
                "sluice.routes[0].rule", "Any",
                "sluice.routes[1].path", "/api/one",
                "sluice.routes[1].rule", "One"));

    assertThat(match(routes, "/api/one"))
        .isEqualTo(new Routes.Match(List.of("Any", "One"), "/api/one"));
    assertThat(match(routes, "/api//one"))
        .isEqualTo(new Routes.Match(List.of("Any", "One"), "/api/one"));
    assertThat(match(routes, "/api/one%20"))
        .isEqualTo(new Routes.Match(List.of("Any", "One"), "/api/*"));
    assertThat(match(routes, "/free")).isNull();
  }

  @Test
  void prefixCountsOnlyForRoutesThatAreWrittenWithIt() {
    Routes routes =
        routes(
            Map.of(
                "sluice.routes[0].path", "/{tenant}/orders",
                "sluice.routes[0].rule", "Tenant",
                "sluice.routes[1].path", "/shop/**",
                "sluice.routes[1].rule", "Shop"));

    assertThat(match(routes, "/orders", "/shop"))
        .isEqualTo(new Routes.Match(List.of("Shop"), "/shop/**"));
    assertThat(match(routes, "/orders")).isNull();
  }

  private static Routes routes(Map<String, String> properties) {
    SluiceProperties bound =
        new Binder(new MapConfigurationPropertySource(new HashMap<>(properties)))
            .bindOrCreate("sluice", SluiceProperties.class);
    return Routes.at(Place.BEFORE_SECURITY, bound);
  }

  private static Routes.Match match(Routes routes, String path, String... prefixes) {
    return routes.match(
        "GET",
        PathReading.of(PathContainer.parsePath(path), List.of(prefixes), false, pattern -> false));
  }
}
