package dev.sluice.history;

import dev.sluice.Balance;
import dev.sluice.Limit;
import dev.sluice.internal.Durations;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;

/** A bucket, in parts of a token so small that a microsecond refills a whole number of them. */
final class BucketModel implements LimitModel {
  private final long capacity;
  private final long debt;
  private final BigInteger token;
  private final BigInteger perMicro;
  private BigInteger fullAt = BigInteger.ZERO;
  private final Map<Object, Taken> taken = new HashMap<>();

  /** What an owner took, when, and when the bucket would have been full after it. */
  private record Taken(long at, BigInteger parts, BigInteger fullAt) {}

  BucketModel(Limit.TokenBucket limit) {
    this.capacity = limit.capacity();
    this.debt = limit.debt();
    this.token = BigInteger.valueOf(Durations.micros(limit.period()));
    this.perMicro = BigInteger.valueOf(limit.refill());
  }

  private BigInteger at(long now) {
    return BigInteger.valueOf(now).multiply(perMicro);
  }

  private BigInteger tokens(long count) {
    return token.multiply(BigInteger.valueOf(count));
  }

  private BigInteger lacking(long now) {
    return fullAt.subtract(at(now)).max(BigInteger.ZERO);
  }

  private long microsFor(BigInteger parts) {
    return parts.add(perMicro).subtract(BigInteger.ONE).divide(perMicro).longValueExact();
  }

  @Override
  public long remaining(long now) {
    BigInteger there = tokens(capacity).subtract(lacking(now)).max(BigInteger.ZERO);
    return there.divide(token).longValueExact();
  }

  @Override
  public boolean hasRoom(long now, long cost, long givenBack) {
    BigInteger lacking = lacking(now).subtract(tokens(givenBack)).max(BigInteger.ZERO);
    return lacking.add(tokens(cost)).compareTo(tokens(capacity)) <= 0;
  }

  @Override
  public long waitFor(long now, long cost) {
    if (cost > capacity) {
      return Balance.NEVER;
    }
    BigInteger tooMuch = lacking(now).add(tokens(cost)).subtract(tokens(capacity));
    return tooMuch.signum() <= 0 ? 0 : microsFor(tooMuch);
  }

  @Override
  public long resetAfter(long now) {
    return microsFor(lacking(now));
  }

  @Override
  public long add(long now, Object owner, long cost, Manner manner) {
    BigInteger before = lacking(now);
    BigInteger wanted = before.add(tokens(cost));
    BigInteger most = tokens(manner == Manner.RECORDED ? capacity + debt : capacity);
    BigInteger after = wanted.min(before.max(most));
    fullAt = at(now).add(after);
    taken.put(owner, new Taken(now, tokens(cost), fullAt));
    return tokensOf(wanted.subtract(after));
  }

  private long tokensOf(BigInteger parts) {
    return parts.add(token).subtract(BigInteger.ONE).divide(token).longValueExact();
  }

  @Override
  public void forget() {
    fullAt = BigInteger.ZERO;
    taken.clear();
  }

  @Override
  public long giveBack(long now, Object owner, long amount, long givenSince) {
    Taken its = taken.get(owner);
    if (its == null) {
      return 0;
    }
    BigInteger left = its.fullAt.subtract(at(now)).subtract(tokens(givenSince));
    BigInteger own = its.parts.subtract(at(now).subtract(at(its.at)));
    BigInteger out = left.max(own).max(BigInteger.ZERO);
    BigInteger back = tokens(amount).min(out).min(lacking(now));
    boolean isLast = left.equals(lacking(now));
    fullAt = fullAt.subtract(back);
    return isLast ? 0 : tokensOf(back);
  }
}
