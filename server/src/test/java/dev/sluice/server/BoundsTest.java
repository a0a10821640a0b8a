package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.linecorp.armeria.common.HttpStatus;
import dev.sluice.internal.Bounds;
import dev.sluice.server.http.Replies;
import dev.sluice.server.http.Settings;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One over a bound is refused before anything is counted, and says the bound. */
class BoundsTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String RULES =
      """
      facets: {login: {query: login}}
      rules:
        Any: {limit: 1000 per 1h}
        Login: {by: [login], limit: 1000 per 1h}
      """;

  private static Sluice sluice;

  @BeforeAll
  static void start() {
    sluice = Sluice.start(Settings.defaults(), RULES);
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  private static ObjectNode call(int facets) {
    ObjectNode call = MAPPER.createObjectNode().put("rule", "Any");
    ObjectNode identity = call.putObject("identity");
    for (int i = 0; i < facets; i++) {
      identity.put("f" + i, "x");
    }
    return call;
  }

  /** Sends a call that must be refused, and must have cost nothing. */
  private static List<String> refused(ObjectNode call) {
    String before = decisions();

    Sluice.Answer answer = sluice.post("/v1/check", call.toString());

    assertThat(answer.status()).isEqualTo(400);
    assertThat(decisions()).isEqualTo(before);
    return answer.errors();
  }

  private static String decisions() {
    return sluice
        .get("/metrics")
        .response()
        .body()
        .lines()
        .filter(line -> line.startsWith("sluice_decisions_total"))
        .collect(Collectors.joining("\n"));
  }

  @Test
  void moreThanSixteenFacetsAreRefused() {
    assertThat(sluice.post("/v1/check", call(16).toString()).status()).isEqualTo(200);
    assertThat(refused(call(17))).containsExactly("identity: 17 members (expected: at most 16)");
    assertThat(refused(call(3_000)))
        .containsExactly("identity: 3,000 members (expected: at most 16)");
  }

  @Test
  void aFacetNameOfMoreThan64CharactersIsRefused() {
    ObjectNode call = call(0);
    call.withObject("identity").put("n".repeat(65), "x");

    assertThat(refused(call))
        .containsExactly(
            "identity.'%s…': a name of 65 characters (expected: at most 64)"
                .formatted("n".repeat(64)));
  }

  @Test
  void aFacetValueOfMoreThan1024CharactersIsRefused() {
    ObjectNode call = call(0).put("rule", "Login");
    call.withObject("identity").put("login", "v".repeat(1_024));
    assertThat(sluice.post("/v1/check", call.toString()).status()).isEqualTo(200);

    call.withObject("identity").put("login", "v".repeat(1_025));

    assertThat(refused(call))
        .containsExactly("identity.'login': 1,025 characters (expected: at most 1,024)");
  }

  @ParameterizedTest
  @ValueSource(ints = {33, 15_000})
  void moreThan32RulesAreRefused(int count) {
    ObjectNode call = call(1);
    call.remove("rule");
    ArrayNode rules = call.putArray("rules");
    IntStream.range(0, count).forEach(i -> rules.add("unknown" + i));

    assertThat(refused(call)).containsExactly("rules: %,d (expected: 1 to 32)".formatted(count));
  }

  @Test
  void moreThan32RulesAreRefusedAtTheGateToo() {
    String before = decisions();

    Sluice.Answer answer = sluice.get("/v1/gate/" + "Login,".repeat(32) + "Login?login=ann");

    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.errors()).containsExactly("rules: 33 (expected: at most 32)");
    assertThat(decisions()).isEqualTo(before);
  }

  @ParameterizedTest
  @ValueSource(ints = {33, 10_000})
  void moreThan32CostsAreRefused(int count) {
    ObjectNode call = call(1);
    ObjectNode costs = call.putObject("costs");
    IntStream.range(0, count).forEach(i -> costs.put("unknown" + i, 1));

    assertThat(refused(call))
        .containsExactly("costs: %,d members (expected: at most 32)".formatted(count));
  }

  @Test
  void theLongNameOfARuleInCostsIsRefused() {
    ObjectNode call = call(1);
    call.putObject("costs").put("r".repeat(101), 1);

    assertThat(refused(call))
        .containsExactly(
            "costs.'%s…': a name of 101 characters (expected: at most 100)"
                .formatted("r".repeat(64)));
  }

  @Test
  void aLongRuleNameIsRefused() {
    assertThat(refused(call(1).put("rule", "r".repeat(101))))
        .containsExactly("rule: 101 characters (expected: at most 100)");
  }

  @Test
  void anIdOfMoreThan128CharactersIsRefused() {
    assertThat(sluice.post("/v1/check", call(1).put("id", "i".repeat(128)).toString()).status())
        .isEqualTo(200);
    assertThat(refused(call(1).put("id", "i".repeat(129))))
        .containsExactly("id: 129 characters (expected: at most 128)");
  }

  @Test
  void aReasonOfMoreThan256CharactersIsRefused() {
    assertThat(lock("r".repeat(256)).status()).isEqualTo(200);
    assertThat(lock("r".repeat(257)).errors())
        .containsExactly("reason: 257 characters (expected: at most 256)");
  }

  private static Sluice.Answer lock(String reason) {
    ObjectNode body = MAPPER.createObjectNode().put("duration", "1m").put("reason", reason);
    return sluice.send(
        sluice
            .admin("PUT", "/v1/locks/Login?login=ann")
            .PUT(HttpRequest.BodyPublishers.ofString(body.toString())));
  }

  @Test
  void operatorsNameNoMoreFacetsThanCallersDo() {
    String seventeen =
        IntStream.range(0, 17).mapToObj(i -> "f" + i + "=x").collect(Collectors.joining("&"));

    assertThat(account(seventeen)).containsExactly("query: 17 facets (expected: at most 16)");
    assertThat(account("login=" + "v".repeat(1_025)))
        .containsExactly("facet 'login': 1,025 characters (expected: at most 1,024)");
    assertThat(account("n".repeat(65) + "=x"))
        .containsExactly(
            "facet '%s…': a name of 65 characters (expected: at most 64)"
                .formatted("n".repeat(64)));
  }

  private static List<String> account(String query) {
    Sluice.Answer answer = sluice.send(sluice.admin("GET", "/v1/accounts/Login?" + query));
    assertThat(answer.status()).isEqualTo(400);
    return answer.errors();
  }

  @Test
  void theGateRefusesALongFacet() {
    // A query of more than 8 KB is no request at all; this is below that.
    Sluice.Answer answer = sluice.get("/v1/gate/Login?login=" + "v".repeat(4_000));

    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.errors().get(0)).contains("4,000 characters (expected: at most 1,024)");
  }

  /** Bodies of 250 KB that are wrong in as many places as possible. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"rules\":[%s]}|\"\\u0001\\u0001\\u0001\",",
        "{\"rules\":[%s]}|\"😀😀😀😀😀😀😀\",",
        "{\"rules\":[%s]}|7,",
        "{%s\"a\":1}|\"\\u0002\":1,",
        "{%s\"a\":1}|\"x\":{},",
        "{\"identity\":{%s\"a\":1}}|\"\\u0003\":1,",
        "{\"costs\":{%s\"a\":1}}|\"\\u0003\":\"\",",
        "{\"identity\":{\"a\":\"%s\"}}|\\u0004",
        "{\"rule\":\"%s\"}|é",
        "%s|[",
        "%s|\"",
        "{\"cost\":%s}|9",
      })
  void noErrorIsLargerThan64Kilobytes(String attack) {
    String[] parts = attack.split("\\|", 2);
    String filling = parts[1].repeat(250_000 / parts[1].getBytes(StandardCharsets.UTF_8).length);
    String body = parts[0].formatted(filling).replace(",]", "]");

    Sluice.Answer answer = sluice.post("/v1/check", body);

    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.response().body().getBytes(StandardCharsets.UTF_8).length)
        .isLessThanOrEqualTo(Replies.LARGEST_PROBLEM);
    assertThat(answer.errors()).isNotEmpty();
  }

  /** Every name unknown and as long as can be, and many rules that could be listed with each. */
  @Test
  void unknownRulesAreNotAnsweredWithTheListOfAllRulesEach() {
    StringBuilder rules = new StringBuilder("rules:\n");
    for (int i = 0; i < 5_000; i++) {
      rules.append("  R%s: {by: [ip], limit: 5 per 1m}%n".formatted("x".repeat(90) + i));
    }
    ObjectNode call = call(1);
    call.remove("rule");
    ArrayNode names = call.putArray("rules");
    IntStream.range(0, 32).forEach(i -> names.add("\u0001".repeat(98) + (10 + i)));
    try (Sluice many = Sluice.start(Sluice.patient(100), rules.toString())) {
      Sluice.Answer answer = many.post("/v1/check", call.toString());

      assertThat(answer.status()).isEqualTo(404);
      assertThat(answer.errors().get(0)).contains("expected: one of Rxxx");
      assertThat(answer.response().body().length()).isLessThan(Replies.LARGEST_PROBLEM);
    }
  }

  @Test
  void manyErrorsEndWithHowManyMoreThereAre() throws Exception {
    List<String> errors =
        IntStream.range(0, 1_000).mapToObj(i -> "\u0001".repeat(3_000) + i).toList();

    byte[] body = Replies.problemBytes(HttpStatus.BAD_REQUEST, errors);

    assertThat(body.length).isBetween(10_000, Replies.LARGEST_PROBLEM);
    JsonNode list = MAPPER.readTree(body).path("errors");
    assertThat(list.get(list.size() - 1).asText())
        .isEqualTo("and %d more".formatted(1_000 - (list.size() - 1)));
  }

  @Test
  void theNumbersAreThoseOfTheLibrary() {
    assertThat(
            List.of(
                Bounds.MOST_FACETS,
                Bounds.LONGEST_FACET_NAME,
                Bounds.LONGEST_FACET_VALUE,
                Bounds.MOST_RULES,
                Bounds.LONGEST_ID,
                Bounds.LONGEST_REASON))
        .containsExactly(16, 64, 1_024, 32, 128, 256);
  }
}
