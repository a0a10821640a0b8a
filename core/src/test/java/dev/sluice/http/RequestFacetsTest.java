package dev.sluice.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.sluice.Facet;
import dev.sluice.Facet.Source;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Terms;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RequestFacetsTest {
  private static final Limit LIMIT = Limit.slidingLog(2, Duration.ofSeconds(10));

  private static final Rules RULES =
      Rules.of(
          List.of(
              Rule.builder("both").by("member", "ip").limit(LIMIT).build(),
              Rule.builder("pair").by("member+promo").limit(LIMIT).build(),
              Rule.builder("session").by("session").limit(LIMIT).build(),
              Rule.builder("key").by("apiKey").limit(LIMIT).build(),
              Rule.builder("any").limit(LIMIT).build(),
              Rule.builder("lenient")
                  .by("member", "session")
                  .limit(LIMIT)
                  .missing(Rule.Missing.SKIP)
                  .build(),
              Rule.builder("special")
                  .by("ip")
                  .limit(LIMIT)
                  .override(Map.of("member", "ann"), null, Terms.of(LIMIT))
                  .exempt(Map.of("apiKey", "probe"))
                  .build()),
          List.of(
              new Facet("ip", Source.CLIENT_ADDRESS, "", false),
              new Facet("member", Source.HEADER, "X-Member-Code", false),
              new Facet("session", Source.COOKIE, "SESSION", false),
              new Facet("apiKey", Source.HEADER, "X-Api-Key", true),
              new Facet("promo", Source.QUERY, "promo", false)));

  private static final RequestFacets FACETS = RequestFacets.of(RULES, ClientAddress.ofPeer());

  private static Parts request() {
    return Parts.from("192.0.2.1")
        .header("x-member-code", "ann")
        .cookie("SESSION", "s1")
        .query("promo", "x y");
  }

  @Test
  void eachRuleGetsTheFacetsItCountsByAndNoOthers() {
    assertThat(identity("both")).isEqualTo(Identity.of("member", "ann", "ip", "192.0.2.1"));
    assertThat(identity("pair")).isEqualTo(Identity.of("member", "ann", "promo", "x y"));
    assertThat(identity("session")).isEqualTo(Identity.of("session", "s1"));
    assertThat(FACETS.identity(List.of("session", "pair"), request()))
        .isEqualTo(Identity.of(Map.of("session", "s1", "member", "ann", "promo", "x y")));
  }

  @Test
  void namedFacetsAreReadWithoutRules() {
    List<Facet> facets =
        List.of(
            new Facet("ip", Source.CLIENT_ADDRESS, "", false),
            new Facet("member", Source.HEADER, "X-Member-Code", false),
            new Facet("login", Source.CALLER, "", false),
            new Facet("tenant", Source.HEADER, "X-Tenant", false));

    assertThat(RequestFacets.read(facets, ClientAddress.ofPeer(), request()))
        .isEqualTo(Map.of("ip", "192.0.2.1", "member", "ann"));

    Parts twice = request().header("X-Tenant", "a").header("X-Tenant", "b");
    assertThatThrownBy(() -> RequestFacets.read(facets, ClientAddress.ofPeer(), twice))
        .isInstanceOf(UnreadableRequest.class)
        .hasMessageContaining("facet 'tenant': the request has header X-Tenant 2 times");
  }

  @Test
  void facetThatTheCallerSuppliesIsNoPartOfARequest() {
    Rule strict = Rule.builder("login").by("login").limit(LIMIT).build();
    Rule lenient =
        Rule.builder("lenient").by("login", "ip").limit(LIMIT).missing(Rule.Missing.SKIP).build();
    Rules rules =
        Rules.of(
            List.of(strict, lenient),
            List.of(
                new Facet("login", Source.CALLER, "", false),
                new Facet("ip", Source.CLIENT_ADDRESS, "", false)));
    RequestFacets facets = RequestFacets.of(rules, ClientAddress.ofPeer());

    assertThat(facets.identity(List.of("lenient"), request()))
        .isEqualTo(Identity.of("ip", "192.0.2.1"));
    assertThat(
            catchThrowableOfType(
                UnreadableRequest.class, () -> facets.identity(List.of("login"), request())))
        .hasMessageContaining("facet 'login': the code that asks supplies it, not the request");
  }

  private static Identity identity(String rule) {
    return FACETS.identity(List.of(rule), request());
  }

  @Test
  void aRuleWithoutByGetsWhateverIsThere() {
    assertThat(identity("any").facets().keySet())
        .containsExactly("ip", "member", "promo", "session");
  }

  @Test
  void facetsOfOverridesAndExemptionsAreReadIfTheyAreThere() {
    assertThat(identity("special")).isEqualTo(Identity.of("ip", "192.0.2.1", "member", "ann"));
    assertThat(FACETS.identity(List.of("special"), Parts.from("192.0.2.1")))
        .isEqualTo(Identity.of("ip", "192.0.2.1"));
  }

  @Test
  void everyMissingFacetIsNamedAtOnce() {
    assertThat(errors(Parts.from("192.0.2.1"), "pair", "session", "both"))
        .containsExactly(
            "facet 'member': the request has no header X-Member-Code",
            "facet 'promo': the request has no query parameter promo",
            "facet 'session': the request has no cookie SESSION");
  }

  @Test
  void exemptCallerNeedsNoFacet() {
    Rules rules =
        Rules.of(
            List.of(
                Rule.builder("keyed")
                    .by("apiKey")
                    .limit(LIMIT)
                    .exempt(Map.of("ip", "10.1.0.0/16"))
                    .build(),
                Rule.builder("other").by("apiKey").limit(LIMIT).build()),
            RULES.facets().values());
    RequestFacets facets = RequestFacets.of(rules, ClientAddress.ofPeer());

    assertThat(facets.identity(List.of("keyed"), Parts.from("10.1.2.3")))
        .isEqualTo(Identity.of("ip", "10.1.2.3"));
    for (List<String> asked : List.of(List.of("keyed", "other"), List.of("keyed"))) {
      String from = asked.size() == 1 ? "10.2.0.1" : "10.1.2.3";
      assertThat(
              catchThrowableOfType(
                      UnreadableRequest.class, () -> facets.identity(asked, Parts.from(from)))
                  .errors())
          .containsExactly("facet 'apiKey': the request has no header X-Api-Key");
    }
  }

  @Test
  void ruleForEveryoneNeedsNoFacet() {
    Rules rules = Rules.of(Rule.builder("all").by("everyone").limit(LIMIT).build());
    RequestFacets facets = RequestFacets.of(rules, ClientAddress.ofPeer());

    assertThat(facets.identity(List.of("all"), Parts.from("10.1.2.3"))).isEqualTo(Identity.none());
  }

  @Test
  void addressThatSomebodyNamesIsBroughtIntoTheFormOfCallersOrRefused() {
    assertThat(FACETS.canonical("ip", "2001:DB8::7")).isEqualTo("2001:db8::/64");
    assertThat(FACETS.canonical("ip", "2001:db8::/64")).isEqualTo("2001:db8::/64");
    assertThat(FACETS.canonical("ip", "::ffff:192.0.2.7")).isEqualTo("192.0.2.7");
    assertThat(FACETS.canonical("ip", "")).isEmpty();
    assertThat(FACETS.canonical("member", "999.1.1.1")).isEqualTo("999.1.1.1");
    for (String none : List.of("999.1.1.1", "ann", "10.0.0.0/8", "2001:db8::/48", "1.2.3")) {
      assertThatThrownBy(() -> FACETS.canonical("ip", none))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "facet 'ip': '%s' (expected: an address such as 192.0.2.7 or 2001:db8::7, or an IPv6"
                      .formatted(none)
                  + " range of /64)");
    }
  }

  @Test
  void everyProblemIsReportedAtOnce() {
    Parts twice = Parts.from("192.0.2.1").header("X-Member-Code", "a").header("X-Member-Code", "b");

    assertThat(errors(twice, "pair"))
        .containsExactly(
            "facet 'member': the request has header X-Member-Code 2 times (expected: once)",
            "facet 'promo': the request has no query parameter promo");
  }

  @Test
  void whatARuleMaySkipMayBeMissing() {
    assertThat(FACETS.identity(List.of("lenient"), Parts.from("192.0.2.1")))
        .isEqualTo(Identity.of(Map.of()));
  }

  @Test
  void aFacetGivenTwiceIsRefused() {
    assertThat(errors(request().header("X-Member-Code", "bob"), "both"))
        .containsExactly(
            "facet 'member': the request has header X-Member-Code 2 times (expected: once)");
  }

  @Test
  void aFacetThatTheFileDoesNotPlaceIsAnErrorButTheAddressIsKnown() {
    Rules bare = Rules.of(Rule.builder("r").by("login", "ip").limit(LIMIT).build());
    RequestFacets facets = RequestFacets.of(bare, ClientAddress.ofPeer());

    UnreadableRequest refusal =
        catchThrowableOfType(
            UnreadableRequest.class, () -> facets.identity(List.of("r"), Parts.from("192.0.2.1")));

    assertThat(refusal.errors())
        .containsExactly(
            "facet 'login': the rule file does not say where to find it in a request"
                + " (expected: facets: login: …)");
  }

  @Test
  void headersAreUtf8AndNothingElse() {
    String bytes = new String("Zoë".getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);

    assertThat(FACETS.identity(List.of("lenient"), header(bytes)))
        .isEqualTo(Identity.of("member", "Zoë"));
    assertThat(errors(header("Zo\u00eb"), "lenient"))
        .containsExactly("facet 'member': header X-Member-Code is not well-formed UTF-8");
    assertThat(errors(request().query("promo", "\ufffd"), "any"))
        .containsExactly(
            "facet 'promo': the request has query parameter promo 2 times (expected: once)");
    assertThat(errors(Parts.from("192.0.2.1").query("promo", "a\ufffd"), "any"))
        .containsExactly("facet 'promo': query parameter promo is not well-formed UTF-8");
  }

  private static Parts header(String value) {
    return Parts.from("192.0.2.1").header("X-Member-Code", value);
  }

  @Test
  void aMalformedSecretIsNotRepeated() {
    assertThat(errors(header("a\u0007b"), "lenient"))
        .containsExactly("facet 'member': 'a\\u0007b' (expected: no control characters)");
    assertThat(errors(Parts.from("192.0.2.1").header("X-Api-Key", "hush\u0007"), "key"))
        .containsExactly(
            "facet 'apiKey': header X-Api-Key holds a control character, malformed text or more than 1,024 characters");
  }

  @Test
  void aFacetThatIsBlankInItsFormIsMissing() {
    Facet login =
        new Facet("login", Source.QUERY, "login", false, Set.of(Facet.Normalization.values()));
    Rules rules =
        Rules.of(List.of(Rule.builder("r").by("login").limit(LIMIT).build()), List.of(login));
    RequestFacets facets = RequestFacets.of(rules, ClientAddress.ofPeer());
    Parts blank = Parts.from("192.0.2.1").query("login", " \u200b ");

    UnreadableRequest refusal =
        catchThrowableOfType(UnreadableRequest.class, () -> facets.identity(List.of("r"), blank));

    assertThat(refusal.errors())
        .containsExactly("facet 'login': the query parameter login is empty");
  }

  @Test
  void aRequestWithMoreThanSixteenFacetsIsRefused() {
    Parts request = Parts.from("192.0.2.1");
    List<Facet> seventeen = new ArrayList<>();
    for (int i = 0; i < 17; i++) {
      seventeen.add(new Facet("f" + i, Source.QUERY, "f" + i, false));
      request.query("f" + i, "x");
    }
    Rules rules = Rules.of(List.of(Rule.builder("r").limit(LIMIT).build()), seventeen);
    RequestFacets facets = RequestFacets.of(rules, ClientAddress.ofPeer());

    UnreadableRequest refusal =
        catchThrowableOfType(UnreadableRequest.class, () -> facets.identity(List.of("r"), request));

    assertThat(refusal.errors())
        .containsExactly("facets: the rules count the request by 17 (expected: at most 16)");
  }

  private static List<String> errors(Parts request, String... rules) {
    return catchThrowableOfType(
            UnreadableRequest.class, () -> FACETS.identity(List.of(rules), request))
        .errors();
  }
}
