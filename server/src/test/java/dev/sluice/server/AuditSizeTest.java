package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.memory.MemoryStore;
import dev.sluice.server.http.Settings;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The audit trail is bounded by its size, not only by how many entries it has. */
class AuditSizeTest {
  private static final int LONGEST_ENTRY = 10_240;

  private final Store store = MemoryStore.create();
  private final SharedData data = store.sharedData();
  private final Sluice sluice =
      Sluice.start(Settings.defaults(), "rules: {Api: {by: [login], limit: 2 per 1h}}", store);
  private final ConsoleSession console = ConsoleSession.begin(sluice, Sluice.TOKEN);

  @AfterEach
  void stop() {
    sluice.close();
  }

  @Test
  void anEntryIsShortHoweverLongTheChangeIs() {
    String body =
        "{\"rule\": \"Api\", \"when\": {\"login\": \"%s\"}, \"limit\": \"5%s per 1h\"}"
            .formatted("\u4e2d".repeat(1_000), " ".repeat(12_000));
    for (int i = 0; i < 2; i++) {
      Sluice.Answer made =
          sluice.send(
              sluice
                  .admin("PUT", "/v1/overrides/long")
                  .method("PUT", HttpRequest.BodyPublishers.ofString(body)));
      assertThat(made.status()).as(made.response().body()).isEqualTo(200);
    }

    List<SharedData.Entry> kept = data.newest("audit", 10, null).toCompletableFuture().join();

    assertThat(kept).hasSize(2).allMatch(entry -> entry.text().length() <= LONGEST_ENTRY);
    JsonNode newest = console.get("audit").json().path("entries").get(0);
    assertThat(newest.path("action").asText()).isEqualTo("override changed");
    assertThat(newest.path("after").asText()).startsWith("{\"when\"").endsWith("…");
  }

  @Test
  void anExportHasEveryPage() {
    List<String> texts =
        IntStream.range(0, 950)
            .mapToObj("admin lock%%20set Api login%%3Du%d none none"::formatted)
            .toList();
    data.append("audit", texts, 10_000, Duration.ofHours(1)).toCompletableFuture().join();

    JsonNode json = console.get("audit/export?format=json").json();
    List<String> csv = console.get("audit/export?format=csv").response().body().lines().toList();
    JsonNode some = console.get("audit/export?format=json&q=u94").json();
    JsonNode none = console.get("audit/export?format=json&q=nobody").json();

    assertThat(json).hasSize(950);
    assertThat(json.get(0).path("identity").asText()).isEqualTo("login=u949");
    assertThat(json.get(949).path("identity").asText()).isEqualTo("login=u0");
    assertThat(csv).hasSize(951);
    assertThat(csv.get(0)).isEqualTo("at,who,action,rule,identity,before,after");
    assertThat(csv.get(950)).contains("login=u0");
    assertThat(some).hasSize(11);
    assertThat(none).isEmpty();
  }
}
