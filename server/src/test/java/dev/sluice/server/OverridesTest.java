package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.internal.Percent;
import dev.sluice.memory.MemoryStore;
import dev.sluice.rules.KeptOverride;
import dev.sluice.rules.Until;
import dev.sluice.server.http.Settings;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Overrides at run time, over HTTP and in the console. */
class OverridesTest {
  private static final Duration LONG = Duration.ofSeconds(15);
  private static final String RULES =
      """
      facets:
        ip: client-address
        login: {query: login, normalize: [trim, lowercase]}
        apiKey: {header: X-Api-Key, secret: true}
      rules:
        Api: {by: [apiKey], limit: 2 per 1h}
        Login:
          by: [login, ip]
          limit: 2 per 1h
          overrides:
            - {when: {ip: 192.0.2.0/24}, limit: 3 per 1h, lock: 5m}
            - {when: {apiKey: key-9}, limit: 4 per 1h}
      """;

  private final Store store = MemoryStore.create();
  private final SharedData data = store.sharedData();
  private final Sluice sluice = Sluice.start(Settings.defaults(), RULES, store);
  private final ConsoleSession console = ConsoleSession.begin(sluice, Sluice.TOKEN);

  @AfterEach
  void stop() {
    sluice.close();
  }

  private Sluice.Answer put(String path, String body) {
    return sluice.send(
        sluice.admin("PUT", path).method("PUT", HttpRequest.BodyPublishers.ofString(body)));
  }

  private String make(String rule, String when, String reason) {
    String body =
        "{\"rule\": \"%s\", \"when\": {%s}, \"limits\": [\"5 per 1h\"], \"reason\": \"%s\"}"
            .formatted(rule, when, reason);
    Sluice.Answer made = put("/v1/overrides", body);
    assertThat(made.status()).as(made.response().body()).isEqualTo(200);
    return made.json().path("id").asText();
  }

  private JsonNode list(String query) {
    return sluice.send(sluice.admin("GET", "/v1/overrides" + query)).json();
  }

  private static List<String> texts(JsonNode array, String member) {
    return StreamSupport.stream(array.spliterator(), false)
        .map(each -> each.path(member).asText())
        .toList();
  }

  private JsonNode client(String identity) {
    return console
        .get("client?identity=" + URLEncoder.encode(identity, StandardCharsets.UTF_8))
        .json()
        .path("overrides");
  }

  // ---- What is refused ------------------------------------------------------------------------

  private Sluice.Answer put(byte[] body) {
    return sluice.send(
        sluice
            .admin("PUT", "/v1/overrides")
            .method("PUT", HttpRequest.BodyPublishers.ofByteArray(body)));
  }

  private static final String GOOD =
      "{\"rule\": \"Api\", \"when\": {\"apiKey\": \"k\"}, \"limit\": \"5 per 1h\"}";

  @Test
  void aBodyIsOneObjectInWellFormedUtf8() {
    byte[] overlong = GOOD.replace("\"k\"", "\"??\"").getBytes(StandardCharsets.UTF_8);
    int at = new String(overlong, StandardCharsets.UTF_8).indexOf("??");
    overlong[at] = (byte) 0xc1; // two bytes for an 'a'
    overlong[at + 1] = (byte) 0xa1;
    List<byte[]> bodies =
        List.of(
            GOOD.getBytes(StandardCharsets.UTF_16BE),
            GOOD.getBytes(StandardCharsets.UTF_16LE),
            GOOD.getBytes(StandardCharsets.UTF_16),
            overlong,
            (GOOD + GOOD).getBytes(StandardCharsets.UTF_8),
            (GOOD + " x").getBytes(StandardCharsets.UTF_8),
            "[]".getBytes(StandardCharsets.UTF_8),
            new byte[0]);

    for (byte[] body : bodies) {
      Sluice.Answer answer = put(body);
      assertThat(answer.status()).as(new String(body, StandardCharsets.UTF_8)).isEqualTo(400);
      assertThat(answer.errors().get(0)).startsWith("body: ");
    }
    assertThat(list("").path("total").asInt()).isZero();
    assertThat(put(GOOD.getBytes(StandardCharsets.UTF_8)).status()).isEqualTo(200);
  }

  @Test
  void aMistakeInABodyIsNamed() {
    Map<String, String> errors = new LinkedHashMap<>();
    errors.put(
        "{'rule': 'Login', 'rule': 'Api', 'when': {'apiKey': 'k'}, 'limit': '5 per 1h'}",
        "'rule': there twice (expected: once)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': 'k'}, 'when': {'apiKey': 'j'}, 'limit': '5 per 1h'}",
        "'when': there twice (expected: once)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': 'k', 'apiKey': 'j'}, 'limit': '5 per 1h'}",
        "when.'apiKey': there twice (expected: once)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': 'k'}, 'limit': '5 per 1h', 'limit': '6 per 1h'}",
        "'limit': there twice (expected: once)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': 'k'}, 'limit': {'token-bucket': {'capacity': 1, 'capacity': 9, 'refill': 1, 'per': '1s'}}}",
        "limit.'token-bucket'.'capacity': there twice (expected: once)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': 7}, 'limit': '5 per 1h'}",
        "when.'apiKey': a number (expected: a string)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': true}, 'limit': '5 per 1h'}",
        "when.'apiKey': true (expected: a string)");
    errors.put(
        "{'rule': 'Api', 'when': [], 'limit': '5 per 1h'}",
        "when: a list (expected: an object of strings)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': 'k'}, 'limits': ['5 per 1h'], 'unti': '2030-01-01T00:00:00Z'}",
        "key 'unti' is unknown (did you mean 'until'?)");
    errors.put(
        "{'when': {'apiKey': 'k'}, 'limit': '5 per 1h'}",
        "rule: missing (expected: the name of a rule)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': 'k'}, 'limit': '5 per 1h', 'reason': 'a\\u0007'}",
        "reason: 'a\\u0007' (expected: no control characters, well-formed Unicode)");
    errors.put(
        "{'rule': 'Api', 'when': {'apiKey': 'k'}, 'limit': '5 per 1h', 'until': '2020-01-01T00:00:00Z'}",
        "until: 2020-01-01T00:00:00Z (expected: a time in the future)");

    errors.forEach(
        (body, error) -> {
          Sluice.Answer answer = put("/v1/overrides", body.replace('\'', '"'));
          assertThat(answer.status()).as(body).isEqualTo(400);
          assertThat(answer.errors()).containsExactly(error);
        });
    assertThat(list("").path("total").asInt()).isZero();
  }

  @Test
  void anOverrideIsNotChangedToEndInThePast() {
    String id = make("Api", "\"apiKey\": \"key-1\"", "");
    String ended = GOOD.replace("}, ", "}, \"until\": \"2020-01-01T00:00:00Z\", ");

    Sluice.Answer answer = put("/v1/overrides/" + id, ended);
    Sluice.Answer page = console.change("PUT", "overrides/" + id, ended);

    assertThat(answer.status()).isEqualTo(400);
    assertThat(page.status()).isEqualTo(400);
    assertThat(page.errors())
        .containsExactly("until: 2020-01-01T00:00:00Z (expected: a time in the future)");
    assertThat(list("").path("overrides").get(0).has("until")).isFalse();
  }

  @Test
  void aListedOverrideCanBeSentBack() {
    String id = make("Api", "\"apiKey\": \"key-1\"", "ticket 4711");
    JsonNode listed = list("").path("overrides").get(0);

    Sluice.Answer again = put("/v1/overrides/" + id, listed.toString());

    assertThat(again.status()).as(again.response().body()).isEqualTo(200);
    JsonNode now = list("").path("overrides").get(0);
    assertThat(now.path("when")).isEqualTo(listed.path("when"));
    assertThat(now.path("limits")).isEqualTo(listed.path("limits"));
    assertThat(now.path("reason").asText()).isEqualTo("ticket 4711");
  }

  // ---- The audit trail ------------------------------------------------------------------------

  @Test
  void theTrailHasTheReasonAndTheClientBeforeAndAfterButNoSecret() {
    String id = make("Api", "\"apiKey\": \"key-1\"", "ticket 4711");
    String changed =
        "{\"rule\": \"Api\", \"when\": {\"apiKey\": \"key-1\"}, \"limit\": \"6 per 1h\", \"reason\": \"ticket 4712\"}";
    put("/v1/overrides/" + id, changed);
    sluice.send(sluice.admin("DELETE", "/v1/overrides/" + id));

    JsonNode entries = console.get("audit").json().path("entries");

    assertThat(texts(entries, "action"))
        .containsExactly("override removed", "override changed", "override made");
    assertThat(texts(entries, "identity")).allMatch(text -> text.startsWith("apiKey=%02"));
    List<String> before = texts(entries, "before");
    List<String> after = texts(entries, "after");
    assertThat(before.get(0)).contains("\"reason\":\"ticket 4712\"", "6 per 1h", "sha256:");
    assertThat(after.get(0)).isEqualTo("none");
    assertThat(before.get(1)).contains("\"reason\":\"ticket 4711\"", "5 per 1h");
    assertThat(after.get(1)).isEqualTo(before.get(0));
    assertThat(before.get(2)).isEqualTo("none");
    assertThat(after.get(2)).isEqualTo(before.get(1));
    assertThat(entries.toString()).doesNotContain("key-1");
    assertThat(texts(console.get("audit?q=ticket%204711").json().path("entries"), "action"))
        .containsExactly("override changed", "override made");
  }

  @Test
  void aSpreadsheetTakesNoCellOfTheExportForAFormula() {
    String row =
        Stream.of("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1")
            .map(Percent::encode)
            .collect(Collectors.joining(" "));
    data.append("audit", List.of(row), 10, Duration.ofDays(1)).toCompletableFuture().join();

    String csv = console.get("audit/export?format=csv").response().body();

    assertThat(csv)
        .endsWith("\"'=1+1\",\"'+1\",\"'-1\",\"'@SUM(A1)\",\"'\t=1\",\"'\r=1\"\r\n")
        .doesNotContain("\"=", "\"+", "\"-", "\"@");
  }

  @Test
  void anOverrideThatIsTooLongForTheTrailIsKeptAndItsBeginIsInTheTrail() {
    String when =
        Stream.of("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o")
            .map(name -> "\"%s\": \"%s\"".formatted(name, "漢".repeat(1_000)))
            .collect(Collectors.joining(", "));
    String facets = when.replaceAll("\"([a-z])\": \"漢+\"", "$1: caller");
    String rules = "facets: {%s}\nrules: {Api: {by: [a], limit: 2 per 1h}}".formatted(facets);
    try (Sluice wide = Sluice.start(Settings.defaults(), rules)) {
      String body = "{\"rule\": \"Api\", \"when\": {%s}, \"limit\": \"5 per 1h\"}".formatted(when);

      Sluice.Answer made =
          wide.send(
              wide.admin("PUT", "/v1/overrides/long")
                  .method("PUT", HttpRequest.BodyPublishers.ofString(body)));

      assertThat(made.status()).as(made.response().body()).isEqualTo(200);
      JsonNode entry =
          wide.send(wide.admin("GET", "/v1/audit?q=override")).json().path("entries").get(0);
      assertThat(entry.path("after").asText()).startsWith("{\"when\":{\"a\":\"漢漢").endsWith("…");
    }
  }

  // ---- One client -----------------------------------------------------------------------------

  @Test
  void aClientListsEveryOverrideThatDecidesItsCallsAndSaysWhichAreOfTheRuleFile() {
    String range = make("Login", "\"ip\": \"192.0.2.0/28\"", "");
    String normalized = make("Login", "\"login\": \" Ann \"", "");
    String kept = "x".repeat(200);
    String hashed = make("Login", "\"login\": \"%s\"".formatted(kept), "");
    sluice.post(
        "/v1/check", "{\"rule\": \"Login\", \"identity\": {\"login\": \"%s\"}}".formatted(kept));

    JsonNode address = client("ip=192.0.2.7");
    JsonNode ann = client("login=ann");
    JsonNode both = client("ip=192.0.2.7&login=ann");

    assertThat(texts(address, "id")).containsExactly(range, "");
    assertThat(address.get(0).has("file")).isFalse();
    JsonNode file = address.get(1);
    assertThat(file.path("file").asBoolean()).isTrue();
    assertThat(file.path("rule").asText()).isEqualTo("Login");
    assertThat(file.path("when").path("ip").asText()).isEqualTo("192.0.2.0/24");
    assertThat(file.path("limits").get(0).asText()).isEqualTo("3 per 1h");
    assertThat(file.path("lock").asText()).isEqualTo("5m");
    assertThat(texts(ann, "id")).containsExactly(normalized);
    assertThat(texts(both, "id")).containsExactly(normalized, range, "");
    assertThat(texts(client("login=" + kept), "id")).containsExactly(hashed);
    assertThat(client("ip=198.51.100.7")).isEmpty();
    JsonNode secret = client("apiKey=key-9");
    assertThat(secret).hasSize(1);
    assertThat(secret.toString()).contains("sha256:").doesNotContain("key-9");
  }

  @Test
  void aClientSaysWhenItsOverrideLastApplied() {
    make("Api", "\"apiKey\": \"key-1\"", "");
    Instant before = Instant.now().minusSeconds(1);

    sluice.post("/v1/check", "{\"rule\": \"Api\", \"identity\": {\"apiKey\": \"key-1\"}}");

    Until.within(LONG, "shared", () -> client("apiKey=key-1").get(0).path("applied").isTextual());
    assertThat(Instant.parse(client("apiKey=key-1").get(0).path("applied").asText()))
        .isAfterOrEqualTo(before.minusSeconds(1));
  }

  // ---- Lists ----------------------------------------------------------------------------------

  private void store(String id, String text) {
    data.putEntry("overrides", id, text, KeptOverride.MOST).toCompletableFuture().join();
  }

  @Test
  void whatSluiceDidNotWriteIsListedWithTheReason() {
    String head = "1700000000000 Api rita why\n";
    store("foreign", "nobody knows");
    store("broken", head + "{\"when\": ");
    store("text", head + "nobody knows");
    store("array", head + "[]");
    store("shape", head + "{\"when\": {\"apiKey\": \"k\"}, \"limits\": {\"x\": null}}");
    store(
        "twice", head + "{\"id\": \"x\", \"when\": {\"apiKey\": \"k\"}, \"limit\": \"1 per 1h\"}");
    store("yaml", head + "{when: {apiKey: k}, limit: 7 per 1h}");
    String good = make("Api", "\"apiKey\": \"key-1\"", "");

    JsonNode all = list("").path("overrides");
    JsonNode page = console.get("overrides").json().path("overrides");
    CommandsTest.Ended printed =
        CommandsTest.run("overrides", "list", "--url", sluice.url(), "--token", Sluice.TOKEN);

    assertThat(page).isEqualTo(all);
    assertThat(texts(all, "id"))
        .containsExactly(good, "array", "broken", "shape", "text", "twice", "yaml", "foreign");
    for (JsonNode each : all) {
      boolean works = List.of(good, "yaml").contains(each.path("id").asText());
      assertThat(each.path("skipped").isTextual()).as(each.toString()).isEqualTo(!works);
      assertThat(each.path("when").isObject()).as(each.toString()).isTrue();
    }
    assertThat(all.get(6).path("limits").get(0).asText()).isEqualTo("7 per 1h");
    assertThat(printed.status()).as(printed.err()).isZero();
    assertThat(printed.out())
        .containsPattern("foreign .*has no effect: Sluice did not write it")
        .containsPattern("broken .*has no effect: ");
    assertThat(
            sluice
                .send(sluice.admin("DELETE", "/v1/overrides/foreign"))
                .json()
                .path("removed")
                .asBoolean())
        .isTrue();
  }

  @Test
  void aPageGoesOnWhereTheOneBeforeEndedAlsoIfThatOverrideIsGone() {
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      ids.add(0, make("Api", "\"apiKey\": \"key-%d\"".formatted(i), ""));
    }
    JsonNode first = list("?limit=2");
    assertThat(texts(first.path("overrides"), "id")).isEqualTo(ids.subList(0, 2));

    sluice.send(sluice.admin("DELETE", "/v1/overrides/" + ids.get(1)));

    JsonNode second = list("?limit=2&after=" + first.path("next").asText());
    JsonNode third = list("?limit=2&after=" + second.path("next").asText());
    assertThat(texts(second.path("overrides"), "id")).isEqualTo(ids.subList(2, 4));
    assertThat(texts(third.path("overrides"), "id")).isEqualTo(ids.subList(4, 5));
    assertThat(third.path("next").isNull()).isTrue();
    Sluice.Answer wrong = sluice.send(sluice.admin("GET", "/v1/overrides?after=" + ids.get(2)));
    assertThat(wrong.status()).isEqualTo(400);
    assertThat(wrong.errors().get(0)).contains("expected: the next of another page");
  }

  @Test
  void theNewestIsTheOneThatWasMadeLastAlsoAfterAServiceWhoseClockIsAhead() {
    String ahead = Long.toString(Instant.now().plusSeconds(3_600).toEpochMilli());
    store("ahead", ahead + " Api rita -\n{\"when\": {\"apiKey\": \"k\"}, \"limit\": \"9 per 1h\"}");
    Until.within(LONG, "known", () -> list("").path("total").asInt() == 1);

    String id = make("Api", "\"apiKey\": \"k\"", "");

    assertThat(texts(list("").path("overrides"), "id")).containsExactly(id, "ahead");
  }

  @Test
  void oneMoreThanTenThousandIsRefused() {
    for (int i = 0; i < KeptOverride.MOST; i++) {
      store("o" + i, "1700000000000 Gone rita -\n{}");
    }

    Sluice.Answer refused =
        put(
            "/v1/overrides",
            "{\"rule\": \"Api\", \"when\": {\"apiKey\": \"k\"}, \"limit\": \"5 per 1h\"}");

    assertThat(refused.status()).isEqualTo(409);
    assertThat(refused.errors().get(0)).contains("there are 10,000 already");
    assertThat(list("?limit=1").path("total").asInt()).isEqualTo(KeptOverride.MOST);
  }
}
