package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.http.ClientAddress;
import dev.sluice.server.commands.Remote;
import dev.sluice.server.health.HealthRoutes;
import dev.sluice.server.http.Settings;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** Every route, as a client sees it. Each test has identities of its own. */
class RoutesTest {
  private static Sluice sluice;
  private static final AtomicInteger addresses = new AtomicInteger(10);

  @BeforeAll
  static void start() {
    sluice =
        Sluice.start(
            Settings.builder().client(ClientAddress.trusting(List.of("127.0.0.1"))).build());
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  @Test
  void aCheckReturnsTheWholeDecision() {
    JsonNode answer = check("SecureForgotAccount", "login", "carl").json();

    assertThat(fields(answer))
        .containsExactly(
            "allowed",
            "outcome",
            "countedBy",
            "rule",
            "limit",
            "remaining",
            "retryAfterMs",
            "resetAfterMs",
            "locked",
            "restrictedUntil",
            "balances",
            "shadowDenials",
            "receipt");
    assertThat(answer.path("allowed").asBoolean()).isTrue();
    assertThat(answer.path("outcome").asText()).isEqualTo("allowed");
    assertThat(answer.path("limit").asText()).isEqualTo("3 per 30m");
    assertThat(answer.path("remaining").asInt()).isEqualTo(2);
    assertThat(answer.path("restrictedUntil").isNull()).isTrue();
    assertThat(answer.path("balances").get(0).path("account").asText()).isEqualTo("login=carl");
  }

  private static List<String> fields(JsonNode node) {
    List<String> names = new ArrayList<>();
    node.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private static Sluice.Answer check(String rule, String facet, String value) {
    return sluice.post(
        "/v1/check",
        "{\"rule\":\"%s\",\"identity\":{\"%s\":\"%s\"}}".formatted(rule, facet, value));
  }

  @Test
  void theFourthOfThreeIsLockedUntilATime() {
    for (int i = 0; i < 3; i++) {
      assertThat(check("SecureForgotAccount", "login", "dora").json().path("allowed").asBoolean())
          .isTrue();
    }

    JsonNode denied = check("SecureForgotAccount", "login", "dora").json();

    assertThat(denied.path("outcome").asText()).isEqualTo("denied");
    assertThat(denied.path("locked").asBoolean()).isTrue();
    assertThat(denied.path("retryAfterMs").asLong()).isBetween(1_799_000L, 1_800_000L);
    assertThat(denied.path("restrictedUntil").asLong())
        .isBetween(System.currentTimeMillis() + 1_790_000, System.currentTimeMillis() + 1_800_001);
    assertThat(denied.path("receipt").isNull()).isTrue();
  }

  @Test
  void severalRulesAreOneDecision() {
    JsonNode answer =
        sluice
            .post(
                "/v1/check",
                "{\"rules\":[\"SecureLogin\",\"PromoQuery\"],\"cost\":2,\"identity\":"
                    + "{\"login\":\"emil\",\"member\":\"emil\",\"promo\":\"x\"}}")
            .json();

    assertThat(answer.path("allowed").asBoolean()).isTrue();
    assertThat(answer.path("rule").asText()).isEqualTo("SecureLogin");
    assertThat(answer.path("balances")).hasSize(2);
  }

  @Test
  void theSameIdIsCountedOnce() {
    String body = "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"fay\"},\"id\":\"r-1\"}";

    sluice.post("/v1/check", body);

    assertThat(sluice.post("/v1/check", body).json().path("remaining").asInt()).isEqualTo(1);
  }

  @Test
  void onlyACallThatAsksForAReceiptHasOne() {
    String call = "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"gil\"}%s}";

    assertThat(sluice.post("/v1/check", call.formatted("")).json().path("receipt").isNull())
        .isTrue();
    assertThat(
            sluice
                .post("/v1/check", call.formatted(",\"intent\":\"reserve\""))
                .json()
                .path("receipt")
                .isTextual())
        .as("a reservation has to be settled")
        .isTrue();
    assertThat(sluice.post("/v1/check", call.formatted(",\"receipt\":1")).errors())
        .containsExactly("receipt: a number (expected: true or false)");
  }

  @Test
  void aReceiptIsRefundedOnce() {
    String call = "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"gus\"},\"receipt\":true}";
    String receipt = sluice.post("/v1/check", call).json().path("receipt").asText();
    String body = "{\"receipt\":\"" + receipt + "\",\"cost\":0}";

    assertThat(sluice.post("/v1/settle", body).json().path("settled").asBoolean()).isTrue();
    assertThat(sluice.post("/v1/settle", body).json().path("settled").asBoolean()).isFalse();
    assertThat(left("SecureLogin", "login=gus")).isEqualTo(2);
  }

  private static int left(String rule, String query) {
    JsonNode answer = sluice.send(sluice.admin("GET", "/v1/accounts/" + rule + "?" + query)).json();
    return answer.path("balances").get(0).path("remaining").asInt();
  }

  @Test
  void onePeekTakesNothing() {
    sluice.post(
        "/v1/check",
        "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"hal\"},\"intent\":\"peek\"}");

    assertThat(left("SecureLogin", "login=hal")).isEqualTo(2);
  }

  @Test
  void theGateReadsTheRequestAndAnswersInHeaders() {
    HttpRequest.Builder asked =
        sluice.request("PATCH", "/v1/gate/PromoQuery?promo=x").header("X-Member-Code", "ida");
    for (int i = 0; i < 10; i++) {
      assertThat(sluice.send(asked).status()).isEqualTo(200);
    }

    Sluice.Answer denied = sluice.send(asked);

    assertThat(denied.status()).isEqualTo(429);
    assertThat(denied.header("Content-Type")).isEqualTo("application/problem+json");
    assertThat(denied.header("X-RateLimit-Limit")).isEqualTo("10");
    assertThat(denied.header("X-RateLimit-Remaining")).isEqualTo("0");
    assertThat(denied.header("RateLimit-Policy")).isEqualTo("\"PromoQuery\";q=10;w=60");
    assertThat(denied.header("RateLimit")).startsWith("\"PromoQuery\";r=0;t=");
    assertThat(Integer.parseInt(denied.header("Retry-After"))).isBetween(55, 60);
    assertThat(denied.json().path("violated-policies").get(0).asText()).isEqualTo("PromoQuery");
  }

  @Test
  void aGateOfSeveralRulesCountsByAllOrNone() {
    String path = "/v1/gate/PromoQuery,Api?promo=y";
    int[] statuses = new int[12];
    for (int i = 0; i < statuses.length; i++) {
      statuses[i] =
          sluice
              .send(
                  sluice
                      .request("GET", path)
                      .header("X-Member-Code", "kim")
                      .header("X-Api-Key", "several"))
              .status();
    }

    assertThat(statuses).startsWith(200).endsWith(429, 429);
    JsonNode api =
        sluice.send(sluice.admin("GET", "/v1/accounts/Api?apiKey=several")).json().path("balances");
    assertThat(api.get(2).path("remaining").asInt())
        .as("what the other rule refused is not counted")
        .isEqualTo(100_000 - 10);
    Sluice.Answer unknown = sluice.get("/v1/gate/Api,Apj,");
    assertThat(unknown.status()).isEqualTo(404);
    assertThat(unknown.errors())
        .containsExactly("rule 'Apj': unknown (did you mean 'Api'?)", "rule '': unknown");
  }

  @Test
  void theGateCountsByTheAddressThatATrustedProxySaw() {
    sluice.send(
        sluice.request("GET", "/v1/gate/RetryStorm").header("X-Forwarded-For", "192.0.2.9"));

    assertThat(left("RetryStorm", "ip=192.0.2.9")).isEqualTo(4);
    assertThat(left("RetryStorm", "ip=::ffff:192.0.2.9")).isEqualTo(4);
    assertThat(left("RetryStorm", "ip=192.0.2.8")).isEqualTo(5);
  }

  @Test
  void aLockEndsAtTheSameMillisecondInADecisionAndInTheList() {
    for (int i = 0; i < 20; i++) { // a whole millisecond now and then
      String login = "pia" + i;
      sluice.send(
          sluice
              .admin("PUT", "/v1/locks/SecureLogin?login=" + login)
              .PUT(HttpRequest.BodyPublishers.ofString("{\"duration\":\"1h\"}")));

      long told = check("SecureLogin", "login", login).json().path("restrictedUntil").asLong();

      JsonNode locks = sluice.send(sluice.admin("GET", "/v1/locks?limit=1000")).json();
      assertThat(locks.path("locks"))
          .filteredOn(lock -> lock.path("account").asText().equals("login=" + login))
          .extracting(lock -> lock.path("restrictedUntil").asLong())
          .containsExactly(told);
    }
  }

  @Test
  void aRequestWithoutAFacetIsABadRequest() {
    Sluice.Answer answer = sluice.get("/v1/gate/PromoQuery");

    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.errors())
        .containsExactly(
            "facet 'member': the request has no header X-Member-Code",
            "facet 'promo': the request has no query parameter promo");
  }

  @Test
  void locksAreSetListedAndLifted() {
    HttpRequest.Builder put =
        sluice
            .admin("PUT", "/v1/locks/SecureLogin?login=kim")
            .PUT(HttpRequest.BodyPublishers.ofString("{\"duration\":\"1h\",\"reason\":\"<b>\"}"));

    assertThat(sluice.send(put).json().path("locks").get(0).path("reason").asText())
        .isEqualTo("<b>");
    assertThat(check("SecureLogin", "login", "kim").json().path("locked").asBoolean()).isTrue();
    assertThat(sluice.send(sluice.admin("GET", "/v1/locks?rule=SecureLogin")).json().path("locks"))
        .anyMatch(lock -> lock.path("account").asText().equals("login=kim"));
    assertThat(
            sluice
                .send(sluice.admin("DELETE", "/v1/locks/SecureLogin?identity=login%3Dkim"))
                .json()
                .path("lifted")
                .asBoolean())
        .isTrue();
    assertThat(check("SecureLogin", "login", "kim").json().path("allowed").asBoolean()).isTrue();
  }

  @Test
  void liftingALockForgetsTheUsageThatLedToIt() {
    for (int i = 0; i < 3; i++) {
      check("SecureLogin", "login", "lia");
    }
    assertThat(check("SecureLogin", "login", "lia").json().path("locked").asBoolean()).isTrue();

    sluice.send(sluice.admin("DELETE", "/v1/locks/SecureLogin?login=lia"));

    assertThat(left("SecureLogin", "login=lia")).isEqualTo(2);
  }

  @Test
  void liftingSaysWhatTheCallerCanDoNow() {
    for (int i = 0; i < 3; i++) {
      check("SecureForgotAccount", "login", "max");
    }
    check("SecureForgotAccount", "login", "max");
    String path = "/v1/locks/SecureForgotAccount?login=max";

    JsonNode kept = sluice.send(sluice.admin("DELETE", path + "&keepUsage=true")).json();
    check("SecureForgotAccount", "login", "max");
    JsonNode lifted = sluice.send(sluice.admin("DELETE", path)).json();
    JsonNode again = sluice.send(sluice.admin("DELETE", path + "&keepUsage=false")).json();

    assertThat(kept.path("lifted").asBoolean()).isTrue();
    assertThat(kept.path("allowed").asBoolean()).isFalse();
    assertThat(kept.path("detail").asText())
        .matches(
            "lifted; still denied for (30m|29m5\\ds): login=max has 0 of 3 left \\(3 per 30m\\)");
    assertThat(lifted.path("allowed").asBoolean()).isTrue();
    assertThat(lifted.path("balances").get(0).path("remaining").asInt()).isEqualTo(3);
    assertThat(lifted.path("detail").asText())
        .isEqualTo("lifted; the next call passes: login=max has 3 of 3 left (3 per 30m)");
    assertThat(again.path("lifted").asBoolean()).isFalse();
    assertThat(sluice.send(sluice.admin("DELETE", path + "&keepUsage=maybe")).errors())
        .containsExactly("keepUsage: 'maybe' (expected: true or false)");
  }

  @Test
  void aSecretIsNeverShownButCanBeNamedByItsHash() {
    JsonNode balance = check("Api", "apiKey", "hush-hush").json().path("balances").get(0);

    assertThat(balance.toString()).doesNotContain("hush-hush");
    assertThat(balance.path("identity").path("apiKey").asText()).startsWith("sha256:");
    String account = Remote.encoded(balance.path("account").asText());
    JsonNode found =
        sluice.send(sluice.admin("GET", "/v1/accounts/Api?identity=" + account)).json();
    assertThat(found.path("balances").get(1).path("remaining").asInt()).isEqualTo(2_399);
    for (String shown :
        List.of(
            "apiKey=" + Remote.encoded(balance.path("account").asText().substring(7)),
            "apiKey=" + balance.path("identity").path("apiKey").asText())) {
      JsonNode same = sluice.send(sluice.admin("GET", "/v1/accounts/Api?" + shown)).json();
      assertThat(same.path("balances").get(1).path("account").asText())
          .describedAs(shown)
          .isEqualTo(balance.path("account").asText());
    }
    assertThat(sluice.send(sluice.admin("GET", "/v1/rules/Api")).response().body())
        .doesNotContain("acme", "health-probe");
  }

  @Test
  void anAccountIsReset() {
    check("SecureLogin", "login", "lou");

    Sluice.Answer reset = sluice.send(sluice.admin("DELETE", "/v1/accounts/SecureLogin?login=lou"));

    assertThat(reset.json().path("reset").asBoolean()).isTrue();
    assertThat(left("SecureLogin", "login=lou")).isEqualTo(2);
  }

  @Test
  void oneIdentityOfSeveralCanBeLookedAt() {
    assertThat(left("BankAccountUpdate", "member=mia")).isEqualTo(2);
    assertThat(sluice.send(sluice.admin("GET", "/v1/accounts/SecureLogin?member=x")).errors())
        .containsExactly("rule 'SecureLogin': the identity has [member] (expected: login)");
  }

  @Test
  void metricsNameRulesAndNoIdentities() {
    check("SecureLogin", "login", "nobody-else");

    String metrics = sluice.get("/metrics").response().body();

    assertThat(metrics)
        .contains(
            "sluice_decisions_total{counted_by=\"store\",locked=\"false\",outcome=\"allowed\",rule=\"SecureLogin\"}")
        .contains("sluice_calls_seconds_bucket{counted_by=\"store\",outcome=\"allowed\",le=")
        .contains(
            "sluice_locks ",
            "sluice_rules 8.0",
            "sluice_overloads_total",
            "sluice_store_foreign_values_total 0.0")
        .doesNotContain("sluice_decision_", "sluice_decisions_counted")
        .doesNotContain("nobody-else");
  }

  @Test
  void healthIsReported() {
    assertThat(sluice.get("/health/live").json().path("status").asText()).isEqualTo("live");
    assertThat(sluice.get("/health/ready").json().path("status").asText()).isEqualTo("ready");
  }

  /** Method, path, whether the token is needed. */
  @ParameterizedTest(name = "{0} {1}: token needed {2}")
  @CsvSource({
    "GET, /v1/rules, true",
    "GET, /v1/rules/Everyone, true",
    "GET, /v1/rules/Nobody, true",
    "GET, /v1/accounts/SecureLogin?login=x, true",
    "DELETE, /v1/accounts/SecureLogin?login=x, true",
    "GET, /v1/locks, true",
    "PUT, /v1/locks/SecureLogin?login=x, true",
    "DELETE, /v1/locks/SecureLogin?login=x, true",
    "POST, /v1/receipts/rotate, true",
    "POST, /v1/check, false",
    "POST, /v1/settle, false",
    "GET, /v1/gate/NewCrawlerRule, false",
    "POST, /v1/gate/NewCrawlerRule, false",
    "GET, /health/live, false",
    "GET, /health/ready, false",
    "GET, /metrics, false",
    "GET, /openapi.yaml, false",
  })
  void operatorsShowTheTokenAndNobodyElseMust(String method, String path, boolean needed) {
    List<String> wrong =
        List.of(
            "Bearer " + Sluice.TOKEN + "x",
            "Bearer " + Sluice.TOKEN.substring(1),
            "Bearer",
            "Bearer ",
            "Basic " + Sluice.TOKEN,
            Sluice.TOKEN,
            "bearer" + Sluice.TOKEN);

    Sluice.Answer without = sluice.send(sluice.request(method, path));
    Sluice.Answer with = sluice.send(sluice.admin(method, path));

    assertThat(without.status() == 401).isEqualTo(needed);
    assertThat(with.status()).isNotEqualTo(401);
    for (String field : wrong) {
      String somewhereElse =
          "192.0.2." + addresses.incrementAndGet(); // too many wrong ones are 429
      Sluice.Answer refused =
          sluice.send(
              sluice
                  .request(method, path)
                  .header("X-Forwarded-For", somewhereElse)
                  .header("Authorization", field));
      assertThat(refused.status() == 401).describedAs(field).isEqualTo(needed);
    }
    if (needed) {
      assertThat(without.header("WWW-Authenticate")).isEqualTo("Bearer realm=\"sluice\"");
    }
  }

  @Test
  void everyRouteIsInTheDescriptionAndNoOther() {
    Map<?, ?> document =
        (Map<?, ?>)
            new Load(LoadSettings.builder().build())
                .loadFromString(
                    new String(HealthRoutes.resource("openapi.yaml"), StandardCharsets.UTF_8));
    TreeSet<String> described = new TreeSet<>();
    ((Map<?, ?>) document.get("paths"))
        .forEach(
            (path, item) ->
                ((Map<?, ?>) item)
                    .keySet().stream()
                        .filter(key -> !key.equals("parameters"))
                        .forEach(method -> described.add(method + " " + path)));
    TreeSet<String> served = new TreeSet<>();
    for (String route : sluice.service().routes()) {
      String[] parts = route.split("\\] ", 2);
      for (String method : parts[0].substring(1).split(", ", -1)) {
        if (!method.equals("CONNECT")) {
          served.add(
              method.toLowerCase(Locale.ROOT) + " " + parts[1].replaceAll(":(\\w+)", "{$1}"));
        }
      }
    }

    assertThat(described).isEqualTo(served);
  }
}
