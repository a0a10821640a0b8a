package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Durations;
import dev.sluice.Limit;
import dev.sluice.Limit.FixedWindow;
import dev.sluice.Limit.SlidingLog;
import dev.sluice.Limit.SlidingWindow;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Terms;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The state of one account: what each limit has counted, and the lock.
 *
 * <p>Immutable but for the {@link Log}, which only an account with sliding logs has.
 */
final class Books implements Page {
  /*
   * Time never runs backwards here. Books know the earliest moment that could have written them. If
   * the clock shows less, that moment stands still until the clock has caught up: nobody gets
   * anything twice.
   *
   * A clock that was far ahead and came back would shut an account for as long as it was ahead. So
   * books from further ahead than the account's memory are set aside, and the strictest books of
   * the present take their place: the account is open again within one window. When the clock comes
   * near the time of the books set aside, they return: a clock that toggles between two times
   * finds at each what it left there, or less. They return one memory early, because what was
   * counted before that moment no longer matters at theirs. What was counted in the present since
   * then does matter: then the strictest books of their time return in their place.
   */
  private final @Nullable Terms terms;
  private final @Nullable Tally[] tallies;
  private final @Nullable Log log;
  private final @Nullable Held lock;
  private final @Nullable Aside aside;

  static final Books EMPTY = new Books(null, new Tally[0], null, null, null);

  /**
   * A lock: when it began, when it ends, the how many-th in a row it is, and how long after its end
   * it is remembered.
   */
  record Held(long from, long until, long nth, long memory) {
    long left(long now) {
      return until <= now ? 0 : Math.min(until - now, until - from);
    }
  }

  /** Books of another time, and the earliest moment that could have written them. */
  private record Aside(Books books, long notBefore) {}

  private Books(
      @Nullable Terms terms,
      @Nullable Tally[] tallies,
      @Nullable Log log,
      @Nullable Held lock,
      @Nullable Aside aside) {
    this.terms = terms;
    this.tallies = tallies;
    this.log = log;
    this.lock = lock;
    this.aside = aside;
  }

  /** Books with nothing in them but what one limit has counted. */
  static Books of(Terms terms, Tally tally) {
    return new Books(terms, new Tally[] {tally}, null, null, null);
  }

  /** What the only limit has counted; null if there is anything else to tell. */
  @Nullable Tally onlyTally() {
    boolean alone = tallies.length == 1 && log == null && lock == null && aside == null;
    return alone ? tallies[0] : null;
  }

  @Override
  public Books books() {
    return this;
  }

  // Time and terms

  /** These books as they stand at a moment, under the given terms. */
  @SuppressWarnings("ReferenceEquality") // the same terms need no comparing; equal ones are rare
  Books at(Terms wanted, long now) {
    Books books = this;
    if (aside != null && now >= aside.notBefore - wanted.memoryMicros(now)) {
      Held held = later(lock, aside.books.lock);
      books =
          hasComeBack(now, wanted, true)
              ? aside.books.locked(held)
              : strictest(wanted, aside.notBefore, held, null);
    }
    long notBefore = books.terms == wanted ? books.notBefore() : books.notBeforeUnder(wanted);
    if (notBefore > now && notBefore - wanted.memoryMicros(now) > now) {
      books = books.setAside(wanted, now, notBefore);
    }
    return books.terms == wanted ? books : books.under(wanted, Math.max(now, notBefore));
  }

  /** The clock as these books see it: never before the moment that wrote them. */
  long effective(long now) {
    return Math.max(now, notBefore());
  }

  private long notBefore() {
    long moment = log == null || !hasLog(terms) ? 0 : log.notBefore();
    for (Tally tally : tallies) {
      moment = tally == null ? moment : Math.max(moment, tally.notBefore());
    }
    return moment;
  }

  /**
   * The earliest moment that could have written what other terms would find here. A bucket of
   * another rate tells only if it is in debt.
   */
  private long notBeforeUnder(Terms wanted) {
    long moment = log == null || !hasLog(wanted) ? 0 : log.notBefore();
    @Nullable Tally[] found = match(wanted);
    for (int i = 0; i < found.length; i++) {
      Tally tally = found[i];
      Limit limit = wanted.limits().get(i);
      if (tally != null && isSame(tally.limit(), limit)) {
        moment = Math.max(moment, tally.under(limit, 0).notBefore());
      } else if (tally instanceof Tally.Bucket bucket) {
        moment = Math.max(moment, bucket.indebtedAt());
      } else if (tally != null) {
        moment = Math.max(moment, tally.notBefore());
      }
    }
    return moment;
  }

  private static boolean hasLog(@Nullable Terms terms) {
    if (terms != null) {
      for (Limit limit : terms.limits()) {
        if (limit instanceof SlidingLog) {
          return true;
        }
      }
    }
    return false;
  }

  private Books setAside(Terms wanted, long now, long notBefore) {
    Held held = lock;
    if (held != null && held.from > now) {
      held = new Held(now, now + (held.until - held.from), held.nth, held.memory);
    }
    Aside farther =
        aside != null && aside.notBefore > notBefore
            ? aside
            : new Aside(new Books(terms, tallies, log, lock, null), notBefore);
    return strictest(wanted, now, held, farther);
  }

  /** Books of which nothing is left at a moment. */
  private static Books strictest(
      Terms wanted, long moment, @Nullable Held held, @Nullable Aside aside) {
    @Nullable Tally[] full = new Tally[wanted.limits().size()];
    for (int i = 0; i < full.length; i++) {
      Limit limit = wanted.limits().get(i);
      full[i] = limit instanceof SlidingLog ? null : Tally.fresh(limit).full(moment);
    }
    return new Books(wanted, full, hasLog(wanted) ? Log.fullSince(moment) : null, held, aside);
  }

  /** The same usage under other terms: a limit finds its tally, or one of its kind, or is fresh. */
  private Books under(Terms wanted, long now) {
    @Nullable Tally[] found = match(wanted);
    for (int i = 0; i < found.length; i++) {
      Limit limit = wanted.limits().get(i);
      if (!(limit instanceof SlidingLog)) {
        found[i] = found[i] == null ? Tally.fresh(limit) : found[i].under(limit, now);
      }
    }
    Log kept = log == null && hasLog(wanted) ? new Log() : log;
    return new Books(wanted, found, kept, lock, aside);
  }

  /** The tally for each limit of other terms: its own, else one of its kind, else none. */
  private @Nullable Tally[] match(Terms wanted) {
    @Nullable Tally[] found = new Tally[wanted.limits().size()];
    @Nullable Tally[] left = tallies.clone();
    pick(wanted, left, found, Books::isSame);
    pick(wanted, left, found, Books::isSameKind);
    return found;
  }

  private static void pick(
      Terms wanted,
      @Nullable Tally[] left,
      @Nullable Tally[] found,
      BiPredicate<Limit, Limit> fitting) {
    for (int i = 0; i < found.length; i++) {
      for (int j = 0; j < left.length && found[i] == null; j++) {
        Tally tally = left[j];
        if (tally != null && fitting.test(tally.limit(), wanted.limits().get(i))) {
          found[i] = tally;
          left[j] = null;
        }
      }
    }
  }

  /** Whether two limits differ in nothing but how much they allow. */
  private static boolean isSame(Limit a, Limit b) {
    if (a instanceof Limit.TokenBucket x && b instanceof Limit.TokenBucket y) {
      return x.unitsPerToken() == y.unitsPerToken() && x.unitsPerMicro() == y.unitsPerMicro();
    }
    if (a instanceof FixedWindow x && b instanceof FixedWindow y) {
      return x.cycle().equals(y.cycle());
    }
    return a instanceof SlidingWindow x
        && b instanceof SlidingWindow y
        && x.precision().equals(y.precision());
  }

  private static boolean isSameKind(Limit a, Limit b) {
    return a.getClass() == b.getClass();
  }

  boolean hasLog() {
    return log != null || (aside != null && aside.books.log != null);
  }

  /** Whether nothing here could change a decision any more. */
  boolean isSpent(long now) {
    return aside == null
        && isLockForgotten(now)
        && effective(now) == now
        && hasComeBack(now, terms, false);
  }

  /**
   * Whether everything that was counted has come back; a log is kept as long as terms matter.
   *
   * @param sparesShut whether a shut bucket, from which nothing was ever taken, counts for nothing
   */
  private boolean hasComeBack(long now, @Nullable Terms kept, boolean sparesShut) {
    for (Tally tally : tallies) {
      boolean spared = sparesShut && tally instanceof Tally.Bucket bucket && bucket.isShut();
      if (tally != null && !spared && (tally.notBefore() > now || tally.resetAfter(now) != 0)) {
        return false;
      }
    }
    return log == null || log.isIdle(now, kept == null ? 0 : kept.memoryMicros(now));
  }

  // Looking

  /** How long until a cost fits at the i-th limit, were it not for the lock. */
  long retryAfter(int i, long now, long cost) {
    Limit limit = limit(i);
    long effective = effective(now);
    long wait;
    if (limit instanceof SlidingLog logged) {
      wait = require(log).retryAfter(logged, effective, cost);
    } else {
      wait = require(tallies[i]).retryAfter(effective, cost);
    }
    return wait == 0 || wait == Balance.NEVER ? wait : wait + effective - now;
  }

  long lockLeft(long now) {
    return lock == null ? 0 : lock.left(now);
  }

  /** Whether every limit has room and there is no lock. */
  boolean fits(long now, long cost) {
    if (lockLeft(now) > 0) {
      return false;
    }
    for (int i = 0; i < tallies.length; i++) {
      if (retryAfter(i, now, cost) != 0) {
        return false;
      }
    }
    return true;
  }

  /** Whether a limit is overdrawn by a cost that would fit another time. */
  boolean overdraws(long now, long cost) {
    boolean over = false;
    for (int i = 0; i < tallies.length; i++) {
      long wait = retryAfter(i, now, cost);
      if (wait == Balance.NEVER) {
        return false;
      }
      over |= wait > 0;
    }
    return over;
  }

  /**
   * What each limit has to say.
   *
   * @param cost what has to fit, or 0 if nothing has to any more
   */
  void balances(Charge charge, long now, long cost, List<Balance> to) {
    long effective = effective(now);
    long left = lockLeft(now);
    for (int i = 0; i < tallies.length; i++) {
      Limit limit = limit(i);
      long wait = cost == 0 ? 0 : Math.max(retryAfter(i, now, cost), left);
      long remaining;
      long reset;
      if (limit instanceof SlidingLog logged) {
        remaining = require(log).remaining(logged, effective);
        reset = require(log).resetAfter(logged, effective);
      } else {
        remaining = require(tallies[i]).remaining(effective);
        reset = require(tallies[i]).resetAfter(effective);
      }
      to.add(
          new Balance(
              charge.account(),
              limit,
              charge.enforced(),
              remaining,
              wait,
              reset == 0 ? 0 : reset + effective - now,
              left == 0 ? 0 : now + left));
    }
  }

  /** What a receipt must remember of the take, at an effective time, that led to these books. */
  Receipt.Entry receipt(Charge charge, long effective) {
    List<Receipt.Mark> marks = new ArrayList<>(tallies.length);
    for (Tally tally : tallies) {
      marks.add(tally == null ? new Receipt.Mark(effective, 0) : tally.mark(effective));
    }
    return new Receipt.Entry(charge.account(), charge.terms(), charge.cost(), marks);
  }

  // Writing

  /** How a cost is counted. */
  enum Manner {
    FITTING,
    RECORDING,
    KNOCKING
  }

  Books plus(long now, long cost, Manner manner, String id) {
    long effective = effective(now);
    @Nullable Tally[] next = new Tally[tallies.length];
    for (int i = 0; i < next.length; i++) {
      Tally tally = tallies[i];
      if (tally != null) {
        next[i] =
            switch (manner) {
              case FITTING -> tally.plus(effective, cost);
              case RECORDING -> tally.recording(effective, cost);
              case KNOCKING -> tally.knocking(effective, cost);
            };
      }
    }
    Log entries = log;
    if (entries != null && hasLog(terms)) {
      entries.add(effective, cost, id, effective - longestLog(), largestLog());
    }
    return new Books(terms, next, log, lock, aside);
  }

  /** Undoes part of a take, as far as it has not come back by itself. */
  private Books minus(long now, long back, Receipt.Entry taken, String id) {
    @Nullable Tally[] next = tallies.clone();
    boolean[] done = new boolean[next.length];
    long takenAt = 0;
    for (int i = 0; i < taken.marks().size(); i++) {
      Limit limit = taken.terms().limits().get(i);
      if (limit instanceof SlidingLog) {
        takenAt = taken.marks().get(i).micros();
      }
      for (int j = 0; j < next.length; j++) {
        Tally tally = next[j];
        if (tally != null && !done[j] && isSame(tally.limit(), limit)) {
          long earliest =
              tally instanceof Tally.Bucket bucket ? bucket.indebtedAt() : tally.notBefore();
          long effective = Math.max(now, earliest);
          next[j] = tally.minus(effective, back, taken.marks().get(i));
          done[j] = true;
          break;
        }
      }
    }
    if (log != null && hasLog(taken.terms())) {
      log.remove(id, takenAt, back);
    }
    return new Books(terms, next, log, lock, aside);
  }

  /** These books locked for an overdraft, longer if that happened lately. */
  Books locking(Lock rule, long now) {
    Held before = lock;
    boolean inARow = before != null && now <= before.until + Durations.micros(rule.memory());
    long nth = inARow && before != null ? before.nth + 1 : 1;
    return locked(new Held(now, now + rule.micros(nth), nth, Durations.micros(rule.memory())));
  }

  /** These books locked by hand: not one more in a row. */
  Books lockedUntil(long now, long until) {
    return lock == null || isLockForgotten(now)
        ? locked(new Held(now, until, 0, 0))
        : locked(new Held(now, until, lock.nth, lock.memory));
  }

  /** These books after a receipt is settled: the rest given back, or more recorded. */
  Books settled(Receipt.Entry taken, String id, long actualCost, long now) {
    long back = taken.cost() - actualCost;
    if (back == 0) {
      return this;
    }
    return back > 0
        ? minus(now, back, taken, id)
        : at(taken.terms(), now).plus(now, -back, Manner.RECORDING, id + "+");
  }

  @Nullable Terms terms() {
    return terms;
  }

  Books locked(@Nullable Held held) {
    return new Books(terms, tallies, log, held, aside);
  }

  boolean isLocked(long now) {
    return lockLeft(now) > 0;
  }

  /** Whether neither a lock nor the memory of one is left. */
  boolean isLockForgotten(long now) {
    return lock == null || (!isLocked(now) && lock.until + lock.memory < now);
  }

  private static @Nullable Held later(@Nullable Held a, @Nullable Held b) {
    if (a == null || b == null) {
      return a == null ? b : a;
    }
    return a.until >= b.until ? a : b;
  }

  private Limit limit(int i) {
    return require(terms).limits().get(i);
  }

  private long longestLog() {
    long longest = 0;
    for (Limit limit : require(terms).limits()) {
      longest =
          limit instanceof SlidingLog logged ? Math.max(longest, logged.windowMicros()) : longest;
    }
    return longest;
  }

  private long largestLog() {
    long largest = 0;
    for (Limit limit : require(terms).limits()) {
      largest = limit instanceof SlidingLog logged ? Math.max(largest, logged.limit()) : largest;
    }
    return largest;
  }

  private static <T> T require(@Nullable T value) {
    if (value == null) {
      throw new IllegalStateException("books not brought under their terms");
    }
    return value;
  }
}
