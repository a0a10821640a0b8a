package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/**
 * How long an overdrawn identity stays out, and how that grows.
 *
 * <p>The n-th lock in a row lasts the n-th of the durations, the last of them for every further
 * one. Locks are in a row while each is earned at most {@code memory} after the end of the one
 * before.
 *
 * @param on what begins it
 */
public record Lock(List<Duration> durations, Duration memory, On on) {
  /** When a lock begins. */
  public enum On {
    /** With the first call that a limit denies. */
    DENIAL,
    /**
     * With the call that leaves a limit without room for one more, such as the third wrong code of
     * three; or with a call that is denied although there was room for one.
     */
    LIMIT
  }

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
    Limit.checkSpan("lockMemory", memory);
  }

  /** A lock that begins with the first denial. */
  public Lock(List<Duration> durations, Duration memory) {
    this(durations, memory, On.DENIAL);
  }

  public static Lock of(Duration duration) {
    return new Lock(List.of(duration), duration);
  }

  /** The same lock, beginning with the call that uses up a limit. */
  public Lock onLimit() {
    return new Lock(durations, memory, On.LIMIT);
  }

  /** Growing locks, remembered for as long as the longest of them. */
  public static Lock growing(List<Duration> durations) {
    if (durations.isEmpty()) {
      throw InvalidValueException.of("lock", "[]", "at least one duration");
    }
    return new Lock(durations, durations.stream().max(Duration::compareTo).orElseThrow());
  }

  /** The length of the n-th lock in a row, counted from 1. */
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
