package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.http.Settings;
import dev.sluice.testing.Needs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A log-in that is guarded over HTTP. */
class LoginGuardTest {
  private static final String RULES =
      """
      facets:
        login: {query: login}
        ip: client-address
      rules:
        Login:
          by: [login+ip, login, ip]
          limit: 3 per 30m
          lock: 30m
        Code:
          by: [login]
          limit: 3 per 30m
          lock: 30m
      """;

  private Sluice sluice;

  @BeforeEach
  void start() {
    sluice = Sluice.start(Settings.defaults(), RULES);
  }

  @AfterEach
  void stop() {
    sluice.close();
  }

  private JsonNode check(String rule, String intent) {
    return sluice
        .post(
            "/v1/check",
            "{\"rule\":\"%s\",\"identity\":{\"login\":\"eve\",\"ip\":\"192.0.2.7\"},\"intent\":\"%s\"}"
                .formatted(rule, intent))
        .json();
  }

  private Sluice.Answer settle(JsonNode reserved, String more) {
    return sluice.post(
        "/v1/settle", "{\"receipt\":\"%s\"%s}".formatted(reserved.path("receipt").asText(), more));
  }

  /** What is left of login+ip, login and ip. */
  private List<Long> left() {
    return StreamSupport.stream(check("Login", "peek").path("balances").spliterator(), false)
        .map(balance -> balance.path("remaining").asLong())
        .toList();
  }

  @Test
  void recordsBeyondTheLimitLock() {
    for (int i = 0; i < 5; i++) {
      assertThat(check("Code", "record").path("allowed").asBoolean()).isTrue();
    }

    JsonNode peeked = check("Code", "peek");

    assertThat(peeked.path("allowed").asBoolean()).isFalse();
    assertThat(peeked.path("locked").asBoolean()).isTrue();
    JsonNode locks = sluice.send(sluice.admin("GET", "/v1/locks")).json().path("locks");
    assertThat(locks).hasSize(1);
    assertThat(locks.get(0).path("account").asText()).isEqualTo("login=eve");
    assertThat(locks.get(0).path("restrictedUntil")).isEqualTo(peeked.path("restrictedUntil"));
  }

  @Test
  void refundedReservationsLockNobody() {
    List<JsonNode> open = List.of(check("Login", "reserve"), check("Login", "reserve"));
    JsonNode third = check("Login", "reserve");
    JsonNode fourth = check("Login", "reserve");

    assertThat(fourth.path("allowed").asBoolean()).isFalse();
    assertThat(fourth.path("locked").asBoolean()).isFalse();
    open.forEach(each -> settle(each, ",\"cost\":0"));
    settle(third, ",\"cost\":0");
    assertThat(left()).containsExactly(3L, 3L, 3L);
  }

  @Test
  void settlementWithoutACostConfirms() {
    JsonNode reserved = check("Login", "reserve");

    assertThat(settle(reserved, "").json().path("settled").asBoolean()).isTrue();
    assertThat(settle(reserved, ",\"cost\":0").json().path("settled").asBoolean()).isFalse();
    assertThat(left()).containsExactly(2L, 2L, 2L);
  }

  @Test
  void goodLoginForgivesTheLoginAndNotTheAddress() {
    settle(check("Login", "reserve"), "");
    settle(check("Login", "reserve"), "");
    JsonNode good = check("Login", "reserve");

    Sluice.Answer settled = settle(good, ",\"cost\":0,\"forgive\":[\"login\",\"login+ip\"]");

    assertThat(settled.json().path("settled").asBoolean()).isTrue();
    assertThat(left()).containsExactly(3L, 3L, 1L);
  }

  @Test
  void whatMustNotBeForgivenIsABadRequestAndSettlesNothing() {
    JsonNode reserved = check("Login", "reserve");

    assertRefused(
        settle(reserved, ",\"cost\":0,\"forgive\":[\"ip\"]"),
        "forgive: 'ip' is the client's address alone, whose usage is never forgiven (expected: facets such as login or login+ip)");
    assertRefused(
        settle(reserved, ",\"cost\":0,\"forgive\":[\"login\",\"member\"]"),
        "forgive: no rule of the call counts by 'member' (expected: one of login+ip, login, ip, ip+login)");
    assertRefused(
        settle(reserved, ",\"cost\":0,\"forgive\":\"login\""),
        "forgive: a string (expected: a list of strings)");
    assertThat(left()).containsExactly(2L, 2L, 2L);
  }

  private static void assertRefused(Sluice.Answer answer, String error) {
    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.errors()).containsExactly(error);
  }

  @ParameterizedTest
  @CsvSource({"service.md,login.yaml", "guides/protecting-a-login.md,login-rules.yaml"})
  @Needs({"curl", "bash"})
  void theExampleInTheDocumentationGuardsALogin(String page, String file, @TempDir Path directory)
      throws Exception {
    String rules = Docs.named(page, "yaml", file);
    String script = Docs.named("service.md", "sh", "login.sh");
    try (Sluice guarded = Sluice.start(Settings.defaults(), rules)) {
      assertThat(login(directory, guarded, script, "right")).isEqualTo("welcome\n");
      for (int i = 0; i < 4; i++) {
        assertThat(login(directory, guarded, script, "wrong")).isEqualTo("wrong password\n");
      }
      assertThat(login(directory, guarded, script, "right")).isEqualTo("welcome\n");
      for (int i = 0; i < 5; i++) {
        assertThat(login(directory, guarded, script, "wrong")).isEqualTo("wrong password\n");
      }

      assertThat(login(directory, guarded, script, "right")).isEqualTo("locked out\n");
    }
  }

  private static String login(Path directory, Sluice guarded, String script, String password)
      throws Exception {
    String whole =
        "password_is_right() { [ \"$1\" = right ]; }\npassword=%s\n%s"
            .formatted(password, script)
            .replace("http://127.0.0.1:8080", guarded.url());
    Path file = Files.writeString(directory.resolve("login.sh"), whole);
    return Program.run(directory, List.of("bash", file.toString()));
  }
}
