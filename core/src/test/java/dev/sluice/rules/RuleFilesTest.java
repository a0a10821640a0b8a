package dev.sluice.rules;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.sluice.Cycle;
import dev.sluice.Facet;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Terms;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RuleFilesTest {

  @TempDir Path directory;

  // ---- What loads -----------------------------------------------------------------------------

  @Test
  void exampleInYamlLoadsAsItStands() throws IOException {
    Rules rules = example("rules.yaml");

    assertThat(rules.all())
        .extracting(Rule::toString)
        .containsExactly(
            "BankAccountUpdate: 2 per 2m by member, ip",
            "SecureForgotAccount: 3 per 30m, then locked for 30m as soon as it is used up by"
                + " login+ip",
            "SecureLogin: 5 per 10m, then locked for 10m, then 1h, then 1d (remembered for 1d) as"
                + " soon as it is used up by login+ip",
            "SecureLoginAddress: 50 per 10m, then locked for 10m as soon as it is used up by ip",
            "SecureLoginAccount: 500 per 1h, then locked for 1h as soon as it is used up by login",
            "PromoQuery: 10 per 1m by member+promo",
            "Api: 100 at once, 10 more every 1s and 2400 per 1h, precision 1m"
                + " and 100000 per month in Europe/Berlin by apiKey",
            "NewCrawlerRule: 60 per 1m by ip",
            "Everyone: 1000 at once, 1000 more every 1d by ip",
            "Exports: 20 per 1m by everyone",
            "RetryStorm: 5 per 1m, denied calls count by ip");
    assertThat(rule(rules, "Api"))
        .isEqualTo(
            Rule.builder("Api")
                .by("apiKey")
                .limit(Limit.tokenBucket(100, 10, Duration.ofSeconds(1)))
                .limit(Limit.slidingWindow(2400, Duration.ofHours(1), Duration.ofMinutes(1)))
                .limit(
                    Limit.fixedWindow(
                        100_000, Cycle.calendar(Cycle.Unit.MONTH, ZoneId.of("Europe/Berlin"))))
                .onStoreFailure(OnStoreFailure.LOCAL)
                .override(
                    Map.of("apiKey", "acme"),
                    Instant.parse("2030-01-01T00:00:00Z"),
                    Terms.of(Limit.tokenBucket(1000, 100, Duration.ofSeconds(1))))
                .exempt(Map.of("apiKey", "health-probe"))
                .exempt(Map.of("ip", "192.0.2.0/24"))
                .build());
    assertThat(rule(rules, "NewCrawlerRule").enforced()).isFalse();
    assertThat(rules.facets())
        .containsEntry("ip", new Facet("ip", Facet.Source.CLIENT_ADDRESS, "", false))
        .containsEntry("apiKey", new Facet("apiKey", Facet.Source.HEADER, "X-Api-Key", true))
        .containsEntry("session", new Facet("session", Facet.Source.COOKIE, "SESSION", false))
        .hasSize(7);
    assertThat(rules.warnings()).isEmpty();
  }

  @Test
  void exampleInXmlLoadsAsItStands() throws IOException {
    Rules rules = example("seed-rules.xml");

    assertThat(rules.all())
        .extracting(Rule::toString)
        .containsExactly(
            "BankAccountUpdate: 2 per 2m",
            "ComposeMessage: 5 per 30m",
            "SecureForgotAccount: 3 per 30m, then locked for 30m",
            "SecureChangeEmail: 3 per 30m, then locked for 30m",
            "SecureLoginForceForgotAccount: 2 per 1d, then locked for 1d");
    assertThat(rules.all()).allMatch(rule -> rule.by().isEmpty());
  }

  @Test
  void documentedExamplesAreTheTestedOnes() throws IOException {
    for (String name : List.of("rules.yaml", "seed-rules.xml")) {
      assertThat(Files.readString(Path.of("../docs/examples", name)))
          .isEqualTo(new String(resource(name), UTF_8));
    }
  }

  @Test
  void everyOtherFormLoads() {
    Rules rules = RuleFiles.parse("r.yaml", GoodFiles.OTHER_FORMS);

    assertThat(rules.all())
        .containsExactly(
            Rule.builder("every")
                .by("user")
                .limit(Limit.slidingLog(10, Duration.ofSeconds(1)))
                .limit(Limit.slidingWindow(240, Duration.ofHours(1), Duration.ofMinutes(1)))
                .missing(Rule.Missing.SKIP)
                .colocate()
                .onStoreFailure(OnStoreFailure.DENY)
                .build(),
            Rule.builder("calendar")
                .limit(
                    Limit.fixedWindow(1, Cycle.weekly(ZoneId.of("Asia/Taipei"), DayOfWeek.SUNDAY)))
                .limit(Limit.fixedWindow(2, Cycle.monthly(ZoneOffset.UTC, 15)))
                .limit(Limit.fixedWindow(3, Cycle.yearly(ZoneOffset.UTC, 4, 1)))
                .limit(Limit.fixedWindow(4, Duration.ofMinutes(90)))
                .limit(Limit.slidingWindow(5, Duration.ofHours(1)))
                .build(),
            Rule.builder("one").limit(Limit.slidingLog(7, Duration.ofSeconds(10))).build(),
            Rule.builder("guard")
                .by("everyone", "user")
                .limit(Limit.slidingLog(3, Duration.ofMinutes(30)))
                .lock(Lock.of(Duration.ofMinutes(30)).onLimit())
                .build());
    assertThat(rules.facets())
        .containsEntry("user", new Facet("user", Facet.Source.PRINCIPAL, "", false))
        .containsEntry("visit", new Facet("visit", Facet.Source.SESSION, "", false))
        .containsEntry("login", new Facet("login", Facet.Source.CALLER, "", false))
        .containsEntry("tenant", new Facet("tenant", Facet.Source.CLAIM, "tid", false))
        .containsEntry("token", new Facet("token", Facet.Source.PRINCIPAL, "", true))
        .containsEntry(
            "email",
            new Facet(
                "email",
                Facet.Source.CLAIM,
                "email",
                false,
                Set.of(Facet.Normalization.TRIM, Facet.Normalization.LOWERCASE)))
        .containsEntry(
            "name",
            new Facet(
                "name", Facet.Source.HEADER, "X-Name", false, Set.of(Facet.Normalization.NFKC)));
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.rules.GoodFiles#all")
  void goodFileLoads(String yaml) {
    assertThat(RuleFiles.parse("r.yaml", yaml)).isNotNull();
  }

  @Test
  void overrideInheritsWhatItDoesNotGive() {
    Rules rules = RuleFiles.parse("r.yaml", GoodFiles.OVERRIDES);

    Limit limit = Limit.slidingLog(3, Duration.ofMinutes(30));
    List<Duration> row = List.of(Duration.ofMinutes(1), Duration.ofMinutes(10));
    Lock lock = new Lock(row, Duration.ofDays(1));
    assertThat(rule(rules, "a").overrides())
        .extracting(Rule.Special::terms)
        .containsExactly(
            new Terms(List.of(Limit.slidingLog(5, Duration.ofMinutes(30))), lock, true),
            new Terms(List.of(limit), Lock.of(Duration.ofHours(1)), true),
            new Terms(List.of(limit), new Lock(row, Duration.ofDays(2)), true),
            new Terms(List.of(limit), null, true),
            new Terms(List.of(limit), lock, false),
            new Terms(List.of(limit), lock.onLimit(), true));
    assertThat(rule(rules, "b").overrides())
        .extracting(special -> special.terms().lock())
        .containsExactly(
            Lock.of(Duration.ofHours(1)).onLimit(),
            new Lock(List.of(Duration.ofMinutes(30)), Duration.ofDays(1)).onLimit(),
            Lock.of(Duration.ofMinutes(30)));
  }

  @Test
  void nodesCountByThemselvesInAnOutageUnlessTheFileSaysOtherwise() throws IOException {
    Rules yaml = RuleFiles.parse("r.yaml", "rules: {a: {limit: 1 per 1s}}");
    Rules xml = example("seed-rules.xml");

    assertThat(Stream.concat(yaml.all().stream(), xml.all().stream()))
        .extracting(Rule::onStoreFailure)
        .containsOnly(OnStoreFailure.LOCAL);
  }

  @Test
  void fileOfManyMistakesIsNotReadToItsEnd() {
    StringBuilder text = new StringBuilder("facets:\n");
    IntStream.range(0, 5_000).forEach(i -> text.append("  facet%d: principal\n".formatted(i)));
    text.append("rules:\n");
    IntStream.range(0, 5_000)
        .forEach(i -> text.append("  r%d: {by: facez%d, limit: 1 per 1s}\n".formatted(i, i)));

    RuleErrors errors =
        catchThrowableOfType(RuleErrors.class, () -> RuleFiles.parse("r.yaml", text.toString()));

    assertThat(errors.problems()).hasSize(200);
    assertThat(errors).hasMessageEndingWith("… and 100 more");
  }

  @Test
  void valueToCompareWithIsTakenAsWritten() {
    Rules rules =
        RuleFiles.parse(
            "r.yaml", "rules: {a: {limit: 1 per 1s, exempt: [{member: 007}, {member: yes}]}}");

    assertThat(rule(rules, "a").exempt())
        .containsExactly(Map.of("member", "007"), Map.of("member", "yes"));
  }

  @Test
  void aliasStandsForItsAnchor() {
    Rules rules =
        RuleFiles.parse(
            "r.yaml", "rules:\n  a: {limit: &few 2 per 1m}\n  b: {limit: *few, lock: 1m}\n");

    assertThat(rule(rules, "b").terms().limits()).isEqualTo(rule(rules, "a").terms().limits());
  }

  @Test
  void byteOrderMarkOfUtf8IsLeftOut() throws IOException {
    for (String name : List.of("rules.yaml", "seed-rules.xml")) {
      byte[] marked = ("\uFEFF" + new String(resource(name), UTF_8)).getBytes(UTF_8);

      assertThat(RuleFiles.parse(name, marked)).isEqualTo(example(name));
    }
  }

  @Test
  void everyLineEndingIsOne() throws IOException {
    for (String name : List.of("rules.yaml", "seed-rules.xml")) {
      String text = new String(resource(name), UTF_8);

      assertThat(RuleFiles.parse(name, text.replace("\n", "\r\n"))).isEqualTo(example(name));
      assertThat(RuleFiles.parse(name, text.replace("\n", "\r"))).isEqualTo(example(name));
    }
  }

  @Test
  void jsonIsYaml() {
    assertThat(RuleFiles.parse("r.json", "{\"rules\": {\"a\": {\"limit\": \"1 per 1s\"}}}").all())
        .containsExactly(
            Rule.builder("a").limit(Limit.slidingLog(1, Duration.ofSeconds(1))).build());
  }

  @Test
  void nameWithoutAnEndingIsKnownByItsText() throws IOException {
    assertThat(RuleFiles.parse("backend", resource("seed-rules.xml")))
        .isEqualTo(example("seed-rules.xml"));
    assertThat(RuleFiles.parse("backend", resource("rules.yaml"))).isEqualTo(example("rules.yaml"));
  }

  @Test
  void tenThousandRulesLoad() {
    StringBuilder text = new StringBuilder("rules:\n");
    for (int i = 0; i < 10_000; i++) {
      text.append("  rule-%d: {by: [ip], limit: %d per 1m, lock: 1h}\n".formatted(i, i + 1));
    }

    Rules rules = RuleFiles.parse("r.yaml", text.toString());

    assertThat(rules.size()).isEqualTo(10_000);
  }

  // ---- What does not --------------------------------------------------------------------------

  @ParameterizedTest
  @MethodSource("dev.sluice.rules.BadFiles#all")
  void badFileIsRefusedWithItsLine(BadFiles.Bad bad) {
    RuleErrors errors =
        catchThrowableOfType(RuleErrors.class, () -> RuleFiles.parse(bad.file(), bad.bytes()));

    assertThat(errors).as("errors of %s", bad).isNotNull();
    assertThat(errors.problems().get(0).toString()).startsWith(bad.complaint());
  }

  @Test
  void atLeastFortyBadFilesAreTried() {
    assertThat(BadFiles.all()).hasSizeGreaterThan(40).doesNotHaveDuplicates();
  }

  @Test
  void everyMistakeIsReportedAtOnce() {
    String text =
        """
        facets:
          ip: client-adress
          member: {header: X-Member}
        rules:
          login:
            by: [membr]
            limit: 0 per 30m
            lock: forever
            overrides:
              - {until: soon, limit: 5}
          search:
            limits:
              - sliding-window: {limit: 5, per: 5 fortnights}
              - token-bucket: {capacity: 0, refil: 1, per: 1s}
            mode: off
        """;

    RuleErrors errors =
        catchThrowableOfType(RuleErrors.class, () -> RuleFiles.parse("rules.yaml", text));

    assertThat(errors.getMessage().lines())
        .containsExactly(
            "rules.yaml:2  facet 'ip' is 'client-adress' (did you mean 'client-address'?)",
            "rules.yaml:6  rule 'login': by is the unknown facet 'membr' (did you mean 'member'?)",
            "rules.yaml:7  rule 'login': limit is 0 (expected: at least 1)",
            "rules.yaml:8  rule 'login': lock is 'forever'"
                + " (expected: a duration such as 500ms, 10s, 5m, 1h30m, 1d)",
            "rules.yaml:10  rule 'login': override: when is missing"
                + " (expected: the facets it is for, {apiKey: acme})",
            "rules.yaml:10  rule 'login': until is 'soon'"
                + " (expected: a time such as 2030-01-01T00:00:00Z)",
            "rules.yaml:10  rule 'login': limit is '5' (expected: such as 3 per 30m, or one of"
                + " sliding-log, sliding-window, fixed-window, token-bucket)",
            "rules.yaml:13  rule 'search': per is '5 fortnights'"
                + " (expected: a duration such as 500ms, 10s, 5m, 1h30m, 1d)",
            "rules.yaml:14  rule 'search': key 'refil' is unknown (did you mean 'refill'?)",
            "rules.yaml:14  rule 'search': refill is missing"
                + " (expected: how many come back every 'per')",
            "rules.yaml:15  rule 'search': mode is 'off' (expected: one of enforce, shadow)");
  }

  @Test
  void problemNamesFileLineRuleFindingAndAdvice() {
    RuleErrors errors =
        catchThrowableOfType(
            RuleErrors.class, () -> RuleFiles.parse("r.yaml", "rules: {a: {limit: 0 per 1s}}"));

    assertThat(errors.problems())
        .containsExactly(
            new RuleErrors.Problem("r.yaml", 1, "a", "limit is 0", "expected: at least 1"));
  }

  @Test
  void valueCannotForgeALineOfALog() {
    String text = "rules: {\"a\\nr.yaml:9  all is well\": {limit: \"0\\n\"}}";

    assertThatThrownBy(() -> RuleFiles.parse("r.yaml", text))
        .hasMessageContaining("a\\u000ar.yaml:9")
        .extracting(e -> String.valueOf(e.getMessage()).lines().count())
        .isEqualTo(2L);
  }

  @Test
  void hugeFileIsRefusedWithoutReadingIt() throws IOException {
    Path huge = directory.resolve("huge.yaml");
    try (RandomAccessFile file = new RandomAccessFile(huge.toFile(), "rw")) {
      file.setLength(100 << 20);
    }

    assertThatThrownBy(() -> RuleFiles.read(huge))
        .hasMessage(huge + "  the file has 104,857,600 bytes (expected: at most 1,048,576)");
  }

  @Test
  void endlessFileIsRefused() {
    Path endless = Path.of("/dev/zero");
    assumeTrue(Files.exists(endless), "no /dev/zero");

    assertThatThrownBy(() -> RuleFiles.read(endless)).isInstanceOf(RuleErrors.class);
  }

  @Test
  void missingFileAndDirectorySaySo() {
    Path missing = directory.resolve("none.yaml");

    assertThatThrownBy(() -> RuleFiles.read(missing))
        .hasMessage(missing + "  there is no such file (expected: a rule file)");
    assertThatThrownBy(() -> RuleFiles.read(directory))
        .hasMessageContaining("cannot be read: ")
        .isInstanceOf(RuleErrors.class);
  }

  private static Rule rule(Rules rules, String name) {
    return Objects.requireNonNull(rules.find(name), name);
  }

  private static Rules example(String name) throws IOException {
    return RuleFiles.parse(name, resource(name));
  }

  private static byte[] resource(String name) throws IOException {
    try (InputStream in = RuleFilesTest.class.getResourceAsStream(name)) {
      return Objects.requireNonNull(in, name).readAllBytes();
    }
  }
}
