package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.RequestHeaders;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients should not send, and do. */
class BadInputTest {
  private static Sluice sluice;

  @BeforeAll
  static void start() {
    sluice = Sluice.start();
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  @ParameterizedTest(name = "{1}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "`` | body: empty (expected: a JSON object with [rule, rules, identity, cost, costs, id, intent, receipt])",
        "[] | body: not an object (expected: a JSON object with [rule, rules, identity, cost, costs, id, intent, receipt])",
        "{} | rule: missing (expected: rule with a name, or rules with several); identity: missing (expected: an object such as {\"login\": \"ann\"})",
        "{\"rule\":1} | rule: a number (expected: a string); identity: missing (expected: an object such as {\"login\": \"ann\"})",
        "{\"rule\":\"SecureLogin\"} | identity: missing (expected: an object such as {\"login\": \"ann\"})",
        "{\"rule\":\"SecureLogin\",\"identity\":[]} | identity: a list (expected: an object of strings)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":7}} | identity.'login': a number (expected: a string)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\",\"login\":\"b\"}} | identity.'login': there twice (expected: once)",
        "{\"rule\":\"SecureLogin\",\"rule\":\"Api\",\"identity\":{\"login\":\"a\"}} | 'rule': there twice (expected: once)",
        "{\"rule\":\"SecureLogin\",\"rules\":[\"Api\"],\"identity\":{\"login\":\"a\"}} | rule and rules: both given (expected: one of them)",
        "{\"rules\":[],\"identity\":{\"login\":\"a\"}} | rules: 0 (expected: 1 to 32)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"cost\":-1,\"id\":\"\"} | cost: -1 (expected: a whole number, 0 to 2^52); id: '' (expected: 1 to 128 visible ASCII characters)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"cost\":1.5} | cost: a number (expected: a whole number, 0 to 2^52)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"cost\":99999999999999999999999} | cost: 99999999999999999999… (expected: a whole number, 0 to 2^52)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"idd\":1} | 'idd': unknown (did you mean 'id'?)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"costs\":7} | costs: a number (expected: an object of whole numbers)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"costs\":{\"SecureLogin\":\"7\"}} | costs.'SecureLogin': a string (expected: a whole number, 0 to 2^52)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"costs\":{\"SecureLogin\":-1}} | costs.'SecureLogin': -1 (expected: a whole number, 0 to 2^52)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"costs\":{\"SecureLogin\":1,\"SecureLogin\":1}} | costs.'SecureLogin': there twice (expected: once)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"costs\":{\"Api\":1}} | costs.'Api': a rule that the call does not name (expected: one of SecureLogin)",
        "{\"rules\":[\"SecureLogin\",\"PromoQuery\"],\"identity\":{\"login\":\"a\"},\"costs\":{\"SecureLogon\":1,\"b\":2}} | costs.'SecureLogon': a rule that the call does not name (expected: one of SecureLogin, PromoQuery); costs.'b': a rule that the call does not name (expected: one of SecureLogin, PromoQuery)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"},\"intent\":\"grab\"} | intent: 'grab' (expected: one of [take, peek, record, reserve])",
        "{\"rule\":\"SecureLogin\",\"identity\":{}} | rule 'SecureLogin': the call has no facets (expected: login)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"\"}} | rule 'SecureLogin': the call has no facets (expected: login)",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\"}} x | body: malformed JSON at line 1, column 49: Unrecognized token 'x': was expecting (JSON String, Number, Arra…",
        "{\"rule\":\"SecureLogin\" | body: malformed JSON at line 1, column 22: Unexpected end-of-input: expected close marker for Object (start…",
        "{\"rule\":\"x\",\"identity\":{\"a b\":\"c\",\"d\":\"\\u0000\"}} | facet name: 'a b' (expected: a letter, then letters, digits, '_', '-' or '.', 64 at most); facet 'd': '\\u0000' (expected: no control characters); rule 'x': unknown (expected: one of BankAccountUpdate, SecureForgotAccount, SecureLogin, PromoQuery, Api, NewCrawlerRule, Everyone, RetryStorm)",
      })
  void everyMistakeIsReported(String body, String errors) {
    Sluice.Answer answer = sluice.post("/v1/check", body);

    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.header("Content-Type")).isEqualTo("application/problem+json");
    assertThat(String.join("; ", answer.errors())).isEqualTo(errors);
  }

  @Test
  void anUnknownRuleIsNotFoundAndTheNearestIsNamed() {
    Sluice.Answer check =
        sluice.post("/v1/check", "{\"rule\":\"SecureLogon\",\"identity\":{\"login\":\"a\"}}");

    assertThat(check.status()).isEqualTo(404);
    assertThat(check.errors())
        .containsExactly("rule 'SecureLogon': unknown (did you mean 'SecureLogin'?)");
    assertThat(sluice.get("/v1/gate/evryone").errors())
        .containsExactly("rule 'evryone': unknown (did you mean 'Everyone'?)");
    assertThat(sluice.get("/v1/gate/evryone").status()).isEqualTo(404);
    assertThat(sluice.send(sluice.admin("GET", "/v1/rules/evryone")).status()).isEqualTo(404);
    assertThat(sluice.send(sluice.admin("GET", "/v1/locks?rule=evryone")).status()).isEqualTo(404);
  }

  @Test
  void markupInAnIdentityIsOnlyText() {
    String script = "<script>alert(1)</script>";

    Sluice.Answer answer =
        sluice.post(
            "/v1/check",
            "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"%s\"}}".formatted(script));
    Sluice.Answer unknown = sluice.get("/v1/gate/%3Cscript%3Ealert(1)%3C%2Fscript%3E");

    JsonNode balance = answer.json().path("balances").get(0);
    assertThat(balance.path("identity").path("login").asText()).isEqualTo(script);
    assertThat(answer.header("Content-Type")).isEqualTo("application/json");
    assertThat(answer.header("X-Content-Type-Options")).isEqualTo("nosniff");
    assertThat(unknown.status()).isEqualTo(404);
    assertThat(unknown.header("Content-Type")).isEqualTo("application/problem+json");
    assertThat(unknown.header("X-Content-Type-Options")).isEqualTo("nosniff");
  }

  @Test
  void lineBreaksInAnIdentityAreRefused() {
    Sluice.Answer body =
        sluice.post(
            "/v1/check",
            "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a\\r\\nSet-Cookie: b\"}}");
    Sluice.Answer query = sluice.get("/v1/gate/SecureLogin?login=a%0d%0aSet-Cookie:%20b");

    assertThat(body.status()).isEqualTo(400);
    assertThat(query.status()).isEqualTo(400);
    assertThat(query.header("Set-Cookie")).isEqualTo("(none)");
    assertThat(query.errors())
        .containsExactly(
            "facet 'login': 'a\\u000d\\u000aSet-Cookie: b' (expected: no control characters)");
  }

  @Test
  void brokenUtf8IsRefused() throws Exception {
    byte[] json =
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"??\"}}"
            .getBytes(StandardCharsets.UTF_8);
    json[json.length - 5] = (byte) 0xff;

    assertThat(sluice.post("/v1/check", json).status()).isEqualTo(400);
    assertThat(sluice.get("/v1/gate/SecureLogin?login=%ff").status()).isEqualTo(400);
    assertThat(sluice.get("/v1/gate/SecureLogin?login=%c3%28").status()).isEqualTo(400);
    assertThat(sluice.send(sluice.admin("GET", "/v1/accounts/SecureLogin?login=%ff")).status())
        .isEqualTo(400);
    assertThat(
            raw("GET /v1/gate/BankAccountUpdate HTTP/1.1\r\nHost: x\r\nX-Member-Code: a\u00ff\r\n"))
        .startsWith("HTTP/1.1 400 ");
    assertThat(
            sluice
                .post(
                    "/v1/check", "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"\\ud800\"}}")
                .status())
        .isEqualTo(400);
  }

  /** '/' in two and three bytes, U+0000 in two, half of a pair in three. */
  @ParameterizedTest
  @ValueSource(
      strings = {"\u00c0\u00af", "\u00e0\u0080\u00af", "\u00c0\u0080", "\u00ed\u00a0\u0080"})
  void overlongUtf8IsRefused(String overlong) {
    byte[] body =
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"a%sb\"}}"
            .formatted(overlong)
            .getBytes(StandardCharsets.ISO_8859_1);

    Sluice.Answer answer = sluice.post("/v1/check", body);

    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.errors())
        .containsExactly("body: not well-formed UTF-8 (expected: JSON in UTF-8)");
  }

  @Test
  void jsonInAnotherEncodingIsRefused() {
    String body = "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"other\"}}";

    for (Charset charset :
        List.of(
            StandardCharsets.UTF_16BE, StandardCharsets.UTF_16LE, Charset.forName("UTF-32BE"))) {
      assertThat(sluice.post("/v1/check", body.getBytes(charset)).errors())
          .containsExactly("body: holds the character U+0000 (expected: JSON in UTF-8)");
    }
    assertThat(sluice.post("/v1/check", body.getBytes(StandardCharsets.UTF_16)).status())
        .isEqualTo(400);
  }

  /** Sends bytes as they are, one a char, and gives the first that comes back. */
  private static String raw(String head) throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), sluice.service().port())) {
      socket.setSoTimeout(10_000);
      byte[] bytes = (head + "Connection: close\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1);
      socket.getOutputStream().write(bytes);
      InputStream in = socket.getInputStream();
      return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  @Test
  void tenMegabytesAreTooMany() throws Exception {
    String huge = "a".repeat(10 << 20);

    Sluice.Answer body =
        sluice.post(
            "/v1/check",
            "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"%s\"}}".formatted(huge));

    assertThat(body.status()).isEqualTo(413);
    assertThat(body.errors()).containsExactly("body: too large (expected: at most 262,144 bytes)");
    assertThat(sluice.get("/v1/gate/SecureLogin?login=" + "a".repeat(100_000)).status())
        .isEqualTo(414);
    assertThat(
            raw(
                "GET /v1/gate/BankAccountUpdate HTTP/1.1\r\nHost: x\r\nX-Member-Code: "
                    + "a".repeat(100_000)
                    + "\r\n"))
        .startsWith("HTTP/1.1 431 ");
    assertThat(sluice.get("/health/live").status()).isEqualTo(200);
  }

  /** Again and again, as an answer that overtakes its request is lost only now and then. */
  @Test
  void tooLargeIsACleanAnswerOverHttp2Too() {
    WebClient http2 = WebClient.of(sluice.url().replace("http:", "h2c:"));
    byte[] huge = new byte[10 << 20];
    RequestHeaders unsized = RequestHeaders.of(HttpMethod.POST, "/v1/check");

    for (int i = 0; i < 10; i++) {
      assertThat(http2.blocking().post("/v1/check", huge).status().code()).isEqualTo(413);
      assertThat(http2.blocking().post("/v1/settle", huge).status().code()).isEqualTo(413);
      assertThat(http2.execute(unsized, HttpData.wrap(huge)).aggregate().join().status().code())
          .isEqualTo(413);
    }
    assertThat(http2.blocking().post("/v1/gate/NewCrawlerRule", huge).status().code())
        .isEqualTo(200);
  }

  @Test
  void aLongIdentityIsKeptAsItsHash() {
    String body =
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"%s\"}}".formatted("a".repeat(1_024));

    JsonNode answer = sluice.post("/v1/check", body).json();

    assertThat(answer.path("balances").get(0).path("identity").path("login").asText())
        .matches("sha256:[0-9a-f]{40}");
  }

  @Test
  void aForgedReceiptIsRefused() {
    assertThat(sluice.post("/v1/settle", "{\"receipt\":\"AQADci0x\",\"cost\":0}").errors())
        .containsExactly(
            "receipt: not sealed with a key of this service (expected: the receipt of a check)");
    assertThat(sluice.post("/v1/settle", "{}").errors())
        .containsExactly("receipt: missing (expected: the receipt of an allowed check)");
  }

  @Test
  void aSettlementByARuleThatTookNothingIsRefusedAndSettlesNothing() {
    String receipt =
        sluice
            .post(
                "/v1/check",
                "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"settler\"},\"receipt\":true}")
            .json()
            .path("receipt")
            .asText();

    Sluice.Answer refused =
        sluice.post(
            "/v1/settle", "{\"receipt\":\"" + receipt + "\",\"cost\":0,\"costs\":{\"Api\":1}}");

    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.errors())
        .containsExactly(
            "costs.'Api': a rule that the call did not name (expected: one of SecureLogin)");
    assertThat(
            sluice
                .post("/v1/settle", "{\"receipt\":\"" + receipt + "\",\"cost\":0}")
                .json()
                .path("settled")
                .asBoolean())
        .isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | duration: missing (expected: a duration such as 30m)",
        "{\"duration\":\"soon\"} | duration: 'soon' (expected: a duration such as 500ms, 10s, 5m, 1h30m, 1d)",
        "{\"duration\":\"0s\"} | duration: 0s (expected: longer than 0)",
        "{\"duration\":\"1h\",\"reason\":\"a\\nb\"} | reason: 'a\\u000ab' (expected: no control characters, well-formed Unicode)",
      })
  void aLockThatCannotBeSetSaysWhy(String body, String error) {
    Sluice.Answer answer =
        sluice.send(
            sluice
                .admin("PUT", "/v1/locks/SecureLogin?login=x")
                .PUT(HttpRequest.BodyPublishers.ofString(body)));

    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.errors()).containsExactly(error);
  }
}
