package dev.sluice.spring.login;

import dev.sluice.Decision;
import dev.sluice.internal.Durations;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The message and the countdown of a login page after a refused login.
 *
 * @param until when the next login can pass, in milliseconds since the epoch; null if not known
 */
record Refusal(String message, @Nullable Long until) {
  /** A decision is at most so old when its wait is added to the clock. */
  private static final Duration MEASURED_BEFORE = Duration.ofSeconds(1);

  static Refusal of(Decision decision, Instant now) {
    Optional<Duration> wait = decision.retryAfter().filter(left -> !left.isZero());
    if (wait.isEmpty()) {
      return new Refusal("Logins are not possible at the moment. Try again later.", null);
    }
    Duration left = Duration.ofSeconds(wait.get().plusNanos(999_999_999).toSeconds());
    return new Refusal(
        "Too many failed logins. Try again in %s.".formatted(Durations.format(left)),
        passesAt(decision, now).toEpochMilli());
  }

  /**
   * When a login passes again, in whole milliseconds, rounded up: the later of the lock's end and
   * the end of the wait. A lock that is shorter than the limit's window ends before the limit has
   * room for another try. A wait that ends with the lock is the lock's own: it was measured a
   * moment before, so the lock's end is exact, and the same on every page.
   */
  static Instant passesAt(Decision decision, Instant now) {
    Instant afterWait =
        now.truncatedTo(ChronoUnit.MICROS) // as stores keep time
            .plus(decision.retryAfter().orElse(Duration.ZERO))
            .plusNanos(999_999)
            .truncatedTo(ChronoUnit.MILLIS);
    return decision
        .restrictedUntil()
        .filter(lock -> lock.isAfter(afterWait.minus(MEASURED_BEFORE)))
        .orElse(afterWait);
  }

  LoginRefusedException toException() {
    return new LoginRefusedException(message, until);
  }
}
