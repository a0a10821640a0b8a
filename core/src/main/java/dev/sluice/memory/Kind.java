package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.internal.WholeNumbers;

/**
 * How a kind of limit counts, on the numbers that a {@link Row} keeps for it.
 *
 * <p>A kind counts in amounts: tokens are cut into units, so that any rate is exact; other kinds
 * count costs as they are. What the kinds share stands here. Each kind says the rest, in the same
 * order as the file of the same name beside the Redis store.
 *
 * <p>All times are microseconds. {@code now} is never before the row was written.
 */
abstract class Kind {
  final Limit limit;

  /** Where its numbers begin in a row; the first of them is the amount used. */
  final int at;

  /** The amount of a cost of 1. */
  final long scale;

  /** The amount that can be used. */
  final long most;

  Kind(Limit limit, int at, long scale) {
    this.limit = limit;
    this.at = at;
    this.scale = scale;
    this.most = limit.quota() * scale;
  }

  static Kind of(Limit limit, int at) {
    if (limit instanceof Limit.TokenBucket bucket) {
      return new TokenBucket(bucket, at);
    }
    if (limit instanceof Limit.FixedWindow window) {
      return new FixedWindow(window, at);
    }
    if (limit instanceof Limit.SlidingWindow window) {
      return new SlidingWindow(window, at);
    }
    return new SlidingLog((Limit.SlidingLog) limit, at);
  }

  // What the kinds share

  /** The amount that counts at a moment. */
  final long used(Row row, long now) {
    return now == row.written ? row.numbers[at] : usedLater(row, now);
  }

  /** Whether no wait will make a cost fit. */
  final boolean neverFits(long cost) {
    return cost > limit.quota();
  }

  final boolean fits(long used, long cost) {
    return !neverFits(cost) && used + cost * scale <= most;
  }

  final long remaining(long used) {
    return Math.max(0, most - used) / scale;
  }

  /** 0 if a cost fits; else how long until it does, or {@link Balance#NEVER}. */
  final long retryAfter(Row row, long now, long used, long cost) {
    if (neverFits(cost)) {
      return Balance.NEVER;
    }
    long over = used + cost * scale - most;
    return over <= 0 ? 0 : opensAfter(row, now, over);
  }

  /**
   * Counts a cost that need not fit.
   *
   * @param intoDebt whether a bucket may go below empty
   * @return what could not be charged
   */
  final long record(Row row, long now, long cost, boolean intoDebt) {
    long used = row.numbers[at];
    long ceiling = Math.max(used, intoDebt ? most + debt() : most);
    long counted = Math.min(cost, ceiling / scale + 1);
    long excess = Math.max(0, used + counted * scale - ceiling);
    add(row, now, counted * scale);
    if (excess > 0) {
      drop(row, excess);
    }
    return cost - counted + WholeNumbers.ceilDiv(excess, scale);
  }

  /** Has nothing left at a moment, whatever it was. */
  final void exhaust(Row row, long now) {
    add(row, now, most);
  }

  // What each kind says

  /** How many numbers of a row it has. */
  abstract int width();

  /** Whether another limit differs in nothing but how much it allows. */
  abstract boolean isSame(Kind other);

  /** How far below empty it can get, as an amount. */
  long debt() {
    return 0;
  }

  /** The amount that counts at a moment after the row was written. */
  abstract long usedLater(Row row, long now);

  /** Brings the numbers to a moment, at which the row is about to be written. */
  abstract void advance(Row row, long now);

  /**
   * Counts an amount at the moment to which the numbers were brought.
   *
   * @return the number of its {@link Receipt.Mark}
   */
  abstract long add(Row row, long now, long amount);

  /** Takes away the oldest so much of what counts. */
  abstract void drop(Row row, long amount);

  /** How long until so much of what is used has come back; a positive amount. */
  abstract long opensAfter(Row row, long now, long amount);

  /** How long until everything has come back. */
  abstract long resetAfter(Row row, long now);

  /**
   * Undoes so much of a take, as far as it has not come back by itself.
   *
   * @return how much of it the marks of later takes still count on, as a cost
   */
  abstract long giveBack(Row row, long now, long amount, Receipt.Entry taken, Receipt.Mark mark);

  /** Takes over what another limit of the same kind, but other parameters, counts in a row. */
  abstract void convert(Kind from, Row old, Row row, long now);
}
