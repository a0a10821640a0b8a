package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.memory.MemoryStore;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Long lists of the console come in pages, and no page misses or repeats anything. */
class ConsolePagesTest {
  private static final int RULES = 130;

  @TempDir private static Path directory;
  private static Sluice sluice;
  private static ConsoleSession console;

  @BeforeAll
  static void start() throws Exception {
    StringBuilder rules = new StringBuilder("facets:\n  login: caller\nrules:\n");
    for (int i = 0; i < RULES; i++) {
      rules.append("  R%03d: {by: [login], limit: %d per 10m, lock: 30m}\n".formatted(i, i + 1));
    }
    sluice =
        Sluice.start(
            Settings.defaults(),
            rules.toString(),
            MemoryStore.create(),
            new Meters(),
            ReceiptKeys.ofProcess(),
            Operators.follow(
                Files.writeString(directory.resolve("operators.yaml"), "operators: {}\n"),
                AdminToken.of(Sluice.TOKEN),
                false));
    console = ConsoleSession.begin(sluice, Sluice.TOKEN);
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  private void lock(String rule, String login, String reason) {
    String body =
        "{\"rule\": \"%s\", \"identity\": \"login=%s\", \"duration\": \"5m\", \"reason\": \"%s\"}"
            .formatted(rule, login, reason);
    assertThat(console.change("PUT", "locks", body).status()).isEqualTo(200);
  }

  /** Follows {@code next} to the end, and checks the size of every page. */
  private List<JsonNode> all(String path, String list, int limit) {
    List<JsonNode> all = new ArrayList<>();
    String after = "";
    do {
      String page =
          "%slimit=%d&after=%s"
              .formatted(path, limit, URLEncoder.encode(after, StandardCharsets.UTF_8));
      JsonNode found = console.get(page).json();
      assertThat(found.path(list).size()).isLessThanOrEqualTo(limit);
      found.path(list).forEach(all::add);
      after = found.path("next").asText("");
      assertThat(all.size()).isLessThan(10 * RULES);
    } while (!after.equals("null") && !after.isEmpty());
    return all;
  }

  @ParameterizedTest
  @CsvSource({"1", "7", "50", "200"})
  void rulesComeInPagesSortedByName(int limit) {
    assertThat(all("rules?", "rules", limit))
        .extracting(rule -> rule.path("name").asText())
        .isEqualTo(IntStream.range(0, RULES).mapToObj("R%03d"::formatted).toList());
    assertThat(all("rules?q=R12&", "rules", limit))
        .extracting(rule -> rule.path("name").asText())
        .isEqualTo(IntStream.range(120, RULES).mapToObj("R%03d"::formatted).toList());
    JsonNode page = console.get("rules?q=R12&limit=" + limit).json();
    assertThat(page.path("total").asInt()).isEqualTo(RULES - 120);
    assertThat(page.path("inForce").asInt()).isEqualTo(RULES);
    assertThat(page.path("version").asText()).matches("[0-9a-f]{8}");
  }

  @Test
  void accountsOfAClientComeInPagesByRule() {
    List<JsonNode> accounts = all("client?identity=login%3Dann&", "accounts", 50);

    assertThat(accounts)
        .extracting(account -> account.path("rule").asText())
        .isEqualTo(IntStream.range(0, RULES).mapToObj("R%03d"::formatted).toList());
    assertThat(console.get("client?identity=login%3Dann").json().path("rules").asInt())
        .isEqualTo(RULES);
  }

  @ParameterizedTest
  @CsvSource({"1", "3", "40", "41", "1000"})
  void aSearchForLocksKeepsToItsLimitAndMissesNothing(int limit) {
    List<String> wanted = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      boolean matches = i % 3 != 0;
      String login = "c" + i + "of" + limit;
      lock("R%03d".formatted(i), login, matches ? "Abuse by " + limit + "." : "other");
      if (matches) {
        wanted.add("login=" + login);
      }
    }

    List<JsonNode> found = all("locks?q=abuse+by+" + limit + ".&", "locks", limit);

    assertThat(found)
        .extracting(lock -> lock.path("identity").asText())
        .containsExactlyInAnyOrderElementsOf(wanted);
  }

  @Test
  void aLockSaysWhenItBegan() {
    Instant before = Instant.now();
    lock("R000", "ann", "fraud");
    Instant after = Instant.now();

    JsonNode lock = console.get("locks?q=ann").json().path("locks").get(0);
    JsonNode account =
        console.get("client?limit=1&identity=login%3Dann").json().path("accounts").get(0);

    assertThat(Instant.parse(lock.path("since").asText()))
        .isBetween(before.minusMillis(1), after)
        .isEqualTo(Instant.parse(account.path("lockedSince").asText()));
  }

  @ParameterizedTest
  @CsvSource({"rules", "client", "locks", "clients", "overrides", "audit"})
  void aLimitOutOfRangeIsRefusedWithItsRange(String path) {
    for (String limit : List.of("0", "-1", "100000", "x")) {
      Sluice.Answer answer = console.get(path + "?identity=login%3Dann&limit=" + limit);

      assertThat(answer.status()).isEqualTo(400);
      assertThat(answer.response().body()).containsPattern("limit: .*expected: 1 to \\d+");
    }
  }
}
