package dev.sluice.server.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Facet;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Terms;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.RuleVersion;
import dev.sluice.server.Program;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Equal versions mean equal rules, in every process. */
class RuleVersionTest {
  private static final String RULES =
      """
      facets:
        login: caller
        ip: client-address
        plan: caller
        country: caller
        device: caller
        key: {header: X-Key, secret: true}
      rules:
        Api:
          by: [login, ip]
          limit: 5 per 1h
          overrides:
            - when: {login: ann, plan: pro, country: no, device: phone, key: k-1}
              limit: 9 per 1h
          exempt:
            - {login: bob, plan: free, country: se, device: watch, key: k-2}
        Search: {by: [ip], limit: 3 per 30m, lock: 10m}
      """;

  @TempDir private Path directory;

  private static Rules parsed(String text) {
    return RuleFiles.parse("rules.yaml", text);
  }

  private static String version(String text) {
    return RuleVersion.of(parsed(text)).version();
  }

  /** Prints the version of the rules in a file. */
  static final class Printer {
    private Printer() {}

    public static void main(String[] arguments) throws Exception {
      System.out.println("version " + version(Files.readString(Path.of(arguments[0]))));
    }
  }

  /** The order of a map of a rule depends on a salt that each JVM chooses. */
  @Test
  void everyProcessComputesTheSameVersion() throws Exception {
    Path file = Files.writeString(directory.resolve("rules.yaml"), RULES);
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Set<String> versions = new LinkedHashSet<>();
    for (int i = 0; i < 4; i++) {
      try (Program process =
          Program.start(
              directory,
              List.of(
                  java,
                  "-cp",
                  System.getProperty("java.class.path"),
                  Printer.class.getName(),
                  file.toString()))) {
        assertThat(process.await(60)).as(process.printed()).isZero();
        process
            .printed()
            .lines()
            .filter(line -> line.startsWith("version "))
            .forEach(versions::add);
      }
    }

    assertThat(versions).containsExactly("version " + version(RULES));
  }

  @Test
  void theOrderOfRulesAndFacetsDoesNotMatter() {
    assertThat(version("rules: {A: {by: [x], limit: 1 per 1s}, B: {by: [x], limit: 2 per 1s}}"))
        .isEqualTo(
            version("rules: {B: {by: [x], limit: 2 per 1s}, A: {by: [x], limit: 1 per 1s}}"));
  }

  @Test
  void whateverDecidesChangesTheVersion() {
    Rule.Builder rule =
        Rule.builder("Api").by("login").limit(perMinute()).lock(Lock.of(minutes(1)));
    Rule.Builder growing = rule.build().toBuilder().lock(lock(minutes(1), minutes(2)));
    List<Rule> rules =
        List.of(
            rule.build(),
            growing.build(),
            growing.build().toBuilder().lock(lock(minutes(1), minutes(3))).build(),
            rule.build().toBuilder().lock(new Lock(List.of(minutes(1)), minutes(9))).build(),
            rule.build().toBuilder().lock(Lock.of(minutes(1)).onLimit()).build(),
            rule.build().toBuilder().terms(Terms.of(Limit.fixedWindow(5, minutes(1)))).build(),
            rule.build().toBuilder().terms(Terms.of(perMinute())).build(),
            rule.build().toBuilder().countDenied().build(),
            rule.build().toBuilder().shadow().build(),
            rule.build().toBuilder().colocate().build(),
            rule.build().toBuilder().missing(Rule.Missing.SKIP).build(),
            rule.build().toBuilder().by("login", "ip").build(),
            rule.build().toBuilder().exempt(Map.of("login", "ann")).build(),
            rule.build().toBuilder().exempt(Map.of("login", "bob")).build(),
            rule.build().toBuilder()
                .override(Map.of("login", "ann"), null, Terms.of(perMinute()))
                .build());

    assertThat(rules.stream().map(each -> RuleVersion.of(Rules.of(each)).version()))
        .doesNotHaveDuplicates();
  }

  private static Duration minutes(int minutes) {
    return Duration.ofMinutes(minutes);
  }

  private static Limit perMinute() {
    return Limit.slidingLog(5, minutes(1));
  }

  private static Lock lock(Duration first, Duration memory) {
    return new Lock(List.of(first, first), memory);
  }

  @Test
  void facetsArePartOfTheVersion() {
    Rule rule = Rule.builder("Api").by("key").limit(perMinute()).build();
    List<Facet> facets =
        List.of(
            new Facet("key", Facet.Source.HEADER, "X-Key", false),
            new Facet("key", Facet.Source.HEADER, "X-Key", true),
            new Facet("key", Facet.Source.HEADER, "X-Other", false),
            new Facet("key", Facet.Source.COOKIE, "X-Key", false),
            new Facet(
                "key", Facet.Source.HEADER, "X-Key", false, Set.of(Facet.Normalization.TRIM)));

    assertThat(
            facets.stream()
                .map(facet -> RuleVersion.of(Rules.of(List.of(rule), List.of(facet))).version()))
        .doesNotHaveDuplicates();
  }

  /** A file has the secret, an override that was made at run time its hash. */
  @Test
  void aSecretCountsByItsHash() {
    String other = RULES.replace("k-1", "k-3");
    String hash = parsed(RULES).withoutSecrets(Map.of("key", "k-1")).getOrDefault("key", "");

    assertThat(Identity.isShownHash(hash)).isTrue();
    assertThat(version(other)).isNotEqualTo(version(RULES));
    assertThat(version(RULES.replace("k-1", '"' + hash + '"'))).isEqualTo(version(RULES));
  }

  @Test
  void oneRuleThatChangesChangesItsOwnHashOnly() {
    RuleVersion before = RuleVersion.of(parsed(RULES));
    RuleVersion after = RuleVersion.of(parsed(RULES.replace("3 per 30m", "4 per 30m")));

    assertThat(after.rules().get("Api")).isEqualTo(before.rules().get("Api"));
    assertThat(after.rules().get("Search")).isNotEqualTo(before.rules().get("Search"));
    assertThat(after.facets()).isEqualTo(before.facets());
    assertThat(after.version()).isNotEqualTo(before.version());
  }
}
