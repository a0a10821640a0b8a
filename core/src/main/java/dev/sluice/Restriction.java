package dev.sluice;

import java.time.Instant;

/**
 * A lock in force.
 *
 * @param reason why: the limit that was overdrawn, or what the person who set it wrote
 */
public record Restriction(Account account, Instant until, String reason) {
  /** When it has ended, in whole milliseconds, as {@link Decision#restrictedUntil()} says it. */
  public Instant restrictedUntil() {
    return Instant.ofEpochMilli(until.plusNanos(999_999).toEpochMilli());
  }
}
