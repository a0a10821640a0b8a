package dev.sluice.traffic;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.internal.Durations;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A call that was refused, as a sample for operators.
 *
 * @param node the id of the node that refused it
 * @param identity the account that refused it, with secret values hashed
 * @param retryAfterMillis how long to wait; null if waiting does not help
 */
public record SampledRefusal(
    Instant at,
    String node,
    String rule,
    String identity,
    String limit,
    @Nullable Long retryAfterMillis,
    boolean locked) {

  /** The refusal in a decision; empty if no account refused it. */
  static Optional<SampledRefusal> of(Decision decision, String node, Instant at) {
    return decision.deciding().map(balance -> of(balance, node, at));
  }

  private static SampledRefusal of(Balance balance, String node, Instant at) {
    return new SampledRefusal(
        at,
        node,
        balance.account().rule(),
        balance.account().identity().toString(),
        balance.limit().toString(),
        balance.retryAfter().map(wait -> Durations.ceilMillis(Durations.micros(wait))).orElse(null),
        balance.locked());
  }

  String text() {
    return new Lines()
        .add(
            "refusal",
            at.toEpochMilli(),
            node,
            rule,
            identity,
            limit,
            retryAfterMillis == null ? "never" : retryAfterMillis,
            locked)
        .toString();
  }

  /** Reads what a node has written. */
  public static Optional<SampledRefusal> read(String text) {
    return Lines.read(text)
        .filter(words -> words.size() >= 8 && words.get(0).equals("refusal"))
        .map(SampledRefusal::of)
        .findFirst();
  }

  private static SampledRefusal of(List<String> words) {
    return new SampledRefusal(
        Instant.ofEpochMilli(Lines.number(words, 1)),
        words.get(2),
        words.get(3),
        words.get(4),
        words.get(5),
        words.get(6).equals("never") ? null : (Long) Lines.number(words, 6),
        words.get(7).equals("true"));
  }
}
