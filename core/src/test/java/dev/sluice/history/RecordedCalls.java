package dev.sluice.history;

import dev.sluice.Limit;
import dev.sluice.Limit.FixedWindow;
import dev.sluice.Limit.SlidingWindow;
import dev.sluice.Limit.TokenBucket;
import dev.sluice.internal.Durations;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Recorded calls on one account, checked against the promise of one limit. */
public final class RecordedCalls {
  /*
   * The store decided each call at some time between "from" and "to". If the caller knows that time
   * from a receipt, the two are equal. Otherwise the store gets the benefit of the doubt: calls
   * exceed the bound only if they do for all possible times, and a denial is unexplained only if it
   * is for all possible times.
   */
  private final Limit limit;
  private final List<Seen> byFrom;
  private final List<Seen> byTo;
  private final long longest;

  /** A call that was paid between two moments, in microseconds. */
  public record Seen(long from, long to, long cost) {}

  /**
   * Calls that certainly were paid within a time.
   *
   * @param sum what they cost
   * @param bound what may be paid in that time
   */
  public record Peak(long sum, long bound, long from, long to) {
    /** What was left; below zero, the promise is broken. */
    public long margin() {
      return bound - sum;
    }
  }

  public RecordedCalls(Limit limit, List<Seen> paid) {
    this.limit = limit;
    this.byFrom = new ArrayList<>(paid);
    this.byTo = new ArrayList<>(paid);
    byFrom.sort(Comparator.comparingLong(Seen::from));
    byTo.sort(Comparator.comparingLong(Seen::to));
    this.longest = paid.stream().mapToLong(seen -> seen.to - seen.from).max().orElse(0);
  }

  /** Where the calls came closest to the bound, or went furthest beyond it. */
  public Peak peak() {
    Peak worst = new Peak(0, limit.quota(), 0, 0);
    for (int i = 0; i < byFrom.size(); i++) {
      Peak peak = limit instanceof TokenBucket bucket ? since(bucket, i) : since(i);
      worst = peak.margin() < worst.margin() ? peak : worst;
    }
    return worst;
  }

  /** All that was certainly paid in the window which begins with a call. */
  private Peak since(int first) {
    long from = byFrom.get(first).from;
    long end = // of the window, exclusive
        limit instanceof FixedWindow fixed
            ? fixed.cycle().at(from).endMicros()
            : from + Durations.micros(limit.window());
    long sum = 0;
    long last = from;
    for (int i = first; i < byFrom.size() && byFrom.get(i).from < end; i++) {
      Seen seen = byFrom.get(i);
      if (seen.to < end) {
        sum += seen.cost;
        last = Math.max(last, seen.to);
      }
    }
    return new Peak(sum, limit.quota(), from, last);
  }

  /** For every later moment: all since a call is at most capacity + refill · time / period. */
  private Peak since(TokenBucket bucket, int first) {
    long from = byFrom.get(first).from;
    Peak worst = new Peak(0, bucket.capacity(), from, from);
    long sum = 0;
    for (Seen seen : byTo) {
      if (seen.from >= from) {
        sum += seen.cost;
        long bound = bucket.capacity() + refilled(bucket, seen.to - from);
        if (bound - sum < worst.margin()) {
          worst = new Peak(sum, bound, from, seen.to);
        }
      }
    }
    return worst;
  }

  private static long refilled(TokenBucket bucket, long micros) {
    return Math.multiplyExact(bucket.refill(), micros) / Durations.micros(bucket.period());
  }

  /** Whether at some moment of a denied call there may have been no room for it. */
  public boolean explain(Seen denied) {
    if (isFull(denied.from, denied.cost) || isFull(denied.to, denied.cost)) {
      return true;
    }
    // In between there is the least room just when a call may have been paid.
    for (int i = lastUntil(denied.to); i >= 0 && byFrom.get(i).from >= denied.from; i--) {
      if (isFull(byFrom.get(i).from, denied.cost)) {
        return true;
      }
    }
    return false;
  }

  /** The place of the last call that may have been paid by a moment, or -1. */
  private int lastUntil(long moment) {
    int low = 0;
    int high = byFrom.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (byFrom.get(middle).from <= moment) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  private boolean isFull(long moment, long cost) {
    if (cost > limit.quota()) {
      return true;
    }
    if (limit instanceof TokenBucket bucket) {
      return isFull(bucket, moment, cost);
    }
    long begin = beginOfWindow(moment);
    long used = cost;
    for (int i = lastUntil(moment); i >= 0 && byFrom.get(i).from >= begin - longest; i--) {
      used += byFrom.get(i).to >= begin ? byFrom.get(i).cost : 0;
      if (used > limit.quota()) {
        return true;
      }
    }
    return false;
  }

  /** The first moment that counts at another. */
  private long beginOfWindow(long moment) {
    if (limit instanceof FixedWindow fixed) {
      return fixed.cycle().at(moment).startMicros();
    }
    // A sliding window gives a place back up to one precision late.
    long late = limit instanceof SlidingWindow sliding ? sliding.precisionMicros() : 0;
    return moment - Durations.micros(limit.window()) - late + 1;
  }

  private boolean isFull(TokenBucket bucket, long moment, long cost) {
    long used = cost;
    for (int i = byTo.size() - 1; i >= 0; i--) {
      Seen seen = byTo.get(i);
      if (seen.from <= moment) {
        used += seen.cost;
        long ago = moment - Math.min(seen.to, moment);
        if (Bounds.breaks(bucket, ago, used)) {
          return true;
        }
      }
    }
    return false;
  }
}
