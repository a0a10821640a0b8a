package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Identity;
import dev.sluice.Limiter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
      assertThat(app.get("/actuator/sluice/locks/Play").body())
          .isEqualTo("{\"locks\":[],\"total\":0}");
      assertThat(app.get("/actuator/sluice/locks/Nope").statusCode()).isEqualTo(404);
      assertThat(app.get("/actuator/sluice/look/Code/login=ann").body())
          .contains("\"allowed\":false", "\"restrictedUntil\":1");
      assertThat(app.send("DELETE", "/actuator/sluice/locks/Code/login=ann").body())
          .isEqualTo("{\"lifted\":true}");
      assertThat(app.get("/actuator/sluice/locks").body()).isEqualTo("{\"locks\":[],\"total\":0}");

      assertThat(app.get("/actuator/metrics/sluice.decisions?tag=outcome:locked").body())
          .contains("\"statistic\":\"COUNT\",\"value\":1.0");
      assertThat(app.get("/actuator/health").body())
          .containsPattern("\"sluice\":\\{[^}]*\"rules\":5[^}]*}");
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void nothingIsShownOverHttpUnlessTheApplicationExposesIt(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (App app = App.start(type, main, Shop.on("memory"))) {
      assertThat(app.get("/actuator/sluice").statusCode()).isEqualTo(404);
      assertThat(app.get("/actuator/sluice/locks").statusCode()).isEqualTo(404);
    }
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void locksAreListedInPages(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (App app = App.start(type, main, SETTINGS)) {
      Limiter limiter = app.bean(Limiter.class);
      for (int i = 0; i < 1_205; i++) {
        Identity login = Identity.of("login", "user" + i);
        limiter.lock("Code", login, Duration.ofHours(1), "by hand").toCompletableFuture().join();
      }

      Set<String> listed = new TreeSet<>();
      String path = "/actuator/sluice/locks/Code?limit=1000";
      String first = app.get(path).body();
      assertThat(names(first, listed)).isEqualTo(1_000);
      assertThat(first).contains("\"total\":1205");
      String second = app.get(path + "&after=" + next(first)).body();
      assertThat(names(second, listed)).isEqualTo(205);
      assertThat(second).doesNotContain("\"next\"");
      assertThat(listed).hasSize(1_205);

      assertThat(names(app.get("/actuator/sluice/locks").body(), listed)).isEqualTo(100);
      assertThat(refusal(app, "/actuator/sluice/locks?limit=1001")).isEqualTo(400);
      assertThat(refusal(app, "/actuator/sluice/locks?limit=0")).isEqualTo(400);
      assertThat(refusal(app, "/actuator/sluice/locks?after=x")).isEqualTo(400);
      assertThat(refusal(app, "/actuator/sluice/look/Code/nonsense")).isEqualTo(400);
    }
  }

  /**
   * The status of a refusal. On WebFlux about one request in 150 that an actuator endpoint answers
   * with 400, those of Spring Boot included, sees its connection closed instead: then asks again.
   */
  private static int refusal(App app, String path) {
    for (int tries = 1; ; tries++) {
      try {
        return app.get(path).statusCode();
      } catch (UncheckedIOException e) {
        if (tries == 5) {
          throw e;
        }
      }
    }
  }

  private static int names(String page, Set<String> to) {
    List<String> found =
        Pattern.compile("login=user[0-9]+").matcher(page).results().map(r -> r.group()).toList();
    to.addAll(found);
    return found.size();
  }

  private static String next(String page) {
    Matcher next = Pattern.compile("\"next\":\"([^\"]+)\"").matcher(page);
    assertThat(next.find()).isTrue();
    return next.group(1);
  }
}
