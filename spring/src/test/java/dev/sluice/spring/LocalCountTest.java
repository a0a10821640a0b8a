package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.Store;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** While a node counts for itself, decisions are decisions like any other. */
class LocalCountTest {
  private static final String[] SETTINGS =
      Stream.of(
              Shop.on("memory"),
              new String[] {
                "management.endpoints.web.exposure.include=*",
                "management.endpoint.health.show-details=always",
              })
          .flatMap(Arrays::stream)
          .toArray(String[]::new);

  @Configuration(proxyBeanMethods = false)
  @Import(Shop.Mvc.class)
  static class Mvc {
    @Bean
    Store store() {
      return TroubledStore.countingForItself();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @Import(Shop.WebFlux.class)
  static class WebFlux {
    @Bean
    Store store() {
      return TroubledStore.countingForItself();
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void localCountsAreRefundedRefusedAndMeasured(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Mvc.class : WebFlux.class;
    try (App app = App.start(type, main, SETTINGS)) {
      assertThat(statuses(5, app, "/code?login=ann&code=42")).containsOnly(200);
      assertThat(statuses(5, app, "/later?login=bob&ok=true")).containsOnly(200);
      assertThat(statuses(4, app, "/code?login=ann&code=1")).containsExactly(401, 401, 401, 429);

      assertThat(app.get("/actuator/metrics/sluice.decisions?tag=counted.by:local").statusCode())
          .isEqualTo(200);
      assertThat(app.get("/actuator/metrics/sluice.decisions?tag=counted.by:store").statusCode())
          .isEqualTo(404);
      assertThat(app.get("/actuator/sluice/look/Code/login=ann").statusCode()).isEqualTo(503);
      assertThat(app.get("/actuator/health").body())
          .contains("\"status\":\"DEGRADED\"", "\"store\":\"no answer\"", "allkeys-lru");
    }
  }

  private static List<Integer> statuses(int times, App app, String path) {
    return IntStream.range(0, times).mapToObj(i -> app.get(path).statusCode()).toList();
  }
}
