package dev.sluice.history;

import dev.sluice.Rule;
import dev.sluice.Rules;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The steps of a history and the answers that a store must give. The same seed gives the same
 * history.
 *
 * @param answers one for each step: a {@link Model.Answer}, the result of a settlement, whether
 *     something was lifted, or null
 */
public record History(long seed, Rules rules, List<Step> steps, List<@Nullable Object> answers) {

  public static History of(long seed) {
    return new Author(seed).write();
  }

  /** Whether every denial of this history is explained by what was admitted or recorded. */
  boolean isPlain() {
    boolean settles = steps.stream().anyMatch(step -> step instanceof Step.Settle);
    boolean locks =
        steps.stream().anyMatch(step -> step instanceof Step.Lock || step instanceof Step.Lift);
    return !settles && !locks && !punishes();
  }

  /** Whether a denial may change anything. */
  boolean punishes() {
    return rules.all().stream()
        .anyMatch(rule -> rule.terms().lock() != null || rule.terms().countDenied());
  }

  /** The history up to a step, for a person who debugs it. */
  String shown(int upTo) {
    StringBuilder text = new StringBuilder("seed " + seed + "\n");
    for (Rule rule : rules.all()) {
      text.append("  ").append(rule).append(rule.enforced() ? "\n" : " (shadow)\n");
    }
    long start = steps.get(0).atMicros();
    for (int i = 0; i <= upTo; i++) {
      Step step = steps.get(i);
      text.append("  %3d  +%d us  %s%n".formatted(i, step.atMicros() - start, step.shown()));
      text.append("       -> %s%n".formatted(brief(answers.get(i))));
    }
    return text.toString();
  }

  /** An answer as one short line: remaining, wait, reset and lock of each balance. */
  static String brief(@Nullable Object answer) {
    if (!(answer instanceof Model.Answer shown)) {
      return Objects.toString(answer);
    }
    return (shown.allowed() ? "allowed " : "denied ")
        + shown.balances().stream()
            .map(
                balance ->
                    "%d left%s, reset %d%s"
                        .formatted(
                            balance.remaining(),
                            balance.fits() ? "" : ", wait " + balance.retryAfterMicros(),
                            balance.resetAfterMicros(),
                            balance.locked() ? ", locked " + balance.lockedUntilMicros() : ""))
            .toList();
  }

  /** The positions of the denied calls that took nothing. */
  List<Integer> denials() {
    List<Integer> denied = new ArrayList<>();
    for (int i = 0; i < steps.size(); i++) {
      if (answers.get(i) instanceof Model.Answer answer && !answer.allowed()) {
        denied.add(i);
      }
    }
    return denied;
  }
}
