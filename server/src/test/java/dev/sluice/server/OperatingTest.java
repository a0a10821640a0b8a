package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.linecorp.armeria.client.WebClient;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import dev.sluice.store.Store;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What an operator relies on when things are not well. */
class OperatingTest {
  @Test
  void onStoreFailureDecidesWhileTheStoreIsDown() throws Exception {
    String rules =
        """
        facets: {ip: client-address}
        rules:
          Strict: {by: [ip], limit: 5 per 1m, onStoreFailure: deny}
          Open: {by: [ip], limit: 5 per 1m, onStoreFailure: allow}
        """;
    String nobody = "redis://127.0.0.1:" + Program.freePort();
    Meters meters = new Meters();
    Store down = Stores.open(nobody, Duration.ofMillis(50), 1, true, false, true, meters::failed);
    try (Sluice sluice = Sluice.start(Settings.defaults(), rules, down, meters)) {
      Sluice.Answer strict = sluice.get("/v1/gate/Strict");
      Sluice.Answer open = sluice.get("/v1/gate/Open");

      assertThat(strict.status()).isEqualTo(503);
      assertThat(strict.header("Retry-After")).isEqualTo("1");
      assertThat(strict.json().path("type").asText()).endsWith("#temporary-reduced-capacity");
      assertThat(open.status()).isEqualTo(200);
      assertThat(sluice.get("/health/live").status()).isEqualTo(200);
      assertThat(sluice.get("/health/ready").status()).isEqualTo(200);
      assertThat(sluice.get("/health/ready").json().path("degraded").asBoolean()).isTrue();
      assertThat(sluice.get("/metrics").response().body())
          .contains(
              "sluice_decisions_total{counted_by=\"none\",locked=\"false\",outcome=\"unmetered\",rule=\"Strict\"} 1.0")
          .contains("sluice_store_down 1.0");
      RedisCluster.await(() -> faults(sluice) >= 2); // another thread tells of them
      assertThat(faults(sluice)).isEqualTo(2);
    }
  }

  /** Faults of every kind: whether a refused connection is one or another is up to its moment. */
  private static double faults(Sluice sluice) {
    return sluice
        .get("/metrics")
        .response()
        .body()
        .lines()
        .filter(line -> line.startsWith("sluice_store_faults_total{kind="))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
        .sum();
  }

  @Test
  void aStoreThatFailsAgainAndAgainIsReportedAsDown() throws Exception {
    String nobody = "redis://127.0.0.1:" + Program.freePort();
    Meters meters = new Meters();
    Store down = Stores.open(nobody, Duration.ofMillis(50), 1, true, false, true, meters::failed);
    try (Sluice sluice = Sluice.start(Settings.defaults(), Sluice.sample(), down, meters)) {
      for (int i = 0; i < 5; i++) {
        sluice.get("/v1/gate/Everyone");
      }

      assertThat(sluice.get("/metrics").response().body()).contains("sluice_store_down 1.0");
    }
  }

  @Test
  void everyChangeIsInTheAuditLog() {
    Logger audit = (Logger) LoggerFactory.getLogger("sluice.audit");
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    audit.setLevel(Level.INFO);
    audit.addAppender(log);
    try (Sluice sluice = Sluice.start()) {
      sluice.send(
          sluice
              .admin("PUT", "/v1/locks/SecureLogin?login=ann")
              .header("Sluice-User", "eve\tx")
              .PUT(
                  HttpRequest.BodyPublishers.ofString("{\"duration\":\"1h\",\"reason\":\"why\"}")));
      sluice.send(sluice.admin("DELETE", "/v1/locks/SecureLogin?login=ann"));
      sluice.post("/v1/check", "{\"rule\":\"Api\",\"identity\":{\"apiKey\":\"hush-hush\"}}");
      sluice.send(sluice.admin("DELETE", "/v1/accounts/Api?apiKey=hush-hush"));
      // Neither changes anything.
      sluice.send(sluice.admin("DELETE", "/v1/locks/SecureLogin?login=ann"));
      sluice.send(sluice.admin("DELETE", "/v1/accounts/Api?apiKey=hush-hush"));
      sluice.send(sluice.request("DELETE", "/v1/accounts/SecureLogin?login=ann"));
      sluice.send(sluice.admin("POST", "/v1/receipts/rotate"));
    } finally {
      audit.detachAppender(log);
    }

    List<String> lines =
        log.list.stream()
            .map(event -> event.getFormattedMessage() + " " + event.getKeyValuePairs())
            .toList();
    assertThat(lines).hasSize(4).noneMatch(line -> line.contains("what="));
    assertThat(lines.get(0))
        .contains("who=\"admin (claims 'eve\\u0009x') at 127.0.0.1\"", "lock set [who=")
        .contains("identity=\"login=ann\"", "before=\"2 of 2 left\"", ": why\"");
    assertThat(lines.get(1))
        .contains("lock lifted [who=", "locked until ", "after=\"2 of 2 left\"");
    assertThat(lines.get(2)).contains("account reset [who=").doesNotContain("hush-hush");
    assertThat(lines.get(3)).contains("who=\"admin at 127.0.0.1\"", "receipt key rotated [who=");
  }

  @Test
  void http1AndHttp2AreOnOnePort() {
    try (Sluice sluice = Sluice.start()) {
      String h2c = sluice.url().replace("http:", "h2c:");

      assertThat(WebClient.of(h2c).blocking().get("/health/live").status().code()).isEqualTo(200);
      assertThat(sluice.get("/health/live").status()).isEqualTo(200);
    }
  }
}
