package dev.sluice;

import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.WholeNumbers;
import java.math.BigInteger;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Objects;

/**
 * How much may pass, and how it becomes available again.
 *
 * <p>Each kind is a record that validates itself. Values that could not be counted exactly (zero,
 * negative, beyond 2^52) are refused. The text of a limit is a short phrase for lists of rules and
 * reasons of locks.
 */
public sealed interface Limit {
  /**
   * The largest number an account may hold. Sums and times then stay below 2^53, exact in a double.
   */
  long LARGEST = 1L << 52;

  /** The highest cost of a call, which is also the most that can pass at one instant. */
  long quota();

  /** The time in which the whole {@link #quota()} becomes available again. */
  Duration window();

  /**
   * How long a counted call can affect decisions, in microseconds.
   *
   * @param nowMicros the current time, for the length of the current calendar window
   */
  default long horizonMicros(long nowMicros) {
    return Durations.micros(window());
  }

  /** At most {@code limit} in any {@code window}, exact to the microsecond. */
  static SlidingLog slidingLog(long limit, Duration window) {
    return new SlidingLog(limit, window);
  }

  /** At most {@code limit} in each window aligned to the epoch. */
  static FixedWindow fixedWindow(long limit, Duration window) {
    return new FixedWindow(limit, Cycle.every(window));
  }

  /** At most {@code limit} in each window of a cycle, such as a month in Berlin. */
  static FixedWindow fixedWindow(long limit, Cycle cycle) {
    return new FixedWindow(limit, cycle);
  }

  /** At most {@code limit} in any {@code window}, counted in sixty parts of it. */
  static SlidingWindow slidingWindow(long limit, Duration window) {
    return new SlidingWindow(
        limit, window, SlidingWindow.defaultPrecision(checkSpan("per", window)));
  }

  /** At most {@code limit} in any {@code window}, counted in parts of {@code precision}. */
  static SlidingWindow slidingWindow(long limit, Duration window, Duration precision) {
    return new SlidingWindow(limit, window, precision);
  }

  /** At most {@code capacity} at once; {@code refill} tokens come back every {@code period}. */
  static TokenBucket tokenBucket(long capacity, long refill, Duration period) {
    return new TokenBucket(capacity, refill, period);
  }

  /**
   * Windows that start empty: up to twice the limit can pass around the edge of two windows.
   *
   * @param limit how much may pass in a window
   * @param cycle when windows begin
   */
  record FixedWindow(long limit, Cycle cycle) implements Limit {
    /** Checks the limit. */
    public FixedWindow {
      Objects.requireNonNull(cycle, "cycle");
      checkCount("limit", limit, LARGEST);
    }

    @Override
    public long quota() {
      return limit;
    }

    @Override
    public Duration window() {
      return cycle.nominal();
    }

    @Override
    public long horizonMicros(long nowMicros) {
      Cycle.Span round = cycle.at(nowMicros);
      return round.endMicros() - round.startMicros();
    }

    @Override
    public String toString() {
      return limit + " per " + cycle;
    }
  }

  /**
   * Remembers every admitted call for the length of the window: exact, with memory up to its limit.
   *
   * @param limit how much may pass in any window
   * @param window the length of a window
   */
  record SlidingLog(long limit, Duration window) implements Limit {
    static final long LARGEST_LOG = 1_000_000;

    /** Checks that it can be counted exactly. */
    public SlidingLog {
      if (limit > LARGEST_LOG) {
        throw InvalidValueException.of(
            "limit",
            Long.toString(limit),
            "at most %d for a sliding log; a sliding window has no such bound"
                .formatted(LARGEST_LOG));
      }
      checkCount("limit", limit, LARGEST_LOG);
      checkSpan("per", window);
    }

    /** The window in microseconds. */
    public long windowMicros() {
      return Durations.micros(window);
    }

    @Override
    public long quota() {
      return limit;
    }

    @Override
    public String toString() {
      return limit + " per " + Durations.format(window);
    }
  }

  /**
   * Counts in parts of the window. It never admits more than its limit; usage becomes available
   * again up to one {@code precision} late.
   *
   * @param limit how much may pass in any window
   * @param window the length of a window
   * @param precision the length of a part
   */
  record SlidingWindow(long limit, Duration window, Duration precision) implements Limit {
    static final long MOST_PARTS = 3_600;

    /** Checks that it can be counted exactly. */
    public SlidingWindow {
      checkCount("limit", limit, LARGEST);
      checkSpan("per", window);
      checkSpan("precision", precision);
      if (precision.compareTo(window) > 0) {
        throw InvalidValueException.of(
            "precision",
            Durations.format(precision),
            "at most the window, %s".formatted(Durations.format(window)));
      }
      if (Durations.micros(window) / Durations.micros(precision) > MOST_PARTS) {
        throw InvalidValueException.of(
            "precision",
            Durations.format(precision),
            "at least a %,dth of the window, %s".formatted(MOST_PARTS, Durations.format(window)));
      }
    }

    /** A sixtieth of the window, in whole microseconds. */
    public static Duration defaultPrecision(Duration window) {
      return Durations.ofMicros(Math.max(1, WholeNumbers.ceilDiv(Durations.micros(window), 60)));
    }

    /** The window in microseconds. */
    public long windowMicros() {
      return Durations.micros(window);
    }

    /** The precision in microseconds. */
    public long precisionMicros() {
      return Durations.micros(precision);
    }

    @Override
    public long horizonMicros(long nowMicros) {
      return windowMicros() + precisionMicros();
    }

    @Override
    public long quota() {
      return limit;
    }

    @Override
    public String toString() {
      return "%d per %s, precision %s"
          .formatted(limit, Durations.format(window), Durations.format(precision));
    }
  }

  /**
   * A bucket that refills steadily.
   *
   * <p>It counts in units of 1/{@link #unitsPerMicro()} microsecond. A token is {@link
   * #unitsPerToken()} units. Both are reduced by their common divisor, so any rational rate is
   * exact.
   *
   * @param capacity how many tokens it holds
   * @param refill how many tokens come back in a period
   * @param period the time in which they come back
   * @param debt how many tokens below empty a recorded cost can take it
   * @param unitsPerToken computed; the argument is ignored
   * @param unitsPerMicro computed; the argument is ignored
   */
  record TokenBucket(
      long capacity,
      long refill,
      Duration period,
      long debt,
      long unitsPerToken,
      long unitsPerMicro)
      implements Limit {
    /** Checks that it can be counted exactly, and computes the units. */
    public TokenBucket {
      checkCount("capacity", capacity, LARGEST);
      checkCount("refill", refill, LARGEST);
      checkSpan("per", period);
      long micros = Durations.micros(period);
      long divisor = BigInteger.valueOf(micros).gcd(BigInteger.valueOf(refill)).longValueExact();
      unitsPerToken = micros / divisor;
      unitsPerMicro = refill / divisor;
      if (capacity > LARGEST / micros) {
        throw InvalidValueException.of(
            "capacity × per",
            "%d × %s".formatted(capacity, Durations.format(period)),
            "at most 2^52 microseconds in all");
      }
      if (debt < 0 || debt > LARGEST / micros) {
        throw InvalidValueException.of(
            "debt",
            Long.toString(debt),
            "0 to %d, so that debt × per is at most 2^52 microseconds".formatted(LARGEST / micros));
      }
    }

    TokenBucket(long capacity, long refill, Duration period) {
      this(capacity, refill, period, Math.max(0, capacity), 0, 0);
    }

    /** The same bucket with another maximum debt; the default is its capacity. */
    public TokenBucket withDebt(long tokens) {
      return new TokenBucket(capacity, refill, period, tokens, 0, 0);
    }

    /** The capacity in units. */
    public long capacityUnits() {
      return capacity * unitsPerToken;
    }

    @Override
    public long quota() {
      return capacity;
    }

    /** The time in which an empty bucket fills. */
    @Override
    public Duration window() {
      return Durations.ofMicros(WholeNumbers.ceilDiv(capacityUnits(), unitsPerMicro));
    }

    @Override
    public String toString() {
      return "%d at once, %d more every %s%s"
          .formatted(
              capacity,
              refill,
              Durations.format(period),
              debt == capacity ? "" : ", at most " + debt + " in debt");
    }
  }

  private static void checkCount(String name, long count, long most) {
    if (count < 1) {
      throw InvalidValueException.of(name, Long.toString(count), "at least 1");
    }
    if (count > most) {
      throw InvalidValueException.of(name, Long.toString(count), "at most " + most);
    }
  }

  /** Returns the duration, or throws if it cannot be counted in whole microseconds. */
  static Duration checkSpan(String name, Duration span) {
    if (span.isNegative() || span.isZero()) {
      throw InvalidValueException.of(name, span.isZero() ? "0s" : span.toString(), "longer than 0");
    }
    if (span.compareTo(Durations.LONGEST) > 0) {
      throw InvalidValueException.of(
          name, span.toString(), "at most %s".formatted(Durations.format(Durations.LONGEST)));
    }
    if (!span.truncatedTo(ChronoUnit.MICROS).equals(span)) {
      throw InvalidValueException.of(name, span.toString(), "whole microseconds");
    }
    return span;
  }
}
