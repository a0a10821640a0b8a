package dev.sluice.history;

import dev.sluice.Limit;

/** The state of one limit of an account, simple and without regard for speed. */
interface LimitModel {
  /** Why a cost is counted. */
  enum Manner {
    /** It fits. */
    TAKEN,
    /** It counts even where it does not fit. */
    RECORDED,
    /** It was denied, and the rule counts denied calls. */
    COUNTED_DENIAL
  }

  static LimitModel of(Limit limit) {
    if (limit instanceof Limit.FixedWindow fixed) {
      return new FixedModel(fixed);
    }
    if (limit instanceof Limit.SlidingLog log) {
      return new LogModel(log);
    }
    if (limit instanceof Limit.SlidingWindow sliding) {
      return new SlidingModel(sliding);
    }
    return new BucketModel((Limit.TokenBucket) limit);
  }

  long remaining(long now);

  /** Whether a cost would fit if an amount were refunded. */
  boolean hasRoom(long now, long cost, long givenBack);

  /** How long until a cost fits; {@link dev.sluice.Balance#NEVER} if no wait is long enough. */
  long waitFor(long now, long cost);

  long resetAfter(long now);

  /** Counts a cost; returns how much of it could not be recorded. */
  long add(long now, Object owner, long cost, Manner manner);

  /**
   * Refunds what an owner took, up to an amount, as far as it is not available again anyway.
   *
   * @param givenSince what was refunded to others since the owner took
   * @return how much was refunded although others have taken since
   */
  long giveBack(long now, Object owner, long amount, long givenSince);

  /** Forgets everything. */
  void forget();
}
