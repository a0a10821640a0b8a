package dev.sluice;

import java.time.Instant;

/**
 * A lock in force.
 *
 * @param reason why: the limit that was overdrawn, or what the person who set it wrote
 */
public record Restriction(Account account, Instant until, String reason) {
  /** The epoch millisecond at which it has ended, as {@link Decision#restrictedUntil()} says it. */
  public long restrictedUntil() {
    return until.plusNanos(999_999).toEpochMilli();
  }
}
