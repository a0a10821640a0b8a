package dev.sluice;

import java.time.Duration;
import java.util.Optional;

/**
 * What a charge found at one limit of its account.
 *
 * @param enforced false if the rule is in shadow mode
 * @param remaining what is left for further calls, after this one if it was taken
 * @param retryAfterMicros 0 if the cost fits; else when it will, lock included; {@link #NEVER}
 * @param resetAfterMicros when everything will have come back
 * @param lockedUntilMicros the end of the account's lock since the epoch, or 0
 */
public record Balance(
    Account account,
    Limit limit,
    boolean enforced,
    long remaining,
    long retryAfterMicros,
    long resetAfterMicros,
    long lockedUntilMicros) {
  /** The cost is larger than the limit: no wait will make it fit. */
  public static final long NEVER = Long.MAX_VALUE;

  /** Whether the cost fits here. */
  public boolean fits() {
    return retryAfterMicros == 0;
  }

  public boolean locked() {
    return lockedUntilMicros != 0;
  }

  /** How long to wait until the cost fits; empty if it never will. */
  public Optional<Duration> retryAfter() {
    return retryAfterMicros == NEVER
        ? Optional.empty()
        : Optional.of(Durations.ofMicros(retryAfterMicros));
  }

  public Duration resetAfter() {
    return Durations.ofMicros(resetAfterMicros);
  }
}
