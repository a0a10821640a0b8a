package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;

/** Redis away at the start, and later: each rule's choice, within the deadline. */
class RedisDownIT {
  private static String[] settings(int port) {
    String[] store = {
      "sluice.store=spring",
      "spring.data.redis.port=" + port,
      "spring.data.redis.host=127.0.0.1",
      "management.health.redis.enabled=false",
      "sluice.rules.Play.onStoreFailure=deny",
      "sluice.rules.Api.onStoreFailure=allow",
      "management.endpoints.web.exposure.include=*",
      "management.endpoint.health.show-details=always",
    };
    return Stream.of(Shop.SETTINGS, store).flatMap(Arrays::stream).toArray(String[]::new);
  }

  @ParameterizedTest
  @CsvSource({"SERVLET", "REACTIVE"})
  void rulesDecideWithoutTheStoreAndCountAgainWithIt(WebApplicationType type) {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest())) {
      redis.kill();
      try (App app = App.start(type, main, settings(redis.port()))) {
        checkDegraded(app);
        checkWithoutStore(app);
        checkLocalCount(app, "before");
        checkOperatorsSeeTheOutage(app);

        redis.restart();
        waitUntilUp(app);
        assertThat(app.get("/play?member=fresh").statusCode()).isEqualTo(200);

        redis.pause();
        checkWithoutStore(app);
        checkLocalCount(app, "paused");
        redis.resume();
      }
    }
  }

  private static void checkWithoutStore(App app) {
    long start = System.nanoTime();
    HttpResponse<String> open = app.get("/api/1", "X-Key", "k");
    HttpResponse<String> shut = app.get("/play?member=ann");
    Duration took = Duration.ofNanos(System.nanoTime() - start);

    assertThat(open.statusCode()).isEqualTo(200);
    assertThat(shut.statusCode()).isEqualTo(503);
    assertThat(shut.body()).contains("temporary-reduced-capacity");
    assertThat(App.header(shut, "Retry-After")).isEqualTo("1");
    assertThat(took).isLessThan(Duration.ofSeconds(3)); // two deadlines, on a busy machine
    checkDegraded(app);
  }

  private static void checkDegraded(App app) {
    HttpResponse<String> health = app.get("/actuator/health/sluice");
    assertThat(health.statusCode()).isEqualTo(200);
    assertThat(health.body()).contains("\"status\":\"DEGRADED\"", "\"store\":\"Redis");
  }

  /** An operator sees that Redis does not answer, and gets no guess of this node. */
  private static void checkOperatorsSeeTheOutage(App app) {
    List<HttpResponse<String>> answers =
        List.of(
            app.get("/actuator/sluice/locks"),
            app.get("/actuator/sluice/locks/Code"),
            app.get("/actuator/sluice/look/Code/login=ann"),
            app.send("DELETE", "/actuator/sluice/locks/Code/login=ann"),
            app.send("DELETE", "/actuator/sluice/accounts/Code/login=ann"),
            app.postJson("/actuator/sluice/locks/Code/login=ann", "{\"duration\":\"1m\"}"));

    assertThat(answers)
        .allSatisfy(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(503);
              assertThat(answer.body())
                  .contains("\"status\":503,\"detail\":", "Redis at 127.0.0.1");
            });
  }

  /** A rule that says nothing about it is counted by this node alone. */
  private static void checkLocalCount(App app, String member) {
    assertThat(
            IntStream.range(0, 5)
                .mapToObj(i -> app.get("/bulk?promo=p&n=1&member=" + member).statusCode()))
        .containsExactly(200, 200, 200, 429, 429);
  }

  /** By itself, without a call. Another process comes back: no clock of ours can be moved. */
  private static void waitUntilUp(App app) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!app.get("/actuator/health/sluice").body().contains("\"status\":\"UP\"")) {
      assertThat(System.nanoTime()).isLessThan(end);
    }
  }
}
