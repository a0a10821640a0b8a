package dev.sluice;

import dev.sluice.internal.Durations;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The state of one limit of an account after a call.
 *
 * @param account the account
 * @param limit the limit
 * @param enforced false if the rule is in shadow mode
 * @param remaining what is left for further calls, after this one if it was taken
 * @param retryAfterMicros 0 if the cost fits; else the wait until it fits, including a lock, or
 *     {@link #NEVER}
 * @param resetAfterMicros the time until the whole quota is available again
 * @param lockedUntilMicros the end of the account's lock since the epoch, or 0
 * @param uncharged what {@link Intent#RECORD} could not charge because the limit was already used
 *     up
 */
public record Balance(
    Account account,
    Limit limit,
    boolean enforced,
    long remaining,
    long retryAfterMicros,
    long resetAfterMicros,
    long lockedUntilMicros,
    long uncharged) {
  /** The cost exceeds the limit: no wait makes it fit. */
  public static final long NEVER = Long.MAX_VALUE;

  /** A balance whose whole cost was charged. */
  public Balance(
      Account account,
      Limit limit,
      boolean enforced,
      long remaining,
      long retryAfterMicros,
      long resetAfterMicros,
      long lockedUntilMicros) {
    this(
        account,
        limit,
        enforced,
        remaining,
        retryAfterMicros,
        resetAfterMicros,
        lockedUntilMicros,
        0);
  }

  /**
   * Of several balances, the one to report to the caller: the one to wait longest for, else the
   * tightest. Rules in shadow mode do not count; empty if there are no others.
   */
  public static Optional<Balance> deciding(List<Balance> balances) {
    Balance found = null;
    for (Balance balance : balances) {
      if (balance.enforced && (found == null || balance.decidesBefore(found))) {
        found = balance;
      }
    }
    return Optional.ofNullable(found);
  }

  private boolean decidesBefore(Balance other) {
    if (retryAfterMicros != other.retryAfterMicros) {
      return retryAfterMicros > other.retryAfterMicros;
    }
    // Cross-multiplied, so that 5 of 10 and 50 of 100 are equally tight.
    long mine = Math.multiplyHigh(remaining, other.limit.quota());
    long others = Math.multiplyHigh(other.remaining, limit.quota());
    return mine < others
        || (mine == others
            && Long.compareUnsigned(
                    remaining * other.limit.quota(), other.remaining * limit.quota())
                < 0);
  }

  /** The end of the lock in whole milliseconds, rounded up; empty if there is none. */
  public Optional<Instant> lockedUntil() {
    return locked()
        ? Optional.of(Instant.ofEpochMilli(Durations.ceilMillis(lockedUntilMicros)))
        : Optional.empty();
  }

  /** The same balance for an account that was locked since. */
  public Balance lockedUntil(long micros) {
    return new Balance(
        account, limit, enforced, remaining, retryAfterMicros, resetAfterMicros, micros, uncharged);
  }

  /** Whether the cost fits this limit. */
  public boolean fits() {
    return retryAfterMicros == 0;
  }

  /** Whether the account is locked. */
  public boolean locked() {
    return lockedUntilMicros != 0;
  }

  /** How long to wait until the cost fits; empty if it never will. */
  public Optional<Duration> retryAfter() {
    return retryAfterMicros == NEVER
        ? Optional.empty()
        : Optional.of(Durations.ofMicros(retryAfterMicros));
  }

  /** How long until the whole quota is available again. */
  public Duration resetAfter() {
    return Durations.ofMicros(resetAfterMicros);
  }
}
