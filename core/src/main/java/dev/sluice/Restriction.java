package dev.sluice;

import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A lock in force.
 *
 * @param account the account that is locked
 * @param since since when the account is locked; null if the store does not know. A lock by hand
 *     that replaces or extends one does not change this
 * @param until when the lock ends
 * @param reason why: the limit that was exceeded, or the reason that an operator gave
 */
public record Restriction(Account account, @Nullable Instant since, Instant until, String reason) {
  /** Requires all of them but the begin. */
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
