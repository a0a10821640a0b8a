package dev.sluice;

import dev.sluice.internal.Durations;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The result of lifting a lock, and what the caller can do now.
 *
 * @param wasLocked whether there was a lock
 * @param now what a call of cost 1 would get from the accounts that were named; nothing was taken
 * @param notInspected what the rule also counts by and the identity did not name: an account of
 *     these may still refuse the caller
 */
public record Lifted(boolean wasLocked, Decision now, List<String> notInspected) {
  /** Requires a decision. */
  public Lifted {
    Objects.requireNonNull(now, "now");
    notInspected = List.copyOf(notInspected);
  }

  /**
   * Both as a sentence, such as {@code lifted; the next call passes: login=ann has 3 of 3 left (3
   * per 30m)}.
   */
  public String inWords() {
    Map<Account, List<Balance>> accounts =
        now.balances().stream()
            .collect(
                Collectors.groupingBy(Balance::account, LinkedHashMap::new, Collectors.toList()));
    String left =
        accounts.entrySet().stream()
            .map(account -> account.getKey().identity() + " has " + left(account.getValue()))
            .collect(Collectors.joining("; "));
    return "%s; %s: %s".formatted(wasLocked ? "lifted" : "was not locked", next(), left);
  }

  private String next() {
    if (now.allowed()) {
      return notInspected.isEmpty()
          ? "the next call passes"
          : "the next call passes unless its account by %s refuses it"
              .formatted(String.join(" or ", notInspected));
    }
    return now.retryAfter()
        .map(
            wait ->
                "%s for %s"
                    .formatted(
                        now.locked() ? "locked again" : "still denied", Durations.rounded(wait)))
        .orElse("no call will ever pass");
  }

  private static String left(List<Balance> balances) {
    return balances.stream()
        .map(
            balance ->
                "%d of %d left (%s)"
                    .formatted(
                        balance.remaining(), balance.limit().quota(), balance.limit().toString()))
        .collect(Collectors.joining(", "));
  }
}
