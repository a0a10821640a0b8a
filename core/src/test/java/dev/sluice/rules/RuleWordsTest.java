package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Rules;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RuleWordsTest {
  private Rules rules;

  @BeforeEach
  void example() {
    rules = RuleFiles.read(Path.of("../docs/examples/rules.yaml"));
  }

  @Test
  void tableTellsWhatEachRuleMeans() {
    assertThat(lines(RuleWords.table(rules)))
        .isEqualTo(
            """
        RULE                 COUNTS        MAY PASS                                                                     OTHERWISE
        BankAccountUpdate    member, ip    2 in any 2m                                                                  denied
        SecureForgotAccount  login         3 in any 30m                                                                 locked for 30m
        SecureLogin          login         2 in any 1d                                                                  locked for 1m, then 10m, then 1d (remembered for 1d)
        PromoQuery           member+promo  10 in any 1m                                                                 denied
        Api                  apiKey        100 at once, 10 more every 1s                                                denied
                                           2400 in any 1h, each back up to 1m late
                                           100000 in each month in Europe/Berlin
                                           apiKey=(secret) until 2030-01-01T00:00:00Z: 1000 at once, 100 more every 1s
                                           apiKey=(secret): everything
        NewCrawlerRule       ip            60 in any 1m                                                                 reported only (shadow)
        Everyone             ip            1000 at once, 1000 more every 1d                                             denied
        Knocking             ip            5 in any 1m                                                                  denied
                                                                                                                        denied calls count
        """);
  }

  @Test
  void slidingLogWithLockIsExplained() {
    assertThat(lines(RuleWords.explain(rules, "SecureForgotAccount")))
        .isEqualTo(
            """
        SecureForgotAccount counts each login on an account of its own.
        Values of login are normalized first (nfkc, trim, lowercase); those that are equal then are one account.
        At most 3 pass in any 30m; each comes back exactly 30m after it was taken.
        Worst case in any 30m: 3.
        A single call that costs more than 3 never passes.
        A denied call costs nothing.
        Who is denied by a limit is locked out for 30m from that moment.
        Knocking while locked does not make a lock longer.

        A call without login is refused with an error.
        During an outage of the store each node counts by itself, and lets at most its share of each limit pass.
        """);
  }

  @Test
  void everyLimitIsExplainedWithItsWorstCase() {
    assertThat(lines(RuleWords.explain(rules, "Api")))
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
        A call without apiKey is refused with an error.
        During an outage of the store each node counts by itself, and lets at most its share of each limit pass.
        """);
  }

  @Test
  void severalIdentitiesAndGrowingLocksAreExplained() {
    assertThat(RuleWords.explain(rules, "BankAccountUpdate"))
        .startsWith(
            "BankAccountUpdate counts each member and each ip on an account of its own."
                + " A call passes if all have room.");
    assertThat(RuleWords.explain(rules, "SecureLogin"))
        .contains(
            "Locks in a row last 1m, 10m, 1d, and the last of these from then on; they are in a row"
                + " while each is earned within 1d of the end of the one before.");
    assertThat(RuleWords.explain(rules, "PromoQuery"))
        .contains(
            "PromoQuery counts each combination of member and promo on an account of its own.");
  }

  @Test
  void shadowAndCountedDenialsAreExplained() {
    assertThat(RuleWords.explain(rules, "NewCrawlerRule"))
        .contains("Shadow mode: it is counted and reported, but no call is denied.");
    assertThat(RuleWords.explain(rules, "Knocking"))
        .contains("A denied call counts as well: who keeps knocking stays out.");
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

    assertThat(RuleWords.explain(three, "counted"))
        .contains(
            "During an outage of the store each node counts by itself, and lets at most its share"
                + " of each limit pass.");
    assertThat(RuleWords.explain(three, "open"))
        .contains("During an outage of the store calls pass, and nobody counts them.");
    assertThat(RuleWords.explain(three, "shut"))
        .contains("During an outage of the store calls are denied.");
    assertThat(lines(RuleWords.table(three)))
        .contains("in an outage: passes uncounted", "in an outage: denied")
        .doesNotContain("share");
  }

  @Test
  void ruleThatIsNotThereIsSuggested() {
    assertThatThrownBy(() -> RuleWords.explain(rules, "SecureLogon"))
        .hasMessage("rule 'SecureLogon': unknown (did you mean 'SecureLogin'?)");
  }

  private static String lines(List<String> lines) {
    return String.join("\n", lines) + "\n";
  }
}
