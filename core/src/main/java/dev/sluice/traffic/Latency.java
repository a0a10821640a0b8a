package dev.sluice.traffic;

import java.util.concurrent.atomic.LongAdder;

/** How long calls took: counts in buckets, each at most a quarter wider than the one before. */
final class Latency {
  /*
   * Bucket 4 e + m holds the values from (4 + m) 2^(e - 2) to below (5 + m) 2^(e - 2): four buckets
   * for each power of two. So a percentile is at most 25 % too high.
   */
  static final int BUCKETS = 160; // up to 2^40 ns, which is 18 minutes

  private final LongAdder[] buckets = new LongAdder[BUCKETS];

  Latency() {
    for (int i = 0; i < BUCKETS; i++) {
      buckets[i] = new LongAdder();
    }
  }

  void record(long nanos) {
    buckets[bucket(nanos)].increment();
  }

  static int bucket(long nanos) {
    if (nanos < 4) {
      return (int) Math.max(0, nanos);
    }
    int exponent = 63 - Long.numberOfLeadingZeros(nanos);
    int mantissa = (int) (nanos >>> (exponent - 2)) & 3;
    return Math.min(BUCKETS - 1, 4 * (exponent - 1) + mantissa);
  }

  /** The first value that is above a bucket. */
  static long above(int bucket) {
    if (bucket < 4) {
      return bucket + 1L;
    }
    int exponent = bucket / 4 + 1;
    return (5L + bucket % 4) << (exponent - 2);
  }

  long[] counts() {
    long[] counts = new long[BUCKETS];
    for (int i = 0; i < BUCKETS; i++) {
      counts[i] = buckets[i].sum();
    }
    return counts;
  }

  /** The nanoseconds within which a share of the calls was decided; 0 without calls. */
  static long percentile(long[] counts, double share) {
    long all = 0;
    for (long count : counts) {
      all += count;
    }
    long wanted = (long) Math.ceil(share * all);
    long seen = 0;
    for (int i = 0; i < counts.length && all > 0; i++) {
      seen += counts[i];
      if (seen >= wanted) {
        return above(i);
      }
    }
    return 0;
  }
}
