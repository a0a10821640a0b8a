package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The limits of an account, which all apply at once, and its lock.
 *
 * @param limits the limits; at least one
 * @param lock how long a caller is locked out after it exceeded a limit, or null if it is not
 * @param countDenied whether denied calls count, too, so that a client that keeps calling stays
 *     denied
 */
public record Terms(List<Limit> limits, @Nullable Lock lock, boolean countDenied) {
  static final int MOST_LIMITS = 16;

  /** Checks the number of limits. */
  public Terms {
    limits = List.copyOf(limits);
    if (limits.isEmpty()) {
      throw InvalidValueException.of("limits", "none", "at least one");
    }
    if (limits.size() > MOST_LIMITS) {
      throw InvalidValueException.of(
          "limits", Integer.toString(limits.size()), "at most " + MOST_LIMITS);
    }
  }

  /** Terms without a lock. */
  public static Terms of(Limit... limits) {
    return new Terms(List.of(limits), null, false);
  }

  /** The same terms with a lock. */
  public Terms locking(Lock lock) {
    return new Terms(limits, Objects.requireNonNull(lock, "lock"), countDenied);
  }

  /**
   * How long a counted call can affect decisions, in microseconds.
   *
   * @param nowMicros the current time, for the length of the current calendar window
   */
  public long horizonMicros(long nowMicros) {
    long longest = 0;
    for (Limit limit : limits) {
      longest = Math.max(longest, limit.horizonMicros(nowMicros));
    }
    return longest;
  }

  /** Why a lock of these terms began, for operators: {@code used up 3 per 30m}. */
  public String lockReason() {
    return "used up " + limits.stream().map(Limit::toString).collect(Collectors.joining(" or "));
  }

  /** Reads like the rule file: {@code 3 per 30m, then locked for 30m}. */
  @Override
  public String toString() {
    String text = limits.stream().map(Limit::toString).collect(Collectors.joining(" and "));
    return text
        + (lock == null ? "" : ", then locked for " + lock)
        + (countDenied ? ", denied calls count" : "");
  }
}
