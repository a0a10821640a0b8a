package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.contract.MovableClock;
import dev.sluice.memory.MemoryStore;
import dev.sluice.rules.Until;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import java.net.http.HttpRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Operators by name: their tokens, their roles, and what the audit says of them. */
class OperatorsTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration LONG = Duration.ofSeconds(10);

  private static final AdminToken olga = AdminToken.random();
  private static final AdminToken rita = AdminToken.random();
  private static final MovableClock clock = MovableClock.at(Instant.parse("2026-01-01T00:00:00Z"));
  @TempDir private static Path directory;
  private static Path file;
  private static Sluice sluice;

  @BeforeAll
  static void start() throws Exception {
    file = Files.writeString(directory.resolve("operators.yaml"), text());
    Operators operators = Operators.follow(file, AdminToken.of(Sluice.TOKEN), false);
    sluice =
        Sluice.start(
            Settings.builder().clock(clock).build(),
            Sluice.sample(),
            MemoryStore.create(),
            new Meters(),
            ReceiptKeys.ofProcess(),
            operators);
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  /** The operators of every test; wrong tokens from before are forgotten. */
  @BeforeEach
  void restore() throws Exception {
    replace(text());
    Until.within(
        LONG,
        "olga is in",
        () -> {
          clock.advance(Duration.ofMinutes(2));
          return status(olga) == 200;
        });
  }

  private static String text() {
    return "operators:\n  %s\n  %s\n"
        .formatted(
            Operators.line("olga", olga),
            Operators.line("rita", rita).replace("}", ", role: read}"));
  }

  private static void replace(String text) throws Exception {
    Path next = Files.writeString(directory.resolve("next"), text);
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
  }

  private static HttpRequest.Builder as(AdminToken token, String method, String path) {
    return sluice.request(method, path).header("Authorization", "Bearer " + token.text());
  }

  private static int status(AdminToken token) {
    return sluice.send(as(token, "GET", "/v1/rules")).status();
  }

  @Test
  void eachOperatorHasATokenAndSoHasTheAdmin() {
    assertThat(status(olga)).isEqualTo(200);
    assertThat(status(rita)).isEqualTo(200);
    assertThat(status(AdminToken.of(Sluice.TOKEN))).isEqualTo(200);
    assertThat(status(AdminToken.random())).isEqualTo(401);
  }

  @Test
  void aReaderMayLookAndNotChange() {
    Sluice.Answer refused = sluice.send(as(rita, "POST", "/v1/receipts/rotate"));

    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.errors())
        .containsExactly(
            "operator 'rita': may look and not change (expected: an operator with role: change)");
    assertThat(sluice.send(as(rita, "DELETE", "/v1/locks/SecureLogin?login=ann")).status())
        .isEqualTo(403);
    assertThat(sluice.send(as(olga, "POST", "/v1/receipts/rotate")).status()).isEqualTo(200);
  }

  @Test
  void theAuditSaysWhoAndWhatWasOnlyClaimed() {
    try (Logged audit = new Logged("sluice.audit")) {
      sluice.send(as(olga, "POST", "/v1/receipts/rotate").header("Sluice-User", "root"));
      sluice.send(as(olga, "POST", "/v1/receipts/rotate"));
      sluice.send(sluice.admin("POST", "/v1/receipts/rotate"));

      assertThat(audit.lines())
          .containsExactly(
              "receipt key rotated [who=\"olga (claims 'root') at 127.0.0.1\"]",
              "receipt key rotated [who=\"olga at 127.0.0.1\"]",
              "receipt key rotated [who=\"admin at 127.0.0.1\"]");
    }
  }

  @Test
  void aClaimedNameCannotPassForAProvenOne() {
    try (Logged audit = new Logged("sluice.audit")) {
      String claim = "x') at 192.0.2.9\" who=\"admin\tat 192.0.2.1";
      new Wire(sluice.service().port())
          .send(
              "POST",
              "/v1/receipts/rotate",
              "",
              "Authorization: Bearer " + olga.text(),
              "Content-Length: 0",
              "Sluice-User: " + claim);

      assertThat(audit.lines())
          .containsExactly(
              "receipt key rotated [who=\"olga (claims 'x\\u0027) at 192.0.2.9\\u0022"
                  + " who=\\u0022admin\\u0009at 192.0.2.1') at 127.0.0.1\"]");
    }
  }

  @Test
  void aRemovedOperatorIsOutWithinASecondAndANewOneIsIn() throws Exception {
    AdminToken nina = AdminToken.random();

    replace("operators:\n  " + Operators.line("nina", nina) + "\n");

    Until.within(SECOND, "olga is out", () -> status(olga) == 401);
    assertThat(status(nina)).isEqualTo(200);
    assertThat(status(AdminToken.of(Sluice.TOKEN))).isEqualTo(200);
  }

  @Test
  void aBadFileIsRefusedAndTheOperatorsBeforeStay() throws Exception {
    try (Logged log = new Logged("dev.sluice.internal.Followed")) {
      replace("operators:\n  olga: {}\n");
      Until.within(LONG, "refused", () -> !log.lines().isEmpty());

      assertThat(log.lines().get(0))
          .contains("operators: refused, what was in force before stays in force:")
          .contains(
              "operators.yaml:2  operator 'olga': no way to come in"
                  + " (expected: token-sha256, certificate or both)");
      assertThat(status(olga)).isEqualTo(200);
      assertThat(metric()).isEqualTo("1.0");
      replace(text());
      Until.within(LONG, "good again", () -> metric().equals("0.0"));
      assertThat(log.lines()).hasSize(1);
    }
  }

  private static String metric() {
    String body = sluice.get("/metrics").response().body();
    return body.lines()
        .filter(line -> line.startsWith("sluice_files_refused{files=\"operators\"} "))
        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
        .findFirst()
        .orElse("(none)");
  }

  @Test
  void everyMistakeIsToldAtOnceAndNoSecretIsShown() throws Exception {
    String hash = "ab".repeat(32);
    Path bad =
        Files.writeString(
            directory.resolve("bad.yaml"),
            """
            operators:
              admin: {token-sha256: "%1$s"}
              anna: {token-sha256: the-token-itself}
              bert: {token: another-secret}
              carl: {certificate: deploy}
              dora: {certificate: "CN=dora", role: write}
              emil: {token-sha256: "%2$s"}
              fred: {token-sha256: "%3$s"}
              gina: {token-sha256: "%3$s"}
              gina: {token-sha256: "%1$s"}
              hugo:
              "i j": {token-sha256: "%1$s"}
            oprators: {}
            """
                .formatted(hash, sha256(Sluice.TOKEN), "cd".repeat(32)));

    assertThatThrownBy(() -> Operators.follow(bad, AdminToken.of(Sluice.TOKEN), false))
        .isInstanceOf(IllegalArgumentException.class)
        .message()
        .doesNotContain("the-token-itself", "another-secret", hash)
        .satisfies(
            text ->
                assertThat(text.lines().map(line -> line.replace(directory + "/", "")))
                    .containsExactlyInAnyOrder(
                        "bad.yaml:2  operator 'admin': the name (expected: a name of letters, digits and . _ @ -, at most 64, other than admin)",
                        "bad.yaml:3  operator 'anna': token-sha256 is 16 characters (expected: 64 hex digits, as ./sluice operators token prints them)",
                        "bad.yaml:4  operator 'bert': key 'token' is unknown (expected: one of token-sha256, certificate, role)",
                        "bad.yaml:4  operator 'bert': no way to come in (expected: token-sha256, certificate or both)",
                        "bad.yaml:5  operator 'carl': a certificate, and the service asks for none (expected: --tls-client-ca with the authority that signs it)",
                        "bad.yaml:5  operator 'carl': certificate is 'deploy' (expected: a subject such as CN=deploy,O=Acme, as openssl x509 -noout -subject -nameopt RFC2253 prints it)",
                        "bad.yaml:6  operator 'dora': a certificate, and the service asks for none (expected: --tls-client-ca with the authority that signs it)",
                        "bad.yaml:6  operator 'dora': role is 'write' (expected: read or change)",
                        "bad.yaml:7  operator 'emil': the token is that of --admin-token (expected: a token of its own)",
                        "bad.yaml:9  operator 'gina': the token of operator 'fred' (expected: one of its own)",
                        "bad.yaml:10  'gina' is there twice, first on line 9 (expected: once)",
                        "bad.yaml:11  operator 'hugo': no mapping (expected: {token-sha256: \"…\"} or {certificate: \"CN=…\"})",
                        "bad.yaml:12  operator 'i j': the name (expected: a name of letters, digits and . _ @ -, at most 64, other than admin)",
                        "bad.yaml:13  key 'oprators' is unknown (did you mean 'operators'?)"));
  }

  private static String sha256(String token) {
    return Operators.line("x", AdminToken.of(token)).replaceAll(".*\"(.*)\".*", "$1");
  }

  @Test
  void whatIsNoFileOfOperatorsIsRefused() throws Exception {
    for (String text : List.of("", "- a\n", "operators:\n", "operators: [a]\n", "a: {", "\u0007")) {
      Path bad = Files.writeString(directory.resolve("bad.yaml"), text);

      assertThatThrownBy(() -> Operators.follow(bad, null, true))
          .as(text)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("bad.yaml")
          .hasMessageContaining("(expected: ");
    }
    assertThatThrownBy(() -> Operators.follow(directory.resolve("none.yaml"), null, true))
        .hasMessageContaining("none.yaml  there is no such file");
  }

  @Test
  void aTokenIsPrintedOnceWithItsLine() throws Exception {
    CommandsTest.Ended made = CommandsTest.run("operators", "token", "nina");
    List<String> printed = made.out().lines().toList();
    String token = printed.get(0).replace("token  ", "");
    String line = printed.get(1).replace("line   ", "");

    replace("operators:\n  " + line + "\n");

    assertThat(made.status()).isZero();
    assertThat(line).startsWith("nina: {token-sha256: \"").doesNotContain(token);
    Until.within(LONG, "nina is in", () -> status(AdminToken.of(token)) == 200);
    assertThat(CommandsTest.run("operators", "check", file.toString()).out())
        .isEqualTo("OPERATOR  ROLE\nnina      change\n");
    assertThat(CommandsTest.run("operators", "token", "admin").err())
        .startsWith("sluice: name: 'admin' (expected: ");
  }

  @Test
  void optionsThatDoNotFitTogetherAreRefused() {
    assertThat(CommandsTest.run("serve", "--tls-cert", "c.pem").err())
        .startsWith("sluice: tls-cert: without --tls-key (expected: both ");
    assertThat(CommandsTest.run("serve", "--tls-key", "k.pem").err())
        .startsWith("sluice: tls-key: without --tls-cert (expected: both ");
    assertThat(CommandsTest.run("serve", "--tls-client-ca", "c.pem").err())
        .startsWith("sluice: tls-client-ca: without --operators");
    assertThat(CommandsTest.run("serve", "--port=0", "--tls-cert=no.pem", "--tls-key=no.key").err())
        .startsWith("sluice: no.pem  there is no such file");
    assertThat(CommandsTest.run("serve", "--operators", "no.yaml").err())
        .startsWith("sluice: no.yaml  there is no such file");
  }
}
