package dev.sluice.history;

import dev.sluice.Limit;
import dev.sluice.internal.Durations;
import java.math.BigInteger;
import java.util.List;

/** What may pass in any interval, straight from the promise of each kind of limit. */
final class Bounds {
  /**
   * Something that was counted.
   *
   * @param forced whether it was recorded without a check whether it fits
   */
  record Event(long at, long cost, boolean forced) {}

  private Bounds() {}

  /**
   * Whether one more event would break the limit's promise.
   *
   * @param atItsPrecision whether a sliding window may round the past up to its precision
   */
  static boolean breaks(
      Limit limit, List<Event> events, long now, long cost, boolean atItsPrecision) {
    if (cost > limit.quota()) {
      return true;
    }
    if (limit instanceof Limit.TokenBucket bucket) {
      return breaks(bucket, events, now, cost);
    }
    long after;
    if (limit instanceof Limit.FixedWindow) {
      long window = Durations.micros(limit.window());
      after = now - now % window - 1;
    } else {
      after = now - Durations.micros(limit.window());
      if (atItsPrecision && limit instanceof Limit.SlidingWindow sliding) {
        long precision = sliding.precisionMicros();
        after = Math.floorDiv(after + 1, precision) * precision - 1;
      }
    }
    long sum = cost;
    for (Event event : events) {
      sum += event.at > after ? event.cost : 0;
    }
    return sum > limit.quota();
  }

  /** For every earlier event: all since then is at most capacity + refill · time / period. */
  private static boolean breaks(Limit.TokenBucket bucket, List<Event> events, long now, long cost) {
    long sum = cost;
    for (int i = events.size() - 1; i >= 0; i--) {
      Event event = events.get(i);
      sum += event.cost;
      if (breaks(bucket, now - event.at, sum)) {
        return true;
      }
    }
    return false;
  }

  /** Whether a sum exceeds what may pass in a time. */
  static boolean breaks(Limit.TokenBucket bucket, long micros, long sum) {
    BigInteger period = BigInteger.valueOf(Durations.micros(bucket.period()));
    BigInteger beyond = BigInteger.valueOf(sum - bucket.capacity()).multiply(period);
    BigInteger refilled = BigInteger.valueOf(micros).multiply(BigInteger.valueOf(bucket.refill()));
    return beyond.compareTo(refilled) > 0;
  }
}
