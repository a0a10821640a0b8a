package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * How long a caller is locked out after it exceeded a limit, and how repeated locks grow.
 *
 * <p>The n-th lock in a row lasts the n-th duration; further ones last the last duration. A lock
 * continues the row if it begins at most {@code memory} after the end of the lock before.
 *
 * @param durations the lengths of the locks in a row; at least one
 * @param memory for how long after its end a lock still lengthens the next one
 * @param on when a lock begins
 */
public record Lock(List<Duration> durations, Duration memory, On on) {
  /** When a lock begins. */
  public enum On {
    /** With the first call that a limit denies. */
    DENIAL,
    /**
     * With the call that uses up a limit, such as the third wrong code of three. Also with a call
     * that is denied although there was room for a cost of 1.
     */
    LIMIT
  }

  /** Checks the durations. */
  public Lock {
    durations = List.copyOf(durations);
    if (durations.isEmpty()) {
      throw InvalidValueException.of("lock", "[]", "at least one duration");
    }
    if (durations.size() > Bounds.MOST_LOCK_DURATIONS) {
      throw InvalidValueException.of(
          "lock",
          "%,d durations".formatted(durations.size()),
          "at most %d".formatted(Bounds.MOST_LOCK_DURATIONS));
    }
    durations.forEach(duration -> Limit.checkSpan("lock", duration));
    Limit.checkSpan("lockMemory", Objects.requireNonNull(memory, "memory"));
    Objects.requireNonNull(on, "on");
  }

  /** A lock that begins with the first denial. */
  public Lock(List<Duration> durations, Duration memory) {
    this(durations, memory, On.DENIAL);
  }

  /** A lock of one length, which begins with the first denial. */
  public static Lock of(Duration duration) {
    return new Lock(List.of(duration), duration);
  }

  /** The same lock, but it begins with the call that uses up a limit. */
  public Lock onLimit() {
    return new Lock(durations, memory, On.LIMIT);
  }

  /** Locks that grow when repeated. Each is remembered for the longest of the durations. */
  public static Lock growing(List<Duration> durations) {
    if (durations.isEmpty()) {
      throw InvalidValueException.of("lock", "[]", "at least one duration");
    }
    return new Lock(durations, durations.stream().max(Duration::compareTo).orElseThrow());
  }

  /** The length of the n-th lock in a row in microseconds, counted from 1. */
  public long micros(long nth) {
    return Durations.micros(durations.get((int) Math.min(nth, durations.size()) - 1));
  }

  @Override
  public String toString() {
    String list = durations.stream().map(Durations::format).collect(Collectors.joining(", then "));
    return list
        + (durations.size() == 1 ? "" : " (remembered for " + Durations.format(memory) + ")")
        + (on == On.LIMIT ? " as soon as it is used up" : "");
  }
}
