package dev.sluice.history;

import dev.sluice.Limit;

/** What one limit of one account has seen, kept plainly and without any care for speed. */
interface LimitModel {
  /** How something comes to be counted. */
  enum Manner {
    /** It fits. */
    TAKEN,
    /** It counts even where it does not fit. */
    RECORDED,
    /** It was denied, and the rule counts that too. */
    KNOCKED
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

  /** Whether a cost would fit, were so much given back. */
  boolean hasRoom(long now, long cost, long givenBack);

  /** How long until a cost fits; {@link dev.sluice.Balance#NEVER} if no wait is long enough. */
  long waitFor(long now, long cost);

  long resetAfter(long now);

  /** Counts a cost; says how much of it was too much to be recorded. */
  long add(long now, Object owner, long cost, Manner manner);

  /**
   * Undoes what an owner took, up to an amount, as far as it has not come back by itself.
   *
   * @param givenSince what others were given back since the owner took
   * @return how much of it was given back although others have taken since
   */
  long giveBack(long now, Object owner, long amount, long givenSince);

  /** Forgets everything. */
  void forget();
}
