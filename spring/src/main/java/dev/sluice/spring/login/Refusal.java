package dev.sluice.spring.login;

import dev.sluice.Decision;
import dev.sluice.internal.Durations;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a person is told whose login was refused.
 *
 * @param until when the next try may pass, in milliseconds since the epoch; null if nobody knows
 */
record Refusal(String message, @Nullable Long until) {
  static Refusal of(Decision decision) {
    Optional<Duration> wait = decision.retryAfter().filter(left -> !left.isZero());
    if (wait.isEmpty()) {
      return new Refusal("Logins are not possible at the moment. Try again later.", null);
    }
    Duration left = Duration.ofSeconds(wait.get().plusNanos(999_999_999).toSeconds());
    long until =
        decision
            .restrictedUntil()
            .map(Instant::toEpochMilli)
            .orElseGet(() -> System.currentTimeMillis() + Durations.ceilMillis(wait.get()));
    return new Refusal(
        "Too many failed logins. Try again in %s.".formatted(Durations.format(left)), until);
  }

  LoginRefusedException toException() {
    return new LoginRefusedException(message, until);
  }
}
