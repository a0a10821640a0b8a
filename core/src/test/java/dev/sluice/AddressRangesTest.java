package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.http.ClientAddress;
import dev.sluice.memory.MemoryStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Addresses and ranges in exempt and when, compared with what callers' addresses become. */
class AddressRangesTest {
  private static final Limit ONE = Limit.slidingLog(1, Duration.ofHours(1));

  private static boolean isExempt(String wanted, String ip) {
    Rules rules =
        Rules.of(Rule.builder("r").by("ip").limit(ONE).exempt(Map.of("ip", wanted)).build());
    return rules.isExempt("r", Identity.of("ip", ip));
  }

  @ParameterizedTest
  @CsvSource({
    "10.0.0.0/8,      10.1.2.3,        true",
    "10.0.0.0/8,      11.0.0.1,        false",
    "192.0.2.1,       192.0.2.1,       true",
    "192.0.2.1,       ::ffff:192.0.2.1, true",
    "192.0.2.1,       192.0.2.10,      false",
    "0.0.0.0/0,       203.0.113.9,     true",
    "0.0.0.0/0,       2001:db8::/64,   false",
    "::/0,            192.0.2.1,       false",
    "2001:db8::/32,   2001:db8:1::/64, true",
    "2001:DB8:0::/64, 2001:db8::/64,   true",
    "2001:db8::/64,   2001:db8::5,     true",
    "2001:db8::/64,   2001:db8:0:1::/64, false",
    "2001:db8::/64,   2001:db8::/56,   false",
    "2001:db8::5/128, 2001:db8::5,     true",
    "2001:db8::5/128, 2001:db8::/64,   false",
    "10.0.0.0/8,      ann,             false",
    "10.0.0.0/8,      10.0.0.0/7,      false",
  })
  void rangeHoldsTheCallersThatLieInItAndNobodyElse(String wanted, String ip, boolean exempt) {
    assertThat(isExempt(wanted, ip)).isEqualTo(exempt);
  }

  @Test
  void addressOfARequestIsExemptInTheFormThatItIsCountedIn() {
    ClientAddress client = ClientAddress.ofPeer();

    assertThat(isExempt("2001:db8::/64", client.canonical("2001:db8::5"))).isTrue();
    assertThat(isExempt("10.9.0.0/16", client.canonical("::ffff:10.9.9.9"))).isTrue();
  }

  @Test
  void rangeIsOneOfSeveralFacetsThatAllHaveToMatch() {
    Rules rules =
        Rules.of(
            Rule.builder("r")
                .by("ip")
                .limit(ONE)
                .exempt(Map.of("ip", "10.0.0.0/8", "member", "probe"))
                .exempt(Map.of("ip", "192.0.2.0/24"))
                .build());

    assertThat(rules.isExempt("r", Identity.of("ip", "10.0.0.1", "member", "probe"))).isTrue();
    assertThat(rules.isExempt("r", Identity.of("ip", "10.0.0.1", "member", "ann"))).isFalse();
    assertThat(rules.isExempt("r", Identity.of("ip", "192.0.2.7"))).isTrue();
    assertThat(rules.isExempt("r", Identity.of("member", "probe"))).isFalse();
  }

  @Test
  void facetOfAnotherNameIsAnAddressIfTheFacetsSaySo() {
    Rule rule =
        Rule.builder("r").by("peer").limit(ONE).exempt(Map.of("peer", "10.0.0.0/8")).build();
    Facet peer = new Facet("peer", Facet.Source.CLIENT_ADDRESS, "", true);
    Rules rules = Rules.of(List.of(rule), List.of(peer));

    try (Limiter limiter = Limiter.owning(MemoryStore.create(), rules)) {
      limiter.decide("r", Identity.of("peer", "10.0.0.1"));
      assertThat(limiter.decide("r", Identity.of("peer", "10.0.0.1")).allowed()).isTrue();
      limiter.decide("r", Identity.of("peer", "11.0.0.1"));
      assertThat(limiter.decide("r", Identity.of("peer", "11.0.0.1")).allowed()).isFalse();
    }
  }

  @Test
  void edgeReportsRangesThatAreFinerThanItsClients() {
    Rules rules =
        Rules.of(
            Rule.builder("r")
                .by("ip")
                .limit(ONE)
                .exempt(Map.of("ip", "2001:db8::/64"))
                .exempt(Map.of("ip", "10.0.0.1"))
                .override(Map.of("ip", "2001:db8::/48"), null, Terms.of(ONE))
                .build());

    assertThat(ClientAddress.ofPeer().tooFine(rules)).isEmpty();
    ClientAddress by56 = ClientAddress.trusting(List.of(), ClientAddress.Trail.X_FORWARDED_FOR, 56);
    assertThat(by56.tooFine(rules))
        .containsExactly(
            "rule 'r': the address 2001:db8::/64 matches nobody, because IPv6 clients are counted"
                + " by /56 (expected: 2001:db8::/56)");
  }
}
