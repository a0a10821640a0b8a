package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.internal.WholeNumbers;

/**
 * How a kind of limit counts, with the numbers that a {@link Row} keeps for it.
 *
 * <p>A kind counts in amounts. A token is cut into units, so that any rate is exact; other kinds
 * count costs as they are. This class holds what the kinds share. Subclasses follow the order of
 * the Lua file of the same name in the Redis store.
 *
 * <p>All times are microseconds. {@code now} is never before the row was written.
 */
abstract class Kind {
  final Limit limit;

  /** The index of its first number in a row: the amount used. */
  final int at;

  /** The amount of a cost of 1. */
  final long scale;

  /** The amount of the whole limit. */
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

  /** The amount in use at a time. */
  final long used(Row row, long now) {
    return now == row.written ? row.numbers[at] : usedLater(row, now);
  }

  /** Whether a cost exceeds the limit, so that no wait makes it fit. */
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

  /** Uses up the whole limit at a time. */
  final void exhaust(Row row, long now) {
    add(row, now, most);
  }

  // What each kind implements

  /** How many numbers it keeps in a row. */
  abstract int width();

  /** Whether another limit differs only in how much it allows. */
  abstract boolean isSame(Kind other);

  /** How far below empty it can go, as an amount. */
  long debt() {
    return 0;
  }

  /** The amount in use at a time after the row was written. */
  abstract long usedLater(Row row, long now);

  /** Brings the numbers up to a time, just before the row is written. */
  abstract void advance(Row row, long now);

  /**
   * Counts an amount at the time to which the numbers were brought.
   *
   * @return the number of its {@link Receipt.Mark}
   */
  abstract long add(Row row, long now, long amount);

  /** Removes an amount, oldest first, from what is in use. */
  abstract void drop(Row row, long amount);

  /** How long until an amount is available again; the amount is positive. */
  abstract long opensAfter(Row row, long now, long amount);

  /** How long until the whole limit is available again. */
  abstract long resetAfter(Row row, long now);

  /**
   * Refunds an amount of a take, as far as it is not available again anyway.
   *
   * @return how much of the refund the marks of later takes build on, as a cost
   */
  abstract long giveBack(Row row, long now, long amount, Receipt.Entry taken, Receipt.Mark mark);

  /** Takes over the usage of another limit of the same kind with other parameters. */
  abstract void convert(Kind from, Row old, Row row, long now);
}
