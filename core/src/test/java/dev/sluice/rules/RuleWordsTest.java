package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Rules;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RuleWordsTest {
  private static final InstantSource CLOCK =
      InstantSource.fixed(Instant.parse("2026-01-01T00:00:00Z"));

  private Rules rules;

  @BeforeEach
  void example() {
    rules = RuleFiles.read(Path.of("../docs/examples/rules.yaml"));
  }

  @Test
  void tableShowsWhatEachRuleMeans() {
    assertThat(lines(RuleWords.table(rules, CLOCK)))
        .isEqualTo(
            """
        RULE                 COUNTS        MAY PASS                                                                     OTHERWISE
        BankAccountUpdate    member, ip    2 in any 2m                                                                  denied
        SecureForgotAccount  login+ip      3 in any 30m                                                                 locked for 30m as soon as it is used up
        SecureLogin          login+ip      5 in any 10m                                                                 locked for 10m, then 1h, then 1d (remembered for 1d) as soon as it is used up
        SecureLoginAddress   ip            50 in any 10m                                                                locked for 10m as soon as it is used up
        SecureLoginAccount   login         500 in any 1h                                                                locked for 1h as soon as it is used up
        PromoQuery           member+promo  10 in any 1m                                                                 denied
        Api                  apiKey        100 at once, 10 more every 1s                                                denied
                                           2400 in any 1h, each back up to 1m late
                                           100000 in each month in Europe/Berlin
                                           apiKey=(secret) until 2030-01-01T00:00:00Z: 1000 at once, 100 more every 1s
                                           apiKey=(secret): everything
                                           ip=192.0.2.0/24: everything
        NewCrawlerRule       ip            60 in any 1m                                                                 reported only (shadow)
        Everyone             ip            1000 at once, 1000 more every 1d                                             denied
        Exports              everyone      20 in any 1m                                                                 denied
        RetryStorm           ip            5 in any 1m                                                                  denied
                                                                                                                        denied calls count
        """);
  }

  @Test
  void slidingLogWithLockIsExplained() {
    assertThat(lines(RuleWords.explain(rules, "SecureForgotAccount", CLOCK)))
        .isEqualTo(
            """
        SecureForgotAccount counts each combination of login and ip on an account of its own.
        Values of login are normalized first (nfkc, trim, lowercase); those that are equal then are one account.
        At most 3 pass in any 30m; each comes back exactly 30m after it was taken.
        Worst case in any 30m: 3.
        A single call that costs more than 3 never passes.
        A denied call costs nothing.
        The call that uses up a limit still passes, and locks its caller out for 30m from that moment.
        Retrying while locked does not make a lock longer.

        A call without login+ip is refused with an error.
        During an outage of the store each node counts by itself, and lets at most its share of each limit pass.
        """);
  }

  @Test
  void everyLimitIsExplainedWithItsWorstCase() {
    assertThat(lines(RuleWords.explain(rules, "Api", CLOCK)))
        .isEqualTo(
            """
        Api counts each apiKey on an account of its own.
        Up to 100 pass at once; 10 come back every 1s, steadily, until 100 are there.
        An empty bucket is full again after 10s.
        Worst case in any time t: 100 + 10 × t / 1s; in any 1s: 110.
        At most 2400 pass in any 1h; each comes back 1h after it was taken, or up to 1m later.
        Worst case in any 1h: 2400.
        At most 100000 pass in each month in Europe/Berlin; all come back together when the next begins.
        Worst case: 200000, twice the limit, within moments around the edge between two rounds.
        A sliding-window of the same size has no such edge.
        All 3 limits hold at once.
        A single call that costs more than 100 never passes.
        A denied call costs nothing.

        For apiKey=(secret) until 2030-01-01T00:00:00Z, other terms hold on the same account; what was used stays used:
        Up to 1000 pass at once; 100 come back every 1s, steadily, until 1000 are there.
        An empty bucket is full again after 10s.
        Worst case in any time t: 1000 + 100 × t / 1s; in any 1s: 1100.
        A single call that costs more than 1000 never passes.
        A denied call costs nothing.

        A call of apiKey=(secret) is not counted.
        A call of ip=192.0.2.0/24 is not counted.
        A call without apiKey is refused with an error.
        During an outage of the store each node counts by itself, and lets at most its share of each limit pass.
        """);
  }

  @Test
  void severalIdentitiesAndGrowingLocksAreExplained() {
    assertThat(RuleWords.explain(rules, "BankAccountUpdate", CLOCK))
        .startsWith(
            "BankAccountUpdate counts each member and each ip on an account of its own."
                + " A call passes if all have room.");
    assertThat(RuleWords.explain(rules, "SecureLogin", CLOCK))
        .contains(
            "Locks in a row last 10m, 1h, 1d, and the last of these from then on; they are in a row"
                + " while each is earned within 1d of the end of the one before.");
    assertThat(RuleWords.explain(rules, "PromoQuery", CLOCK))
        .contains(
            "PromoQuery counts each combination of member and promo on an account of its own.");
  }

  @Test
  void lockThatBeginsWithADenialIsExplained() {
    Rules denial = RuleFiles.parse("r.yaml", "rules: {a: {limit: 3 per 30m, lock: 30m}}");

    assertThat(RuleWords.explain(denial, "a", CLOCK))
        .contains("A caller that a limit denies is locked out for 30m from that moment.");
  }

  @Test
  void ruleForAllCallersTogetherIsExplained() {
    assertThat(RuleWords.explain(rules, "Exports", CLOCK))
        .startsWith("Exports counts all callers together on one account.")
        .noneMatch(line -> line.startsWith("A call without"));
    Rules both = RuleFiles.parse("r.yaml", "rules: {a: {by: [everyone, ip], limit: 3 per 30m}}");
    assertThat(RuleWords.explain(both, "a", CLOCK))
        .startsWith(
            "a counts all callers together and each ip on an account of its own."
                + " A call passes if all have room.")
        .contains("A call without ip is refused with an error.");
  }

  @Test
  void overrideThatHasEndedIsShownAsOver() {
    Rules ended =
        RuleFiles.parse(
            "r.yaml",
            """
            rules:
              a:
                limit: 3 per 30m
                overrides: [{when: {member: ann}, until: 2025-12-31T00:00:00Z, limit: 9 per 30m}]
            """);

    assertThat(RuleWords.explain(ended, "a", CLOCK))
        .contains(
            "For member=ann other terms held until 2025-12-31T00:00:00Z. That is over: they are"
                + " counted like everybody.")
        .noneMatch(line -> line.contains("9"));
    assertThat(lines(RuleWords.table(ended, CLOCK)))
        .contains("member=ann until 2025-12-31T00:00:00Z: over");
  }

  @Test
  void shadowAndCountedDenialsAreExplained() {
    assertThat(RuleWords.explain(rules, "NewCrawlerRule", CLOCK))
        .contains("Shadow mode: it is counted and reported, but no call is denied.");
    assertThat(RuleWords.explain(rules, "RetryStorm", CLOCK))
        .contains("A denied call counts as well: a client that keeps retrying stays out.");
  }

  @Test
  void outageIsExplainedForEachChoice() {
    Rules three =
        RuleFiles.parse(
            "r.yaml",
            """
            rules:
              counted: {limit: 1 per 1s}
              open: {limit: 1 per 1s, onStoreFailure: allow}
              shut: {limit: 1 per 1s, onStoreFailure: deny}
            """);

    assertThat(RuleWords.explain(three, "counted", CLOCK))
        .contains(
            "During an outage of the store each node counts by itself, and lets at most its share"
                + " of each limit pass.");
    assertThat(RuleWords.explain(three, "open", CLOCK))
        .contains("During an outage of the store calls pass, and nobody counts them.");
    assertThat(RuleWords.explain(three, "shut", CLOCK))
        .contains("During an outage of the store calls are denied.");
    assertThat(lines(RuleWords.table(three, CLOCK)))
        .contains("in an outage: passes uncounted", "in an outage: denied")
        .doesNotContain("share");
  }

  @Test
  void skippedFacetIsExplained() {
    Rules skips =
        RuleFiles.parse("r.yaml", "rules: {a: {by: apiKey, limit: 1 per 1s, missing: skip}}");

    assertThat(RuleWords.explain(skips, "a", CLOCK))
        .contains("A call without apiKey passes without being counted by it.");
  }

  @Test
  void ruleThatIsNotThereIsSuggested() {
    assertThatThrownBy(() -> RuleWords.explain(rules, "SecureLogon", CLOCK))
        .hasMessage("rule 'SecureLogon': unknown (did you mean 'SecureLogin'?)");
  }

  private static String lines(List<String> lines) {
    return String.join("\n", lines) + "\n";
  }
}
