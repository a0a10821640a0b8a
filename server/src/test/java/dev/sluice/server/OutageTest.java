package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.memory.MemoryStore;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import dev.sluice.store.Store;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What callers, operators and scrapers see while the store does not answer. */
class OutageTest {
  private static final String CALL =
      "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"ann\"},\"receipt\":true}";

  @Test
  void aLocallyCountedCallSaysSoAndADenialIs429() {
    try (Sluice sluice = Sluice.start(new StoreInAnOutage())) {
      JsonNode allowed = sluice.post("/v1/check", CALL).json();
      sluice.post("/v1/check", CALL);
      JsonNode denied = sluice.post("/v1/check", CALL).json();
      for (int i = 0; i < 5; i++) {
        sluice.get("/v1/gate/RetryStorm");
      }

      assertThat(allowed.path("outcome").asText()).isEqualTo("allowed");
      assertThat(allowed.path("countedBy").asText()).isEqualTo("local");
      assertThat(allowed.path("remaining").asInt()).isEqualTo(1);
      assertThat(denied.path("outcome").asText()).isEqualTo("denied");
      assertThat(denied.path("countedBy").asText()).isEqualTo("local");
      assertThat(sluice.get("/v1/gate/RetryStorm").status()).isEqualTo(429);
      assertThat(sluice.get("/metrics").response().body())
          .contains(
              "sluice_decisions_total{counted_by=\"local\",locked=\"false\",outcome=\"allowed\",rule=\"SecureLogin\"} 2.0")
          .contains(
              "sluice_decisions_total{counted_by=\"local\",locked=\"true\",outcome=\"denied\",rule=\"SecureLogin\"} 1.0")
          .contains(
              "sluice_decisions_total{counted_by=\"local\",locked=\"false\",outcome=\"denied\",rule=\"RetryStorm\"} 1.0")
          .contains(
              "sluice_decisions_total{counted_by=\"store\",locked=\"false\",outcome=\"allowed\",rule=\"SecureLogin\"} 0.0")
          .doesNotContain("sluice_degraded_seconds_total 0.0");
    }
  }

  @Test
  void healthIsDegradedWhileANodeCountsAlone() {
    try (Sluice sluice = Sluice.start(new StoreInAnOutage())) {
      assertThat(degraded(sluice)).isFalse();

      sluice.post("/v1/check", CALL);

      assertThat(degraded(sluice)).isTrue();
    }
  }

  private static boolean degraded(Sluice sluice) {
    return sluice.get("/health/ready").json().path("degraded").asBoolean();
  }

  @Test
  void warningsOfTheStoreAreInHealthAndAGauge() {
    try (Sluice sluice = Sluice.start(new StoreInAnOutage());
        Sluice well = Sluice.start()) {
      Sluice.Answer ready = sluice.get("/health/ready");

      assertThat(ready.status()).isEqualTo(200);
      assertThat(ready.json().path("warnings").get(0).asText()).isEqualTo(StoreInAnOutage.WARNING);
      assertThat(sluice.get("/metrics").response().body()).contains("sluice_store_warnings 1.0");
      assertThat(well.get("/health/ready").json().path("warnings")).isEmpty();
      assertThat(well.get("/metrics").response().body()).contains("sluice_store_warnings 0.0");
    }
  }

  @Test
  void aReceiptThatAnotherNodeCountedAloneIsRefusedInClearWords() {
    try (Sluice sluice = Sluice.start(new StoreInAnOutage())) {
      String receipt = sluice.post("/v1/check", CALL).json().path("receipt").asText();

      Sluice.Answer settled =
          sluice.post("/v1/settle", "{\"receipt\":\"" + receipt + "\",\"cost\":0}");

      assertThat(settled.status()).isEqualTo(400);
      assertThat(settled.errors())
          .containsExactly("receipt: counted by node node-1 alone (expected: settle it there)");
    }
  }

  @Test
  void anIdOfAnotherQuestionIs422() {
    try (Sluice sluice = Sluice.start(new StoreInAnOutage())) {
      Sluice.Answer answer = sluice.post("/v1/check", CALL.replace("},", "},\"id\":\"reused\","));

      assertThat(answer.status()).isEqualTo(422);
      assertThat(answer.errors())
          .containsExactly(
              "id: 'reused' was used for another call (expected: the same rules, costs and intent)");
    }
  }

  @Test
  void operatorsAreNotShownWhatANodeCountedAlone() {
    try (Sluice sluice = Sluice.start(new StoreInAnOutage())) {
      Sluice.Answer answer = sluice.send(sluice.admin("GET", "/v1/accounts/SecureLogin?login=ann"));

      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.errors()).containsExactly("store: it did not answer");
    }
  }

  /** Against a port at which no Redis listens. */
  @Test
  void aStoreThatIsAwayIs503AndNamed() throws Exception {
    List<String> routes =
        List.of(
            "GET /v1/locks",
            "GET /v1/accounts/SecureLogin?login=ann",
            "DELETE /v1/accounts/SecureLogin?login=ann",
            "PUT /v1/locks/SecureLogin?login=ann",
            "DELETE /v1/locks/SecureLogin?login=ann",
            "POST /v1/receipts/rotate");
    String nobody = "redis://127.0.0.1:" + Program.freePort();
    String rules = "rules: {SecureLogin: {by: [login], limit: 2 per 1d, onStoreFailure: deny}}";
    Store away = Stores.open(nobody, Duration.ofMillis(50), 1, true, false, true, fault -> {});
    try (Sluice sluice =
        Sluice.start(Settings.defaults(), rules, away, new Meters(), ReceiptKeys.ofRedis(nobody))) {
      for (String route : routes) {
        String method = route.substring(0, route.indexOf(' '));
        String path = route.substring(route.indexOf(' ') + 1);
        Sluice.Answer answer =
            sluice.send(
                sluice
                    .admin(method, path)
                    .method(method, HttpRequest.BodyPublishers.ofString("{\"duration\":\"1m\"}")));

        assertThat(answer.status()).describedAs(route).isEqualTo(503);
        assertThat(answer.errors()).describedAs(route).hasSize(1);
        assertThat(answer.errors().get(0)).startsWith("store: ").contains("Redis");
      }
    }
  }

  @Test
  void theNumberOfLocksIsUnknownWhileTheStoreIsAwayAndNot0() throws Exception {
    String nobody = "redis://127.0.0.1:" + Program.freePort();
    Store away = Stores.open(nobody, Duration.ofMillis(50), 1, true, false, true, fault -> {});
    try (Sluice sluice = Sluice.start(away);
        Sluice well = Sluice.start()) {
      assertThat(lockLines(sluice)).containsExactly("sluice_locks NaN");
      assertThat(lockLines(well)).containsExactly("sluice_locks 0.0");
    }
  }

  private static List<String> lockLines(Sluice sluice) {
    return sluice
        .get("/metrics")
        .response()
        .body()
        .lines()
        .filter(line -> line.startsWith("sluice_locks "))
        .toList();
  }

  @Test
  void aServiceStartsAndSealsReceiptsWhileRedisIsAway() throws Exception {
    String nobody = "redis://127.0.0.1:" + Program.freePort();
    try (Sluice sluice =
        Sluice.start(
            Settings.defaults(),
            Sluice.sample(),
            MemoryStore.create(),
            new Meters(),
            ReceiptKeys.ofRedis(nobody))) {
      String receipt = sluice.post("/v1/check", CALL).json().path("receipt").asText();

      assertThat(
              sluice
                  .post("/v1/settle", "{\"receipt\":\"" + receipt + "\",\"cost\":0}")
                  .json()
                  .path("settled")
                  .asBoolean())
          .isTrue();
    }
  }
}
