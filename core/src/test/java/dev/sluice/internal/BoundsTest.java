package dev.sluice.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** What is over a bound is refused before any work, and the error names the bound. */
class BoundsTest {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Identity ANN = Identity.of("member", "ann");
  private static final InstantSource CLOCK = InstantSource.system();

  private static void refused(ThrowingCallable call, String message) {
    assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
  }

  private static Map<String, String> facets(int count) {
    Map<String, String> facets = new TreeMap<>();
    IntStream.range(0, count).forEach(i -> facets.put("f" + i, "x"));
    return facets;
  }

  private static Rule.Builder rule(String name) {
    return Rule.builder(name).limit(Limit.slidingLog(1_000_000, HOUR));
  }

  // ---- Identities -----------------------------------------------------------------------------

  @Test
  void callWithMoreThanSixteenFacetsIsRefused() {
    assertThat(Identity.of(facets(16)).facets()).hasSize(16);

    refused(() -> Identity.of(facets(17)), "facets: 17 (expected: at most 16)");
    refused(() -> Identity.of(facets(3_000)), "facets: 3,000 (expected: at most 16)");
    refused(() -> Identity.of(facets(16)).with("one", "more"), "facets: 17 (expected: at most 16)");
    assertThat(Identity.of(facets(16)).with("f3", "other").facets()).hasSize(16);
  }

  @Test
  void textOfAnIdentityWithMoreThanSixteenFacetsIsRefused() {
    String sixteen = Identity.of(facets(16)).toString();

    assertThat(Identity.parse(sixteen).facets()).hasSize(16);
    refused(() -> Identity.parse(sixteen + "&one=more"), "facets: 17 (expected: at most 16)");
    refused(() -> Identity.parse("&".repeat(100_000)), "facets: 100,001 (expected: at most 16)");
    refused(
        () -> Identity.parse("a=" + "b".repeat(10_000_000)),
        "identity: 10,000,002 characters (expected: at most 148,512)");
  }

  @Test
  void facetValueOfMoreThan1024CharactersIsRefused() {
    assertThat(Identity.of("ip", "x".repeat(1_024)).facet("ip")).hasSize(1_024);

    refused(
        () -> Identity.of("ip", "x".repeat(1_025)),
        "facet 'ip': 1,025 characters (expected: at most 1,024)");
    refused(
        () -> Identity.parse("ip=" + "x".repeat(1_025)),
        "facet 'ip': 1,025 characters (expected: at most 1,024)");
  }

  @Test
  void facetNameOfMoreThan64CharactersIsRefused() {
    assertThat(Identity.of("n".repeat(64), "x").facets()).hasSize(1);

    refused(
        () -> Identity.of("n".repeat(65), "x"),
        "facet name: '%s…' (expected: a letter, then letters, digits, '_', '-' or '.', 64 at most)"
            .formatted("n".repeat(64)));
  }

  @Test
  void longValueNamesAnAccountByItsHash() {
    Rules rules = Rules.of(rule("a").by("ip").build());

    Account account = rules.accounts("a", Identity.of("ip", "x".repeat(1_024))).get(0);

    assertThat(account.identity().facet("ip")).hasSize(41);
    assertThat(rules.accounts("a", Identity.parse(account.identity().toString())))
        .containsExactly(account);
    assertThat(rules.accounts("a", Identity.of("ip", "x".repeat(1_023)))).isNotEqualTo(account);
  }

  // ---- Calls ----------------------------------------------------------------------------------

  @Test
  void callWithMoreThan32RulesIsRefusedBeforeAnyIsLookedAt() {
    List<String> names =
        new AbstractList<>() {
          @Override
          public String get(int index) {
            throw new AssertionError("looked at");
          }

          @Override
          public int size() {
            return 15_000;
          }
        };

    refused(() -> Call.of(names, ANN), "rules: 15,000 (expected: at most 32)");
    refused(() -> Call.of(Collections.nCopies(33, "a"), ANN), "rules: 33 (expected: at most 32)");
    assertThat(Call.of(Collections.nCopies(32, "a"), ANN).rules()).hasSize(32);
  }

  @Test
  void unknownRuleIsNotAnsweredWithAllOthers() {
    List<Rule> thousands = new ArrayList<>();
    IntStream.range(0, 5_000).forEach(i -> thousands.add(rule("rule-" + i).build()));
    Rules rules = Rules.of(thousands);

    refused(
        () -> rules.plan(Call.of("x".repeat(100_000), ANN), CLOCK),
        "rule '%s…': unknown (expected: one of rule-0, rule-1, rule-2, rule-3, rule-4, rule-5,"
                .formatted("x".repeat(64))
            + " rule-6, rule-7, rule-8, rule-9, rule-10, rule-11 and 4,988 more)");
  }

  @Test
  void callThatPaysMoreThan64AccountsIsRefused() {
    List<Rule> five = IntStream.range(0, 5).mapToObj(i -> rule("r" + i).build()).toList();
    Rules rules = Rules.of(five);
    List<String> names = five.stream().map(Rule::name).toList();

    assertThat(rules.plan(Call.of(names.subList(0, 4), Identity.of(facets(16))), CLOCK).charges())
        .hasSize(64);
    refused(
        () -> rules.plan(Call.of(names, Identity.of(facets(16))), CLOCK),
        "accounts of the call: 80 (expected: at most 64)");
  }

  @Test
  void callThatMeetsMoreThan256LimitsIsRefused() {
    Rule.Builder many = Rule.builder("many");
    IntStream.range(0, 16).forEach(i -> many.limit(Limit.fixedWindow(9, HOUR)));
    Rules rules =
        Rules.of(many.build(), Rule.builder("one").limit(Limit.fixedWindow(9, HOUR)).build());
    Identity sixteen = Identity.of(facets(16));

    assertThat(rules.plan(Call.of("many", sixteen), CLOCK).charges()).hasSize(16);
    refused(
        () -> rules.plan(Call.of(List.of("many", "one"), sixteen), CLOCK),
        "limits of the call: 272 (expected: at most 256)");
  }

  @Test
  void ruleThatNoCallCouldPayIsRefused() {
    String[] by = IntStream.range(0, 65).mapToObj(i -> "f" + i).toArray(String[]::new);
    Rule.Builder many = Rule.builder("many").by(List.of(by).subList(0, 17).toArray(new String[0]));
    IntStream.range(0, 16).forEach(i -> many.limit(Limit.fixedWindow(9, HOUR)));

    refused(
        () -> rule("wide").by(by).build(), "rule 'wide': by: 65 identities (expected: at most 64)");
    refused(many::build, "rule 'many': by × limits: 17 × 16 (expected: at most 256 in all)");
    refused(
        () -> rule("long").by(String.join("+", List.of(by).subList(0, 17))).build(),
        "rule 'long': by: 'f0+f1+f2+f3+f4+f5+f6+f7+f8+f9+f10+f11+f12+f13+f14+f15+f16'"
            + " (expected: at most 16 facets)");
  }

  // ---- Costs and words ------------------------------------------------------------------------

  @Test
  void reasonOfALockIsShortAndPrintable() {
    Rules rules = Rules.of(rule("log").build());
    try (Limiter limiter = Limiter.owning(MemoryStore.create(), rules)) {
      refused(
          () -> limiter.lockAsync("log", ANN, HOUR, "x".repeat(257)),
          "reason: 257 characters (expected: at most 256)");
      refused(
          () -> limiter.lockAsync("log", ANN, HOUR, "a\nb"),
          "reason: 'a\\u000ab' (expected: well-formed text without control characters)");
      refused(
          () -> limiter.lockAsync("log", ANN, HOUR, "a\ud800"),
          "reason: 'a\\ud800' (expected: well-formed text without control characters)");
      assertThat(limiter.lock("log", ANN, HOUR, "ü".repeat(256))).hasSize(1);
    }
  }
}
