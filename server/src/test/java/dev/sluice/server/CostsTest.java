package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.http.Settings;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Calls and settlements with a cost for each rule, and what could not be charged. */
class CostsTest {
  private static final String RULES =
      """
      rules:
        requests: {by: [key], limits: [{fixed-window: {limit: 10, per: year}}]}
        tokens:
          by: [key]
          limits:
            - fixed-window: {limit: 2000, per: year}
            - fixed-window: {limit: 5000, per: year, zone: Europe/Berlin}
        words: {by: [key], limit: 10 per 1h, exempt: [{key: partner}]}
      """;

  private static final AtomicInteger callers = new AtomicInteger();
  private static Sluice sluice;

  private final String caller = "k" + callers.incrementAndGet(); // of each test another
  private final String call =
      "{'rules':['requests','tokens'],'identity':{'key':'%s'},'costs':{'tokens':1200},'receipt':true}"
          .formatted(caller);

  @BeforeAll
  static void start() {
    sluice = Sluice.start(Settings.defaults(), RULES);
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  private JsonNode post(String path, String body) {
    Sluice.Answer answer = sluice.post(path, body.replace('\'', '"'));
    assertThat(answer.status()).describedAs(answer.response().body()).isEqualTo(200);
    return answer.json();
  }

  private String settle(JsonNode decision, String costs) {
    String receipt = decision.path("receipt").asText();
    return post("/v1/settle", "{'receipt':'%s',%s}".formatted(receipt, costs)).toString();
  }

  private long used(String rule) {
    JsonNode balance =
        sluice
            .send(sluice.admin("GET", "/v1/accounts/" + rule + "?key=" + caller))
            .json()
            .path("balances")
            .get(0);
    return balance.path("quota").asLong() - balance.path("remaining").asLong();
  }

  private double uncharged(String rule) {
    String name = "sluice_uncharged_total{rule=\"%s\"} ".formatted(rule);
    return sluice
        .get("/metrics")
        .response()
        .body()
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
        .sum();
  }

  @Test
  void eachRuleTakesItsOwnCost() {
    JsonNode answer = post("/v1/check", call);

    assertThat(answer.path("allowed").asBoolean()).isTrue();
    assertThat(used("requests")).isEqualTo(1);
    assertThat(used("tokens")).isEqualTo(1200);
  }

  @Test
  void rulesWithoutACostOfTheirOwnTakeTheSingleOne() {
    post("/v1/check", call.replace("'costs'", "'cost':3,'costs'"));

    assertThat(used("requests")).isEqualTo(3);
    assertThat(used("tokens")).isEqualTo(1200);
  }

  @Test
  void aCallThatOneRuleDeniesTakesNothingOfTheOther() {
    post("/v1/check", call);

    JsonNode denied = post("/v1/check", call);

    assertThat(denied.path("outcome").asText()).isEqualTo("denied");
    assertThat(denied.path("rule").asText()).isEqualTo("tokens");
    assertThat(used("requests")).isEqualTo(1);
    assertThat(used("tokens")).isEqualTo(1200);
  }

  @Test
  void theSameIdWithOtherCostsIsAnotherQuestion() {
    String named = call.replace("'costs'", "'id':'r-1','costs'").replace('\'', '"');

    assertThat(sluice.post("/v1/check", named).status()).isEqualTo(200);
    assertThat(sluice.post("/v1/check", named).status()).isEqualTo(200);
    assertThat(sluice.post("/v1/check", named.replace("1200", "1201")).status()).isEqualTo(422);
    assertThat(used("tokens")).isEqualTo(1200);
  }

  @Test
  void aSettlementByRuleLeavesTheOthersAsTheyAre() {
    JsonNode decision = post("/v1/check", call);

    assertThat(settle(decision, "'costs':{'tokens':900}")).isEqualTo("{\"settled\":true}");
    assertThat(used("requests")).isEqualTo(1);
    assertThat(used("tokens")).isEqualTo(900);
    assertThat(settle(decision, "'costs':{'tokens':800}")).isEqualTo("{\"settled\":false}");
  }

  @Test
  void theSingleCostSettlesTheRulesThatAreNotNamed() {
    JsonNode decision = post("/v1/check", call);

    settle(decision, "'cost':0,'costs':{'tokens':900}");

    assertThat(used("requests")).isZero();
    assertThat(used("tokens")).isEqualTo(900);
  }

  @Test
  void whatASettlementCouldNotChargeIsAnsweredAndCounted() {
    double before = uncharged("tokens");
    JsonNode decision = post("/v1/check", call);

    assertThat(settle(decision, "'costs':{'tokens':2500}"))
        .isEqualTo("{\"settled\":true,\"uncharged\":500,\"unchargedBy\":{\"tokens\":500}}");
    assertThat(uncharged("tokens") - before).isEqualTo(500);
    assertThat(used("tokens")).isEqualTo(2000);
  }

  @Test
  void whatASettlementOfSeveralRulesCouldNotChargeIsAnsweredAndCountedByRule() {
    double tokens = uncharged("tokens");
    double requests = uncharged("requests");
    JsonNode decision = post("/v1/check", call);

    assertThat(settle(decision, "'costs':{'tokens':2100,'requests':15}"))
        .isEqualTo(
            "{\"settled\":true,\"uncharged\":105,\"unchargedBy\":{\"requests\":5,\"tokens\":100}}");
    assertThat(uncharged("tokens") - tokens).isEqualTo(100);
    assertThat(uncharged("requests") - requests).isEqualTo(5);
  }

  @Test
  void aCostByARuleFromWhichTheCallerIsExemptChangesNothing() {
    JsonNode decision =
        post(
            "/v1/check",
            "{'rules':['words','tokens'],'identity':{'key':'partner'},'receipt':true}");

    assertThat(settle(decision, "'costs':{'words':900,'tokens':7}"))
        .isEqualTo("{\"settled\":true}");
  }

  @Test
  void whatARecordCouldNotChargeIsAnsweredByLimitAndCountedOnceForTheAccount() {
    double before = uncharged("tokens");

    JsonNode balances =
        post(
                "/v1/check",
                call.replace("'costs'", "'intent':'record','costs'").replace("1200", "7000"))
            .path("balances");

    assertThat(balances.get(0).has("uncharged")).isFalse();
    assertThat(balances.get(1).path("uncharged").asLong()).isEqualTo(5000);
    assertThat(balances.get(2).path("uncharged").asLong()).isEqualTo(2000);
    assertThat(uncharged("tokens") - before).isEqualTo(5000);
  }
}
