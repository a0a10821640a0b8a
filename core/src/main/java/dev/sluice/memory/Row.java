package dev.sluice.memory;

import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.internal.Durations;
import org.jspecify.annotations.Nullable;

/**
 * The state of one account: what each limit has counted, the lock, and what is still open. Whoever
 * uses it holds its monitor.
 */
final class Row {
  /*
   * A row knows when it was written, and all of its numbers are as of that moment. If the clock shows
   * less, the account's time stands still until the clock has caught up. A row from further ahead
   * than its limits remember is replaced by one that is used up now.
   */
  private static final long[] NO_NUMBERS = new long[0];

  Form form = Form.NONE;
  long written;
  long[] numbers = NO_NUMBERS;
  private @Nullable Numbers queues;

  /** The lock, or the memory of one. */
  @Nullable Held lock;

  /** What reservations have taken whose fate is open, and until when at the latest. */
  long open;

  long openUntil;

  /** When it was made, or usage last forgotten: what was taken before cannot be given back. */
  long forgotten;

  /** What was given back to calls after which others had taken: their marks count on it. */
  long given;

  /** Whether it is out of use: the account has another row, or none. */
  boolean retired;

  /** Whether it is in the list of locks. */
  boolean listed;

  /** How often it was found again lately, at most 3; not exact, since races do no harm. */
  private byte chances;

  /**
   * A lock: when it began, when it ends, the how many-th in a row it is, how long after its end it
   * is remembered, and why it is there.
   */
  record Held(long from, long until, long nth, long memory, String reason) {
    Held between(long newFrom, long newUntil) {
      return new Held(newFrom, newUntil, nth, memory, reason);
    }
  }

  /** A row that has counted nothing, under a form. */
  static Row of(Form form, long now) {
    Row row = new Row();
    row.form = form;
    row.numbers = new long[form.width];
    row.forgotten = now;
    return row;
  }

  /** The numbers beside a kind's own. */
  Numbers queue(int at) {
    for (Numbers each = queues; each != null; each = each.next) {
      if (each.owner == at) {
        return each;
      }
    }
    queues = new Numbers(at, queues);
    return queues;
  }

  /** Empties what is beside a kind's own numbers. */
  void clear(int at) {
    for (Numbers each = queues; each != null; each = each.next) {
      if (each.owner == at) {
        each.removeFirst(each.size());
      }
    }
  }

  // Time and terms

  /** This row at a moment and under a form: itself, or one to take its place when it is written. */
  Row at(Form wanted, long now) {
    if (isAhead(wanted, now)) {
      return exhausted(wanted, now);
    }
    if (form == wanted) {
      return this;
    }
    return wanted.reads(form) ? reread(wanted) : converted(wanted, Math.max(now, written));
  }

  /** Whether it was written further ahead than its limits remember. */
  boolean isAhead(Form wanted, long now) {
    return written > now && written - now > wanted.terms().horizonMicros(now);
  }

  /** The clock as this row sees it. */
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
      row.lock = lock.between(now, now + lock.until - lock.from);
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

  /** Takes the place of what is here; the other row is of no use any more. */
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

  /** Brings all numbers to a moment, so that the row can be written at it. */
  void advance(long now) {
    for (Kind kind : form.kinds) {
      kind.advance(this, now);
    }
    written = now;
  }

  /** Forgets what was used. What others have open stays so, until they settle it. */
  void forgetUsage(long now) {
    numbers = new long[numbers.length];
    queues = null;
    written = 0; // nothing is used, so time need not stand still
    forgotten = now;
  }

  // What is open

  /** What reservations hold whose fate is open at a moment. */
  long open(long now) {
    return openUntil > now ? open : 0;
  }

  /** Forgets reservations whose hold is over, before the row is changed. */
  void forgetClosed(long now) {
    if (openUntil <= now) {
      open = 0;
      openUntil = 0;
    }
    if (!isUsed()) {
      forgotten = now; // what was taken before has come back
    }
  }

  void reserve(long cost, long now, long until) {
    long before = open(now);
    open = before + cost;
    openUntil = before == 0 ? until : Math.max(until, openUntil);
  }

  /** Closes a reservation, unless its hold is over. */
  void close(long cost, long now, long until) {
    if (until > now) {
      open = Math.max(0, open(now) - cost);
    }
  }

  /** Whether every limit has room for a cost, were everything open given back. */
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

  /** Whether neither a lock nor the memory of one is left. */
  boolean isLockForgotten(long now) {
    return lock == null || (!isLocked(now) && lock.until + lock.memory < now);
  }

  /** Locks for what a call has done, longer if that happened lately. */
  void lock(Lock rule, long now) {
    Held before = lock;
    boolean inARow = before != null && now <= before.until + Durations.micros(rule.memory());
    long nth = inARow && before != null ? before.nth + 1 : 1;
    long memory = Durations.micros(rule.memory());
    lock = new Held(now, now + rule.micros(nth), nth, memory, form.terms().toString());
  }

  /** Locks by hand: not one more in a row. */
  void lockUntil(long until, long now, String reason) {
    forgetClosed(now);
    lock =
        lock == null || isLockForgotten(now)
            ? new Held(now, until, 0, 0, reason)
            : new Held(now, until, lock.nth, lock.memory, reason);
  }

  /** Ends the lock now, but remembers that there was one. */
  void endLock(long now) {
    if (lock != null && lock.until > now) {
      forgetClosed(now);
      lock = lock.between(Math.min(lock.from, now), now);
    }
  }

  /** Takes back the lock that began at a moment, as if it had never been. */
  void unlock(long from, long now) {
    Held held = lock;
    if (held != null && held.from == from) {
      lock = held.nth <= 1 ? null : new Held(now, now, held.nth - 1, held.memory, held.reason);
    }
  }

  // The end

  /** Whether nothing here could change a decision any more. */
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

  /** Whether it was made for a call that has counted nothing. */
  boolean isUnused() {
    return written == 0 && lock == null && openUntil == 0;
  }

  /** Undoes part of a take, as far as it has not come back by itself. */
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
      written = 0; // there is nothing that the clock could bring back too early
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

  // For the hand that drops rows

  void touch() {
    if (chances < 3) {
      chances++;
    }
  }

  /** Whether nobody came back lately; uses up a chance. */
  boolean isOutOfChances() {
    if (chances > 0) {
      chances--;
      return false;
    }
    return true;
  }
}
