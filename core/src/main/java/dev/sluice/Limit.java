package dev.sluice;

import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.WholeNumbers;
import java.math.BigInteger;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * How much may pass and how it comes back.
 *
 * <p>Each kind is a record that is valid once it exists: what could not be counted exactly (zero,
 * negative, beyond 2^52) is refused when it is built. The text of a limit is a short phrase, as
 * lists of rules and the reasons of locks show it.
 */
public sealed interface Limit {
  /** The largest number any account may hold; sums and times stay below 2^53, exact in a double. */
  long LARGEST = 1L << 52;

  /** The most a call may cost, and the most that can pass at one instant. */
  long quota();

  /** The time in which {@link #quota()} comes back. */
  Duration window();

  /**
   * How long what was counted can matter, in microseconds.
   *
   * @param nowMicros tells how long the present round of a calendar window is
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

  /** At most {@code limit} in each round of a cycle, such as a month in Berlin. */
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

  /** At most {@code capacity} at once; {@code refill} come back every {@code period}. */
  static TokenBucket tokenBucket(long capacity, long refill, Duration period) {
    return new TokenBucket(capacity, refill, period);
  }

  /** Windows that start afresh: up to twice the limit can pass around an edge. */
  record FixedWindow(long limit, Cycle cycle) implements Limit {
    public FixedWindow {
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

  /** Every admitted call is remembered for the window: exact, and as large as its limit. */
  record SlidingLog(long limit, Duration window) implements Limit {
    static final long LARGEST_LOG = 1_000_000;

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

  /** Counts in parts of the window; strict, so a slot comes back up to one precision late. */
  record SlidingWindow(long limit, Duration window, Duration precision) implements Limit {
    static final long MOST_PARTS = 3_600;

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

    public long windowMicros() {
      return Durations.micros(window);
    }

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
   * <p>Its arithmetic is in units of 1/{@link #unitsPerMicro()} microsecond: a token is {@link
   * #unitsPerToken()} of them, both reduced by their common divisor, so any rational rate is exact.
   *
   * @param debt how far below empty it can be recorded
   */
  record TokenBucket(
      long capacity,
      long refill,
      Duration period,
      long debt,
      long unitsPerToken,
      long unitsPerMicro)
      implements Limit {
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

    /** The same bucket with another bound on its debt; without one it is one capacity. */
    public TokenBucket withDebt(long tokens) {
      return new TokenBucket(capacity, refill, period, tokens, 0, 0);
    }

    /** What an empty bucket lacks, in units. */
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

  /** Refuses a length of time that cannot be counted in whole microseconds. */
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
