package dev.sluice;

import static dev.sluice.testing.Mutator.feedBytes;
import static dev.sluice.testing.Mutator.feedText;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.http.ClientAddress;
import dev.sluice.http.RequestParts;
import dev.sluice.internal.Durations;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.RuleWords;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Damaged text from outside gives a value or a clear error, whatever was done to it. */
@Timeout(
    value = 10,
    unit = TimeUnit.MINUTES,
    threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // an endless loop ignores an interrupt
class FuzzTest {
  private static final List<Class<? extends Exception>> CLEAR =
      List.of(IllegalArgumentException.class);
  private static final List<Class<? extends Exception>> RULE_ERRORS = List.of(RuleErrors.class);
  private static final List<Class<? extends Exception>> NONE = List.of();
  private static final Path EXAMPLES = Path.of("../docs/examples");

  private static final String ALIASES =
      """
      facets: {ip: client-address, user: {from: principal, secret: true, normalize: nfkc}}
      rules:
        a: &a
          by: [ip, user+ip]
          limits:
            - &b 10 per 1s
            - fixed-window: {limit: 3, per: month, zone: Europe/Berlin, anchor: 15}
            - token-bucket: {capacity: 1, refill: 1, per: 500ms}
            - 240 per 1h precision 1m
          overrides:
            - {when: {ip: "10.0.0.1"}, until: 2030-01-01T00:00:00Z, limit: *b, lock: [1m, 2m]}
          exempt: [{user: 'ann'}]
        c: *a
      """;

  // ---- Rule files -----------------------------------------------------------------------------

  @Test
  void damagedYamlGivesRulesOrTheirMistakes() throws IOException {
    feedBytes(
        "YAML rules",
        List.of(
            Files.readAllBytes(EXAMPLES.resolve("rules.yaml")),
            bytes(ALIASES),
            bytes("{\"rules\": {\"a\": {\"limit\": \"1 per 1s\", \"lock\": \"1m\"}}}")),
        RULE_ERRORS,
        input -> used(RuleFiles.parse("r.yaml", input)));
  }

  @Test
  void damagedTextOfYamlGivesRulesOrTheirMistakes() {
    feedText(
        "text of YAML rules",
        List.of(
            "facets: {ip: client-address}\nrules:\n  a: {by: ip, limit: 3 per 30m, lock: 1m}\n"),
        RULE_ERRORS,
        input -> RuleFiles.parse("r.yaml", input));
  }

  @Test
  void damagedXmlGivesRulesOrTheirMistakes() throws IOException {
    feedBytes(
        "XML rules",
        List.of(
            Files.readAllBytes(EXAMPLES.resolve("seed-rules.xml")),
            bytes(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <ArrayOfSuspectUsageSettingEntity xmlns:x="urn:x"><!-- a --><![CDATA[ ]]>
                  <SuspectUsageSettingEntity Action="a&#65;" LimitCount="1" LimitDuration='2'/>
                </ArrayOfSuspectUsageSettingEntity>
                """)),
        RULE_ERRORS,
        input -> used(RuleFiles.parse("r.xml", input)));
  }

  /** Parsed rules can be described, printed and used for a plan. */
  private static Object used(Rules rules) {
    Identity ann = Identity.of("ip", "10.0.0.1", "login", "ann");
    for (Rule rule : rules.all().subList(0, Math.min(2, rules.size()))) {
      RuleWords.explain(rules, rule.name(), InstantSource.system());
      try {
        rules.plan(Call.of(rule.name(), ann), () -> Instant.EPOCH);
      } catch (IllegalArgumentException facetIsMissing) {
        assertThat(facetIsMissing).hasMessageContaining("expected");
      }
    }
    return RuleWords.table(rules, InstantSource.system());
  }

  @Test
  void damagedLimitGivesALimitOrItsMistake() {
    feedText(
        "limits",
        List.of("3 per 30m", "240 per 1h precision 1m", "1000000 per 1w2d3h, precision 10m"),
        RULE_ERRORS,
        input ->
            RuleFiles.parse("r.yaml", "rules: {a: {limit: '" + input.replace("'", "''") + "'}}"));
  }

  @Test
  void damagedDurationGivesADurationOrItsMistake() {
    feedText(
        "durations",
        List.of("500ms", "10s", "1h30m", "7d", "2w", "1us", "3660d"),
        CLEAR,
        input -> {
          Duration duration = Durations.parse(input);
          assertThat(Durations.parse(Durations.format(duration))).isEqualTo(duration);
          return duration;
        });
  }

  // ---- Addresses ------------------------------------------------------------------------------

  private static final List<String> ADDRESSES =
      List.of(
          "192.0.2.1",
          "::ffff:192.0.2.1",
          "64:ff9b::c000:201",
          "2001:db8:1:2:3:4:5:6",
          "fe80::1%eth0",
          "::");

  @Test
  void damagedAddressOfAPeerIsAClientOrAClearError() {
    ClientAddress client = ClientAddress.ofPeer();
    feedText(
        "client addresses",
        ADDRESSES,
        CLEAR,
        input -> {
          String known = client.canonical(input);
          assertThat(client.canonical(known)).isEqualTo(known);
          return client.of(new Headers(input, "", List.of()));
        });
  }

  @Test
  void damagedRangeOfTrustedProxiesIsARangeOrAClearError() {
    feedText(
        "trusted proxies",
        List.of("10.0.0.0/8", "2001:db8::/32", "192.0.2.1", "::/0"),
        CLEAR,
        input -> ClientAddress.trusting(List.of(input)));
  }

  @Test
  void damagedXForwardedForNeverKeepsAClientFromBeingFound() {
    ClientAddress client = ClientAddress.trusting(List.of("10.0.0.0/8"));
    feedText(
        "X-Forwarded-For",
        List.of("203.0.113.7, 192.0.2.1, 10.0.0.2", "[2001:db8::1]:443, 10.0.0.3", "unknown"),
        NONE,
        input -> client.of(new Headers("10.0.0.1", "X-Forwarded-For", lines(input))));
  }

  @Test
  void damagedForwardedNeverKeepsAClientFromBeingFound() {
    ClientAddress client =
        ClientAddress.trusting(List.of("10.0.0.0/8"), ClientAddress.Trail.FORWARDED, 64);
    feedText(
        "Forwarded",
        List.of(
            "for=203.0.113.7, for=192.0.2.1;proto=https, for=10.0.0.2",
            "For=\"[2001:db8:1:2::9]:4711\";by=10.0.0.1;host=\"a,b\"",
            "for=_hidden;for=unknown"),
        NONE,
        input -> client.of(new Headers("10.0.0.1", "Forwarded", lines(input))));
  }

  private static List<String> lines(String header) {
    return List.of(header.split("\n", -1));
  }

  /** A request that has a peer and one header. */
  private record Headers(String peer, String name, List<String> lines) implements RequestParts {
    @Override
    public List<String> headers(String wanted) {
      return wanted.equalsIgnoreCase(name) ? lines : List.of();
    }

    @Override
    public List<String> cookies(String wanted) {
      return List.of();
    }

    @Override
    public List<String> queries(String wanted) {
      return List.of();
    }
  }

  // ---- What clients hand back -----------------------------------------------------------------

  @Test
  void damagedTextOfAnIdentityGivesAnIdentityOrAClearError() {
    feedText(
        "identities",
        List.of(
            Identity.of("member", "ann", "ip", "10.0.0.1").toString(),
            Identity.of("member", "Zoë & Söhne=ÄÖ%", "promo", "\ud83d\ude00").toString(),
            secret().toString()),
        CLEAR,
        input -> {
          Identity identity = Identity.parse(input);
          assertThat(Identity.parse(identity.toString())).isEqualTo(identity);
          return identity;
        });
  }

  private static Identity secret() {
    Facet key = new Facet("key", Facet.Source.HEADER, "X-Key", true);
    Rule rule =
        Rule.builder("r").by("key").limit(Limit.slidingLog(1, Duration.ofSeconds(1))).build();
    return Rules.of(List.of(rule), List.of(key))
        .accounts("r", Identity.of("key", "hush"))
        .get(0)
        .identity();
  }

  @Test
  void damagedPlaceInTheListOfLocksIsAPlaceOrAClearError() {
    List<String> places = new ArrayList<>();
    for (String account : List.of("SignIn:login=ann", "Api:" + secret(), "")) {
      places.add(new LockPage.Place(1_800_000_000_000_000L, account).toString());
    }
    feedText("places of locks", places, CLEAR, LockPage.Place::after);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
