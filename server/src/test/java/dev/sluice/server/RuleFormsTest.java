package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.http.ClientAddress;
import dev.sluice.server.http.Settings;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Forms of rules, from the rule file to the answer over HTTP. */
class RuleFormsTest {
  private static final String RULES =
      """
      facets:
        ip: client-address
        apiKey: {header: X-Api-Key, secret: true}
      rules:
        Keyed:
          by: apiKey
          limit: 1 per 1h
          exempt:
            - {ip: 10.0.0.0/8}
            - {ip: "2001:db8:1::/64"}
        ByAddress:
          by: ip
          limit: 1 per 1h
          overrides:
            - {when: {ip: "2001:db8:2::/48"}, limit: 2 per 1h}
        Guard: {by: [everyone], limit: 2 per 1h, lock: 1h, lockOn: limit}
      """;

  private static Sluice sluice;

  @BeforeAll
  static void start() {
    ClientAddress behindProxy = ClientAddress.trusting(List.of("127.0.0.1"));
    sluice = Sluice.start(Settings.builder().client(behindProxy).build(), RULES);
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  private static Sluice.Answer gate(String rule, String from) {
    return sluice.send(sluice.request("GET", "/v1/gate/" + rule).header("X-Forwarded-For", from));
  }

  @Test
  void anExemptRangeNeedsNoKey() {
    for (String from : List.of("10.1.2.3", "10.255.255.255", "2001:db8:1::5", "2001:db8:1::6")) {
      for (int i = 0; i < 3; i++) {
        assertThat(gate("Keyed", from).status()).as(from).isEqualTo(200);
      }
    }
    assertThat(gate("Keyed", "11.0.0.1").errors())
        .containsExactly("facet 'apiKey': the request has no header X-Api-Key");
    assertThat(gate("Keyed", "2001:db8:1:1::5").status()).isEqualTo(400);
  }

  @Test
  void anOverrideForARangeGivesEachClientItsOwnAccount() {
    for (String from : List.of("2001:db8:2::9", "2001:db8:2:1::9")) {
      assertThat(gate("ByAddress", from).status()).isEqualTo(200);
      assertThat(gate("ByAddress", from).status()).isEqualTo(200);
      assertThat(gate("ByAddress", from).status()).isEqualTo(429);
    }
    assertThat(gate("ByAddress", "2001:db8:3::9").status()).isEqualTo(200);
    assertThat(gate("ByAddress", "2001:db8:3::9").status()).isEqualTo(429);
  }

  @Test
  void whatIsNoAddressIsRefusedWhereOneBelongs() {
    String expected =
        "facet 'ip': '999.1.1.1' (expected: an address such as 192.0.2.7 or 2001:db8::7, or an IPv6"
            + " range of /64)";

    assertThat(
            sluice
                .post("/v1/check", "{\"rule\":\"ByAddress\",\"identity\":{\"ip\":\"999.1.1.1\"}}")
                .errors())
        .containsExactly(expected);
    for (String method : List.of("GET", "DELETE")) {
      assertThat(sluice.send(sluice.admin(method, "/v1/accounts/ByAddress?ip=999.1.1.1")).errors())
          .containsExactly(expected);
    }
    assertThat(sluice.send(sluice.admin("DELETE", "/v1/locks/ByAddress?ip=999.1.1.1")).errors())
        .containsExactly(expected);
  }

  @Test
  void everyoneIsCountedTogetherAndNeedsNoIdentity() {
    JsonNode first = sluice.post("/v1/check", "{\"rule\":\"Guard\"}").json();
    Sluice.Answer second = gate("Guard", "192.0.2.1");
    Sluice.Answer third = gate("Guard", "192.0.2.2");

    assertThat(first.path("balances").get(0).path("account").asText()).isEqualTo("everyone=all");
    assertThat(second.status()).isEqualTo(200);
    assertThat(third.status()).isEqualTo(429);
    assertThat(sluice.post("/v1/check", "{\"rules\":[\"Guard\",\"ByAddress\"]}").errors())
        .containsExactly("identity: missing (expected: an object such as {\"login\": \"ann\"})");
    assertThat(
            sluice
                .post("/v1/check", "{\"rule\":\"Guard\",\"identity\":{\"everyone\":\"x\"}}")
                .errors())
        .containsExactly(
            "facet 'everyone': 'x' (expected: another name; this one stands for all callers"
                + " together)");
  }

  @Test
  void theRuleIsShownWithWhatBeginsItsLock() {
    JsonNode guard = sluice.send(sluice.admin("GET", "/v1/rules/Guard")).json();
    JsonNode keyed = sluice.send(sluice.admin("GET", "/v1/rules/Keyed")).json();

    assertThat(guard.path("lockOn").asText()).isEqualTo("limit");
    assertThat(guard.path("by").get(0).asText()).isEqualTo("everyone");
    assertThat(keyed.path("lockOn").isNull()).isTrue();
  }
}
