package dev.sluice.memory;

import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.internal.WholeNumbers;

/**
 * Token bucket: admits at most capacity + refill · t / period in any interval of length t.
 *
 * <p>One number: the units that the bucket lacked when the row was written. It gains {@code
 * unitsPerMicro} units per microsecond until it is full. A bucket in debt lacks more than its
 * capacity.
 */
final class TokenBucket extends Kind {
  private final long unitsPerMicro;
  private final long debt;

  TokenBucket(Limit.TokenBucket limit, int at) {
    super(limit, at, limit.unitsPerToken());
    this.unitsPerMicro = limit.unitsPerMicro();
    this.debt = limit.debt() * limit.unitsPerToken();
  }

  @Override
  int width() {
    return 1;
  }

  @Override
  boolean isSame(Kind other) {
    return other instanceof TokenBucket bucket
        && bucket.scale == scale
        && bucket.unitsPerMicro == unitsPerMicro;
  }

  @Override
  long debt() {
    return debt;
  }

  @Override
  long usedLater(Row row, long now) {
    return lacking(row.numbers[at], now - row.written);
  }

  /** The units that a bucket lacks some time after it lacked {@code units}. */
  private long lacking(long units, long elapsed) {
    long gained = elapsed * unitsPerMicro;
    boolean isMore = Math.multiplyHigh(elapsed, unitsPerMicro) != 0 || gained < 0;
    return isMore || gained > units ? 0 : units - gained;
  }

  @Override
  void advance(Row row, long now) {
    row.numbers[at] = used(row, now);
  }

  @Override
  long add(Row row, long now, long amount) {
    row.numbers[at] += amount;
    return row.numbers[at];
  }

  @Override
  void drop(Row row, long amount) {
    row.numbers[at] -= amount;
  }

  @Override
  long opensAfter(Row row, long now, long amount) {
    return WholeNumbers.ceilDiv(amount, unitsPerMicro);
  }

  @Override
  long resetAfter(Row row, long now) {
    return WholeNumbers.ceilDiv(used(row, now), unitsPerMicro);
  }

  @Override
  long giveBack(Row row, long now, long amount, Receipt.Entry taken, Receipt.Mark mark) {
    // What was taken and has not refilled is the least that the bucket has lacked since the take.
    // That is at least what it lacked after the take, less refunds to others and refills since. It
    // is also at least what was taken, less refills since.
    long elapsed = Math.max(0, now - mark.micros());
    long left = lacking(without(mark.number(), row.given - taken.given()), elapsed);
    long own = lacking(taken.cost() * scale, elapsed);
    long lacks = used(row, now);
    long back = Math.min(lacks, Math.min(amount, Math.max(left, own)));
    row.numbers[at] = Math.max(0, row.numbers[at] - back);
    boolean isLastTake = lacks == left;
    return isLastTake ? 0 : WholeNumbers.ceilDiv(back, scale);
  }

  /**
   * Units less those of some tokens. A negative number of tokens means that the row was lost and
   * its counter began again.
   */
  private long without(long units, long tokens) {
    return tokens < 0 || tokens > units / scale ? 0 : units - tokens * scale;
  }

  @Override
  void convert(Kind from, Row old, Row row, long now) {
    // The number of missing tokens stays the same; a token that is partly back counts as missing.
    // For the time since the row was written, the faster of the old and new rates applies. So the
    // wait that a denial reported is long enough, although a denial writes nothing.
    long before = lacking(asTokens(from, from.used(old, old.written)), now - old.written);
    row.numbers[at] = Math.min(before, asTokens(from, from.used(old, now)));
  }

  /** What another bucket lacked, converted to tokens of this one. */
  private long asTokens(Kind from, long units) {
    return Math.min(WholeNumbers.ceilDiv(units, from.scale), (most + debt) / scale) * scale;
  }
}
