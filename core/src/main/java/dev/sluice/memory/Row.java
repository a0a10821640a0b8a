package dev.sluice.memory;

import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.internal.Durations;
import org.jspecify.annotations.Nullable;

/**
 * The state of one account: the usage of each limit, the lock, and open reservations. Its users
 * must hold its monitor.
 */
final class Row {
  /*
   * All numbers of a row are as of the time at which it was written. If the clock shows an earlier
   * time, the time of the account stands still until the clock has caught up. A row from further in
   * the future than its limits remember is replaced by one that is used up now.
   */
  private static final long[] NO_NUMBERS = new long[0];

  Form form = Form.NONE;
  long written;
  long[] numbers = NO_NUMBERS;
  private @Nullable Numbers queues;

  /** The lock, or a lock that has ended and still lengthens the next one. */
  @Nullable Held lock;

  /** The cost of open reservations, and when the last of them ends. */
  long open;

  long openUntil;

  /** When the row was made or its usage last forgotten. Earlier takes cannot be refunded. */
  long forgotten;

  /**
   * The total refunded to calls that other takes followed; the marks of those takes depend on it.
   */
  long given;

  /** Whether the row was removed: the account has another row, or none. */
  boolean retired;

  /** Whether it is in the list of locks. */
  boolean listed;

  /** How often the account came back lately, at most 3. Not exact: races do no harm. */
  private byte chances;

  /**
   * A lock.
   *
   * @param since since when the account is locked: the begin of the first of several locks that
   *     follow each other without a gap
   * @param from when this lock began
   * @param until when it ends
   * @param nth its position in the row of locks
   * @param memory for how long after its end it still counts towards the next
   * @param reason why the account is locked
   */
  record Held(long since, long from, long until, long nth, long memory, String reason) {
    Held between(long newSince, long newFrom, long newUntil) {
      return new Held(newSince, newFrom, newUntil, nth, memory, reason);
    }
  }

  /** An empty row of a form. */
  static Row of(Form form, long now) {
    Row row = new Row();
    row.form = form;
    row.numbers = new long[form.width];
    row.forgotten = now;
    return row;
  }

  /** The queue of a kind, beside its fixed numbers. */
  Numbers queue(int at) {
    for (Numbers each = queues; each != null; each = each.next) {
      if (each.owner == at) {
        return each;
      }
    }
    queues = new Numbers(at, queues);
    return queues;
  }

  /** Empties the queue of a kind. */
  void clear(int at) {
    for (Numbers each = queues; each != null; each = each.next) {
      if (each.owner == at) {
        each.removeFirst(each.size());
      }
    }
  }

  // Time and terms

  /** This row at a time and in a form: itself, or a row that replaces it once it is written. */
  Row at(Form wanted, long now) {
    if (isAhead(wanted, now)) {
      return exhausted(wanted, now);
    }
    if (form == wanted) {
      return this;
    }
    return wanted.reads(form) ? reread(wanted) : converted(wanted, Math.max(now, written));
  }

  /** Whether it was written further in the future than its limits remember. */
  boolean isAhead(Form wanted, long now) {
    return written > now && written - now > wanted.terms().horizonMicros(now);
  }

  /** The time of the account: never before the row was written. */
  long time(long now) {
    return Math.max(now, written);
  }

  private Row empty(Form wanted, long moment) {
    Row row = new Row();
    row.form = wanted;
    row.written = moment;
    row.numbers = new long[wanted.width];
    row.lock = lock;
    row.open = open;
    row.openUntil = openUntil;
    row.forgotten = forgotten;
    row.given = given;
    return row;
  }

  private Row exhausted(Form wanted, long now) {
    Row row = empty(wanted, now);
    for (Kind kind : wanted.kinds) {
      kind.exhaust(row, now);
    }
    row.open = 0;
    row.forgotten = now;
    if (lock != null && lock.from > now) {
      row.lock = lock.between(Math.min(lock.since, now), now, now + lock.until - lock.from);
    }
    return row;
  }

  private Row reread(Form wanted) {
    Row row = empty(wanted, written);
    row.numbers = numbers;
    row.queues = queues;
    return row;
  }

  private Row converted(Form wanted, long now) {
    Row row = empty(wanted, now);
    int[] places = wanted.match(form);
    for (int i = 0; i < places.length; i++) {
      if (places[i] >= 0) {
        wanted.kinds[i].convert(form.kinds[places[i]], this, row, now);
      }
    }
    return row;
  }

  /** Takes over the state of another row, which must not be used afterwards. */
  void become(Row other) {
    form = other.form;
    written = other.written;
    numbers = other.numbers;
    queues = other.queues;
    lock = other.lock;
    open = other.open;
    openUntil = other.openUntil;
    forgotten = other.forgotten;
    given = other.given;
  }

  /** Brings all numbers up to a time, just before the row is written. */
  void advance(long now) {
    for (Kind kind : form.kinds) {
      kind.advance(this, now);
    }
    written = now;
  }

  /** Forgets the usage. Open reservations stay open until they are settled. */
  void forgetUsage(long now) {
    numbers = new long[numbers.length];
    queues = null;
    written = 0; // nothing is used, so the time of the account need not stand still
    forgotten = now;
  }

  // Open reservations

  /** The cost of the reservations that are open at a time. */
  long open(long now) {
    return openUntil > now ? open : 0;
  }

  /** Forgets reservations that have ended, before the row is changed. */
  void forgetClosed(long now) {
    if (openUntil <= now) {
      open = 0;
      openUntil = 0;
    }
    if (!isUsed()) {
      forgotten = now; // all that was taken before is available again
    }
  }

  void reserve(long cost, long now, long until) {
    long before = open(now);
    open = before + cost;
    openUntil = before == 0 ? until : Math.max(until, openUntil);
  }

  /** Closes a reservation, unless it has ended. */
  void close(long cost, long now, long until) {
    if (until > now) {
      open = Math.max(0, open(now) - cost);
    }
  }

  /** Whether a cost would fit every limit if all open reservations were refunded. */
  boolean fitsWithoutOpen(long now, long cost) {
    long time = time(now);
    for (Kind kind : form.kinds) {
      long used = kind.used(this, time);
      if (!kind.fits(used - Math.min(used, open(now) * kind.scale), cost)) {
        return false;
      }
    }
    return true;
  }

  // The lock

  long lockLeft(long now) {
    Held held = lock;
    return held == null || held.until <= now
        ? 0
        : Math.min(held.until - now, held.until - held.from);
  }

  boolean isLocked(long now) {
    return lockLeft(now) > 0;
  }

  /** Whether there is no lock, and no earlier lock that lengthens the next one. */
  boolean isLockForgotten(long now) {
    return lock == null || (!isLocked(now) && lock.until + lock.memory < now);
  }

  /** Locks the account by the rule; longer if it was locked lately. */
  void lock(Lock rule, long now) {
    Held before = lock;
    boolean inARow = before != null && now <= before.until + Durations.micros(rule.memory());
    long nth = inARow && before != null ? before.nth + 1 : 1;
    long memory = Durations.micros(rule.memory());
    lock = new Held(now, now, now + rule.micros(nth), nth, memory, form.terms().lockReason());
  }

  /**
   * Locks by hand. Such a lock does not lengthen the next one. An account that is locked stays
   * locked since the same time.
   */
  Held lockUntil(long until, long now, String reason) {
    forgetClosed(now);
    long since = lock != null && isLocked(now) ? Math.min(lock.since, now) : now;
    lock =
        lock == null || isLockForgotten(now)
            ? new Held(since, now, until, 0, 0, reason)
            : new Held(since, now, until, lock.nth, lock.memory, reason);
    return lock;
  }

  /** Ends the lock now, but it still lengthens the next one. */
  void endLock(long now) {
    if (lock != null && lock.until > now) {
      forgetClosed(now);
      long from = Math.min(lock.from, now);
      lock = lock.between(from, from, now);
    }
  }

  /** Removes the lock that began at a time, as if it had never been. */
  void unlock(long from, long now) {
    Held held = lock;
    if (held != null && held.from == from) {
      lock = held.nth <= 1 ? null : new Held(now, now, now, held.nth - 1, held.memory, held.reason);
    }
  }

  // The end

  /** Whether the row can no longer affect any decision. */
  boolean isSpent(long now) {
    if (!isLockForgotten(now) || written > now || open(now) > 0) {
      return false;
    }
    for (Kind kind : form.kinds) {
      if (kind.used(this, now) != 0) {
        return false;
      }
    }
    return true;
  }

  /** Whether the row was made for a call that has counted nothing yet. */
  boolean isUnused() {
    return written == 0 && lock == null && openUntil == 0;
  }

  /** Refunds part of a take, as far as it is not available again anyway. */
  void giveBack(Form taken, Receipt.Entry entry, long back, long now) {
    long time = time(now);
    int[] places = taken.match(form);
    long countedOn = 0;
    for (int i = 0; i < places.length; i++) {
      Receipt.Mark mark = entry.marks().get(i);
      boolean same = places[i] >= 0 && taken.kinds[i].isSame(form.kinds[places[i]]);
      if (same && mark.micros() >= forgotten && mark.micros() <= time) {
        Kind kind = form.kinds[places[i]];
        countedOn = Math.max(countedOn, kind.giveBack(this, time, back * kind.scale, entry, mark));
      }
    }
    given += countedOn;
    if (!isUsed()) {
      written = 0; // nothing is used, so the time of the account need not stand still
    }
  }

  private boolean isUsed() {
    for (Kind kind : form.kinds) {
      if (numbers[kind.at] != 0) {
        return true;
      }
    }
    return false;
  }

  // For the hand of the vault

  void touch() {
    if (chances < 3) {
      chances++;
    }
  }

  /** Whether the account has not come back lately; uses up a chance. */
  boolean isOutOfChances() {
    if (chances > 0) {
      chances--;
      return false;
    }
    return true;
  }
}
