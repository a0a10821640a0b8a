package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;

class ActuatorTest {
  private static final String[] SETTINGS =
      Stream.of(
              Shop.on("memory"),
              new String[] {
                "management.endpoints.web.exposure.include=*",
                "management.endpoint.health.show-details=always",
              })
          .flatMap(Arrays::stream)
          .toArray(String[]::new);

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void rulesLocksLookLiftMetricsAndHealth(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (App app = App.start(type, main, SETTINGS)) {
      for (int i = 0; i < 4; i++) {
        app.get("/code?login=ann&code=1");
      }

      assertThat(app.get("/actuator/sluice").body())
          .contains("\"Code\":\"Code: 3 per 30m", "\"/api/**\"", "Pages.code\":[\"Code\"]");
      assertThat(app.get("/actuator/sluice/rules").body()).contains("\"Play\"");
      assertThat(app.get("/actuator/sluice/locks").body())
          .contains("\"identity\":\"login=ann\"", "\"rule\":\"Code\"", "\"until\"");
      assertThat(app.get("/actuator/sluice/locks/Play").body()).isEqualTo("[]");
      assertThat(app.get("/actuator/sluice/locks/Nope").statusCode()).isEqualTo(404);
      assertThat(app.get("/actuator/sluice/look/Code/login=ann").body())
          .contains("\"allowed\":false", "\"restrictedUntil\":1");
      assertThat(app.send("DELETE", "/actuator/sluice/locks/Code/login=ann").body())
          .isEqualTo("{\"lifted\":true}");
      assertThat(app.get("/actuator/sluice/locks").body()).isEqualTo("[]");

      assertThat(app.get("/actuator/metrics/sluice.decisions?tag=outcome:locked").body())
          .contains("\"statistic\":\"COUNT\",\"value\":1.0");
      assertThat(app.get("/actuator/health").body())
          .containsPattern("\"sluice\":\\{[^}]*\"rules\":5[^}]*}");
    }
  }
}
