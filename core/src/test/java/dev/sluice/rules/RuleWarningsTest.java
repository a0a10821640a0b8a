package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.sluice.Rules;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is valid in a rule file but probably not intended. */
class RuleWarningsTest {
  private static List<String> warnings(String rule) {
    return RuleFiles.parse("r.yaml", "rules:\n  a:\n" + rule.indent(4)).warnings();
  }

  @Test
  void lockThatIsShorterThanItsWindowIsDoubted() {
    assertThat(warnings("limit: 2 per 24h\nlock: [1m, 10m, 24h]"))
        .containsExactly(
            "r.yaml:4  warning: rule 'a': lock is 1m, 10m, and the limit by itself keeps callers"
                + " out for 1d: nobody will notice the lock (expected: at least 1d)");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "limit: 3 per 30m\nlock: 30m",
        "limits: [5 per 1m, 100 per 1d]\nlock: 10m",
        "limit: {token-bucket: {capacity: 100, refill: 10, per: 1m}}\nlock: 6s",
        "limit: 3 per 30m"
      })
  void lockThatOutlastsSomeLimitIsNot(String rule) {
    assertThat(warnings(rule)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "limits: [5 per 1m, 100 per 1d]\nlock: 59s",
        "limit: {token-bucket: {capacity: 100, refill: 10, per: 1m}}\nlock: 5s",
        "limit: {fixed-window: {limit: 9, per: day}}\nlock: 1h",
        "limit: 3 per 30m\nlock: 30m\noverrides: [{when: {member: x}, lock: 1m}]",
        "limit: 3 per 30m\nlock: 30m\noverrides: [{when: {member: x}, limit: 3 per 1h}]"
      })
  void lockThatOutlastsNoLimitIs(String rule) {
    assertThat(warnings(rule)).singleElement().asString().contains("nobody will notice the lock");
  }

  @Test
  void warningAboutTheRuleIsNotRepeatedForItsOverrides() {
    assertThat(
            warnings(
                "limit: 3 per 30m\nlock: 1m\noverrides: [{when: {member: x}, countDenied: true}]"))
        .hasSize(1);
  }

  @Test
  void locksThatShrinkAreDoubted() {
    assertThat(warnings("limit: 3 per 1m\nlock: [10m, 1m]"))
        .containsExactly(
            "r.yaml:4  warning: rule 'a': lock is [10m, 1m], in which 1m is shorter than 10m before"
                + " it (expected: locks that grow)");
  }

  @Test
  void overrideThatHasEndedIsDoubted() {
    String rule =
        """
        limit: 3 per 1m
        overrides:
          - when: {member: acme}
            until: 2020-01-01T00:00:00Z
            limit: 9 per 1m
        """;

    assertThat(warnings(rule))
        .containsExactly(
            "r.yaml:6  warning: rule 'a': override: until is 2020-01-01T00:00:00Z, which is over; it"
                + " changes nothing any more (expected: a later time, or no such override)");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "by: everyone\nlimit: 3 per 1m\noverrides: [{when: {key: x}, limit: 9 per 1h}]",
        "by: [key, ip]\nlimit: 3 per 1m\noverrides: [{when: {key: x}, limit: 9 per 1h}]",
        "by: ip\nlimit: 3 per 1m\noverrides:\n"
            + "  - {when: {key: x}, limit: {token-bucket: {capacity: 9, refill: 9, per: 1m}}}"
      })
  void overrideThatCountsASharedAccountInAnotherWayIsDoubted(String rule) {
    assertThat(warnings(rule)).singleElement().asString().contains("usage starts anew");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "by: everyone\nlimit: 3 per 1m\noverrides: [{when: {key: x}, limit: 9 per 60s}]",
        "by: [key, key+ip]\nlimit: 3 per 1m\noverrides: [{when: {key: x}, limit: 9 per 1h}]",
        "by: ip\nlimit: 3 per 1m\nlock: 1h\noverrides: [{when: {key: x}, lock: 2h}]"
      })
  void overrideThatCountsTheSameWayOrItsOwnAccountsIsNot(String rule) {
    assertThat(warnings(rule)).isEmpty();
  }

  @Test
  void addressWithinOneClientIsDoubted() {
    assertThat(warnings("limit: 3 per 1m\nexempt: [{ip: '2001:db8::5/128'}]"))
        .containsExactly(
            "r.yaml:4  warning: rule 'a': ip is '2001:db8::5/128', which matches nobody where IPv6"
                + " clients are counted by /64 (expected: 2001:db8::/64)");
  }

  @Test
  void xmlIsDoubtedLikeYaml() {
    Rules rules =
        RuleFiles.parse(
            "r.xml",
            """
            <ArrayOfSuspectUsageSettingEntity>
              <SuspectUsageSettingEntity Action="a" LimitCount="2" LimitDuration="120"
                BlockDuration="60" />
            </ArrayOfSuspectUsageSettingEntity>
            """);

    assertThat(rules.warnings())
        .containsExactly(
            "r.xml:3  warning: rule 'a': lock is 1m, and the limit by itself keeps callers out for"
                + " 2m: nobody will notice the lock (expected: at least 2m)");
  }

  @Test
  void fileWithDoubtsIsAsGoodAsOneWithout() {
    String text = "rules: {a: {limit: 3 per 30m, lock: %s}}";

    assertThat(RuleFiles.parse("r.yaml", text.formatted("1m")))
        .isEqualTo(RuleFiles.parse("other.yaml", text.formatted("60s")));
  }

  @Test
  void mistakesComeWithoutDoubts() {
    RuleErrors errors =
        catchThrowableOfType(
            RuleErrors.class,
            () ->
                RuleFiles.parse(
                    "r.yaml", "rules: {a: {limit: 3 per 30m, lock: 1m}, b: {limit: 0 per 1s}}"));

    assertThat(errors.problems()).extracting(RuleErrors.Problem::rule).containsExactly("b");
  }

  @Test
  void badNameIsReportedOnce() {
    RuleErrors errors =
        catchThrowableOfType(
            RuleErrors.class, () -> RuleFiles.parse("r.yaml", "rules: {J K: {limit: 1 per 1s}}"));
    RuleErrors facet =
        catchThrowableOfType(
            RuleErrors.class,
            () -> RuleFiles.parse("r.yaml", "facets: {J K: {header: A}}\nrules: {}"));

    assertThat(errors.problems()).hasSize(1);
    assertThat(facet.problems()).hasSize(1);
  }

  @Test
  void unknownFacetIsReportedOnceWhateverItsValueIs() {
    RuleErrors errors =
        catchThrowableOfType(
            RuleErrors.class,
            () ->
                RuleFiles.parse(
                    "r.yaml",
                    "facets: {member: principal}\n"
                        + "rules: {a: {limit: 1 per 1s, exempt: [{ip: nowhere}]}}"));

    assertThat(errors)
        .hasMessage(
            "r.yaml:2  rule 'a': exempt is the unknown facet 'ip' (expected: member; or facets: ip:"
                + " caller if your code supplies it)");
  }

  @Test
  void veryManyWarningsAreNotAllShown() {
    StringBuilder text = new StringBuilder("rules:\n");
    for (int i = 0; i < 5_000; i++) {
      text.append("  r%d: {limit: 1 per 1h, lock: 1s}\n".formatted(i));
    }

    assertThat(RuleFiles.parse("r.yaml", text.toString()).warnings()).hasSize(200);
  }

  @ParameterizedTest
  @MethodSource("shippedRules")
  void shippedRulesLeaveNoDoubt(Rules rules) {
    assertThat(rules.warnings()).isEmpty();
  }

  static List<Rules> shippedRules() throws IOException {
    return List.of(
        RuleFiles.parse("rules.yaml", GoodFiles.all().get(0)),
        RuleFiles.read(Path.of("../docs/examples/seed-rules.xml")));
  }
}
