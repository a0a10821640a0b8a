package dev.sluice.memory;

import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.internal.WholeNumbers;

/**
 * Token bucket: in any interval of length t it admits at most capacity + refill · t / period.
 *
 * <p>One number: the units that the bucket lacked when the row was written. It gains {@code
 * unitsPerMicro} of them a microsecond until it lacks none. A bucket in debt lacks more than its
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

  /** What a bucket lacks some time after it lacked so much. */
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
    // The least that the bucket has lacked since the take has not come back by itself. It is at
    // least what was lacking after the take, less what was given back to others and refilled since;
    // and at least what was taken less what refilled since.
    long elapsed = Math.max(0, now - mark.micros());
    long left = lacking(without(mark.number(), row.given - taken.given()), elapsed);
    long own = lacking(taken.cost() * scale, elapsed);
    long lacks = used(row, now);
    long back = Math.min(lacks, Math.min(amount, Math.max(left, own)));
    row.numbers[at] = Math.max(0, row.numbers[at] - back);
    boolean isLastTake = lacks == left;
    return isLastTake ? 0 : WholeNumbers.ceilDiv(back, scale);
  }

  /** Units without those of so many tokens. Fewer given back than before: the row was lost. */
  private long without(long units, long tokens) {
    return tokens < 0 || tokens > units / scale ? 0 : units - tokens * scale;
  }

  @Override
  void convert(Kind from, Row old, Row row, long now) {
    // Tokens keep their number; one partly back counts as still out. Since the row was written they
    // have come back at the rate of then or at that of now, whichever is more: so the wait that a
    // denial tells is over when it says, although a denial writes nothing.
    long before = lacking(asTokens(from, from.used(old, old.written)), now - old.written);
    row.numbers[at] = Math.min(before, asTokens(from, from.used(old, now)));
  }

  /** What another bucket lacked, as tokens of this one. */
  private long asTokens(Kind from, long units) {
    return Math.min(WholeNumbers.ceilDiv(units, from.scale), (most + debt) / scale) * scale;
  }
}
