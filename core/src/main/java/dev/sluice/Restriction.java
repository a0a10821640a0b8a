package dev.sluice;

import java.time.Instant;
import java.util.Objects;

/**
 * A lock in force.
 *
 * @param account the account that is locked
 * @param until when the lock ends
 * @param reason why: the limit that was exceeded, or the reason that an operator gave
 */
public record Restriction(Account account, Instant until, String reason) {
  /** Requires all of them. */
  public Restriction {
    Objects.requireNonNull(account, "account");
    Objects.requireNonNull(until, "until");
    Objects.requireNonNull(reason, "reason");
  }

  /** The end in whole milliseconds, rounded up like {@link Decision#restrictedUntil()}. */
  public Instant restrictedUntil() {
    return Instant.ofEpochMilli(until.plusNanos(999_999).toEpochMilli());
  }
}
