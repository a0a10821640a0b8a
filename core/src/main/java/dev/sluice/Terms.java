package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What holds for one account: the limits, all at once, and the lock that follows an overdraft.
 *
 * @param countDenied whether a denied call is counted too, so that a client that keeps knocking
 *     stays out
 */
public record Terms(List<Limit> limits, @Nullable Lock lock, boolean countDenied) {
  static final int MOST_LIMITS = 16;

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

  public static Terms of(Limit... limits) {
    return new Terms(List.of(limits), null, false);
  }

  public Terms locking(Lock lock) {
    return new Terms(limits, lock, countDenied);
  }

  /**
   * How long the state of an account can matter, in microseconds.
   *
   * @param nowMicros tells how long the present round of a calendar window is
   */
  public long horizonMicros(long nowMicros) {
    long longest = 0;
    for (Limit limit : limits) {
      longest = Math.max(longest, limit.horizonMicros(nowMicros));
    }
    return longest;
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
