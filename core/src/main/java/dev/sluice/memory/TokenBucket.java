package dev.sluice.memory;

import dev.sluice.Limit;
import dev.sluice.Receipt;

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
    return ceilDiv(amount, unitsPerMicro);
  }

  @Override
  long resetAfter(Row row, long now) {
    return ceilDiv(used(row, now), unitsPerMicro);
  }

  @Override
  void giveBack(Row row, long now, long amount, Receipt.Mark mark) {
    // What the take left lacking has refilled since, as far as it has.
    long coming = lacking(mark.number(), Math.max(0, now - mark.micros()));
    row.numbers[at] = Math.max(0, row.numbers[at] - Math.min(amount, coming));
  }

  @Override
  void convert(Kind from, Row old, Row row, long now) {
    // Tokens keep their number, not their time. A token partly back counts as still out.
    long out = ceilDiv(from.used(old, now), from.scale);
    row.numbers[at] = Math.min(out, (most + debt) / scale) * scale;
  }
}
