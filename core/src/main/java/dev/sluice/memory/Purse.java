package dev.sluice.memory;

import dev.sluice.Limit;
import dev.sluice.Limit.TokenBucket;
import dev.sluice.Terms;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** The books of an account that has one token bucket and nothing else to tell. Thread-safe. */
sealed class Purse implements Page permits Cell {
  /*
   * Most accounts are a token bucket that was never overdrawn: one number, the moment at which the
   * bucket will be full, in the bucket's units since the epoch. It is changed in place: new books for
   * every call would be right as well, but each is several objects that the collector has to follow
   * from an old cell.
   *
   * A purse knows only how to take what fits. All else (a refusal, a lock, debt, other terms, a
   * clock that went back) is for books: the purse is closed, for good, and its books are judged.
   * Because a closed purse never opens again, a thread that was put to sleep between its look and
   * its swap cannot mistake another purse for the one it saw.
   *
   * A new account whose terms are of that kind is a full bucket: its cell is its first purse, so that
   * the commonest call finds both in one place of memory. A purse that nothing was taken from yet has
   * nothing to tell: its books are empty.
   *
   * Books become a purse only if nothing is lost: moments below 2^53 times at most 2^9 units in a
   * microsecond are below 2^62.
   */
  static final long REFUSED = -1;
  private static final long CLOSED = -2;
  private static final long MOST_UNITS_PER_MICRO = 1 << 9;
  private static final VarHandle FULL_AT;

  static {
    try {
      FULL_AT = MethodHandles.lookup().findVarHandle(Purse.class, "fullAtUnits", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final @Nullable Terms terms;
  private volatile long fullAtUnits;

  private Purse(Terms terms, long fullAtUnits) {
    this.terms = terms;
    this.fullAtUnits = fullAtUnits;
  }

  /** A purse of these terms that is full; closed at once if they are not of its kind. */
  Purse(@Nullable Terms terms) {
    boolean possible = terms != null && isPossible(terms);
    this.terms = possible ? terms : null;
    this.fullAtUnits = possible ? 0 : CLOSED;
  }

  private static boolean isPossible(Terms terms) {
    return terms.limits().size() == 1
        && terms.limits().get(0) instanceof TokenBucket bucket
        && bucket.unitsPerMicro() <= MOST_UNITS_PER_MICRO;
  }

  /** A purse of the same content as these books, or the books if no purse can hold it. */
  static Page of(Books books) {
    Terms terms = books.terms();
    if (terms != null
        && books.onlyTally() instanceof Tally.Bucket bucket
        && isPossible(terms)
        && bucket.fullAt() <= 2 * Limit.LARGEST
        && bucket.indebtedAt() == 0
        && !bucket.isShut()) {
      return new Purse(terms, bucket.fullAt() * bucket.limit().unitsPerMicro() + bucket.units());
    }
    return books;
  }

  /**
   * Takes a cost above 0 if it fits.
   *
   * @return what {@link #books(Terms, long)} needs to tell the books after it, or {@link #REFUSED}
   */
  @SuppressWarnings("ReferenceEquality") // equal terms that are not the same: the slow way is right
  long take(Terms wanted, long now, long cost) {
    if (wanted != terms || now > Limit.LARGEST) {
      return REFUSED;
    }
    TokenBucket bucket = bucket(wanted);
    if (cost > bucket.capacity()) {
      return REFUSED;
    }
    long nowUnits = now * bucket.unitsPerMicro();
    long most = nowUnits + bucket.capacityUnits();
    while (true) {
      long found = fullAtUnits;
      long next = Math.max(found, nowUnits) + cost * bucket.unitsPerToken();
      if (found == CLOSED || next > most) {
        return REFUSED;
      }
      if (FULL_AT.compareAndSet(this, found, next)) {
        return next;
      }
    }
  }

  /** Whether a look at its one number shows that the bucket is not full at a moment. */
  boolean isLackingAt(long moment) {
    return terms != null && fullAtUnits > moment * bucket(terms).unitsPerMicro();
  }

  boolean isClosed() {
    return fullAtUnits == CLOSED;
  }

  /** Takes the books out of the purse, which is of no use afterwards; null if somebody did. */
  @Nullable Books close() {
    long found = (long) FULL_AT.getAndSet(this, CLOSED);
    return content(found);
  }

  @Override
  public @Nullable Books books() {
    long found = fullAtUnits;
    return content(found);
  }

  private @Nullable Books content(long found) {
    if (found == CLOSED || terms == null) {
      return null;
    }
    return found == 0 ? Books.EMPTY : books(terms, found);
  }

  /** The books of a purse of these terms. */
  static Books books(Terms terms, long fullAtUnits) {
    TokenBucket bucket = bucket(terms);
    long perMicro = bucket.unitsPerMicro();
    return Books.of(
        terms, new Tally.Bucket(bucket, fullAtUnits / perMicro, fullAtUnits % perMicro, 0));
  }

  private static TokenBucket bucket(Terms terms) {
    return (TokenBucket) terms.limits().get(0);
  }
}
