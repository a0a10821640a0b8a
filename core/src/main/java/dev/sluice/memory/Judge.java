package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Lock;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.Verdict;
import org.jspecify.annotations.Nullable;

/**
 * Decides plans: either all charges of a plan are taken, or no row changes. The same steps as in
 * judge.lua of the Redis store. The caller must hold the monitors of all rows.
 */
final class Judge {
  private final Plan plan;
  private final long now;
  private final Case first;

  /** The result, as {@link Verdict} reads it. */
  private final long[] numbers;

  /** One charge of a plan and the row of its account. */
  static final class Case {
    private final Charge charge;
    private final Row row;
    private final @Nullable Case next;
    private final long time;
    private final long asked;
    private final boolean fits;
    private final boolean neverFits;
    private Row state;

    Case(Charge charge, Row row, Form form, long now, @Nullable Case next) {
      this.charge = charge;
      this.row = row;
      this.next = next;
      this.state = row.at(form, now);
      this.time = state.time(now);
      this.asked = Math.max(1, charge.cost());
      boolean hasRoom = true;
      boolean never = false;
      for (Kind kind : form.kinds) {
        hasRoom &= kind.fits(kind.used(state, time), asked);
        never |= kind.neverFits(asked);
      }
      this.fits = hasRoom && !state.isLocked(now);
      this.neverFits = never;
    }

    /** The row itself, brought up to date, to be changed. */
    Row writable(long now) {
      if (state != row) {
        row.become(state);
        state = row;
      }
      row.forgetClosed(now);
      return row;
    }
  }

  private Judge(Plan plan, Case first, long now) {
    this.plan = plan;
    this.now = now;
    this.first = first;
    this.numbers = new long[Verdict.size(plan)];
  }

  /** The numbers of a plan's {@link Verdict}. */
  static long[] judge(Plan plan, Case first, long now) {
    Judge judge = new Judge(plan, first, now);
    return switch (plan.intent()) {
      case PEEK -> judge.report(judge.allFit(), true, false);
      case RECORD -> judge.record();
      case TAKE, RESERVE -> judge.take();
    };
  }

  /**
   * Takes a single charge if it only needs to be counted; null if there is more to do. Nearly every
   * call takes this path, so it makes nothing but the decision.
   */
  static @Nullable Decision takeAlone(Charge charge, Row row, long now) {
    Terms terms = charge.terms();
    long cost = charge.cost();
    Lock rule = terms.lock();
    boolean mayLock = row.lock != null || (rule != null && rule.on() != Lock.On.DENIAL);
    if (mayLock || cost == 0 || row.written > now || !row.form.isOf(terms)) {
      return null;
    }
    Kind[] kinds = row.form.kinds;
    for (Kind kind : kinds) {
      if (!kind.fits(kind.used(row, now), cost)) {
        return null;
      }
    }
    row.forgetClosed(now);
    row.advance(now);
    if (kinds.length == 1) {
      Kind kind = kinds[0];
      long mark = kind.add(row, now, cost * kind.scale);
      long remaining = kind.remaining(row.numbers[kind.at]);
      return Verdict.taken(charge, now, row.given, remaining, kind.resetAfter(row, now), mark);
    }
    long[] numbers = new long[Verdict.HEAD + Verdict.OF_CHARGE + Verdict.OF_LIMIT * kinds.length];
    numbers[0] = 1;
    numbers[1] = now;
    numbers[Verdict.HEAD] = Verdict.TAKEN;
    numbers[Verdict.HEAD + 2] = now;
    numbers[Verdict.HEAD + Verdict.GIVEN] = row.given;
    int at = Verdict.HEAD + Verdict.OF_CHARGE;
    for (Kind kind : kinds) {
      numbers[at + Verdict.MARK] = kind.add(row, now, cost * kind.scale);
      numbers[at] = kind.remaining(row.numbers[kind.at]);
      numbers[at + 2] = kind.resetAfter(row, now);
      at += Verdict.OF_LIMIT;
    }
    return Verdict.taken(charge, numbers);
  }

  /** Repeats the first verdict on a call that was sent again, with the current balances. */
  static long[] stand(Plan plan, boolean allowed, Case first, long now) {
    return new Judge(plan, first, now).report(allowed, !allowed, false);
  }

  private boolean allFit() {
    for (Case each = first; each != null; each = each.next) {
      if (!each.fits && each.charge.enforced()) {
        return false;
      }
    }
    return true;
  }

  private long[] record() {
    int at = Verdict.HEAD;
    for (Case each = first; each != null; each = each.next) {
      count(each, at);
      at += size(each);
    }
    return report(true, false, false);
  }

  private long[] take() {
    boolean allowed = allFit();
    int at = Verdict.HEAD;
    for (Case each = first; each != null; each = each.next) {
      if (allowed && !isRefusedInShadow(each)) {
        count(each, at);
        numbers[at] |= Verdict.TAKEN;
      } else if (allowed || each.charge.enforced()) {
        refuse(each);
      }
      at += size(each);
    }
    return report(allowed, !allowed, true);
  }

  /** How many numbers a charge has. */
  private static int size(Case one) {
    return Verdict.OF_CHARGE + Verdict.OF_LIMIT * one.state.form.kinds.length;
  }

  /** Whether a rule in shadow mode denies a charge. Then it counts none of its charges. */
  private boolean isRefusedInShadow(Case one) {
    if (one.charge.enforced()) {
      return false;
    }
    for (Case each = first; each != null; each = each.next) {
      if (!each.fits && each.charge.rule().name().equals(one.charge.rule().name())) {
        return true;
      }
    }
    return false;
  }

  /**
   * Applies the effects of a denial: a lock if a limit was exceeded, and the denied call where
   * denied calls count.
   */
  private void refuse(Case one) {
    Terms terms = one.charge.terms();
    if (one.row.isAhead(one.state.form, now)) {
      one.writable(now); // otherwise every call would use it up again
    }
    Row row = one.state;
    if (one.neverFits || row.isLocked(now)) {
      return;
    }
    Lock rule = terms.lock();
    if (rule != null
        && !row.fitsWithoutOpen(now, one.asked)
        && (rule.on() == Lock.On.DENIAL || row.fitsWithoutOpen(now, 1))) {
      one.writable(now).lock(rule, now);
    }
    if (terms.countDenied() && one.charge.cost() > 0) {
      Row written = one.writable(now);
      written.advance(one.time);
      for (Kind kind : written.form.kinds) {
        kind.record(written, one.time, one.charge.cost(), false);
      }
    }
  }

  private void count(Case one, int at) {
    long cost = one.charge.cost();
    if (cost > 0) {
      Row row = one.writable(now);
      count(row, one.charge.terms(), plan.intent(), cost, now, numbers, at);
      if (plan.intent() == Intent.RESERVE) {
        row.reserve(cost, now, now + Durations.micros(plan.hold()));
      }
    }
  }

  /**
   * Counts a cost, and locks the account if the cost leads to a lock.
   *
   * @param numbers receives the part of the {@link Verdict} for this charge
   * @param at where that part begins
   */
  static void count(
      Row row, Terms terms, Intent intent, long cost, long now, long[] numbers, int at) {
    long time = row.time(now);
    Kind[] kinds = row.form.kinds;
    Lock rule = terms.lock();
    // An open reservation uses up no limit.
    boolean mayLock = rule != null && intent != Intent.RESERVE && !row.isLocked(now);
    boolean hadRoom = mayLock && row.fitsWithoutOpen(now, 1);
    boolean overdraws = mayLock && !row.fitsWithoutOpen(now, cost);
    row.advance(time);
    int limitAt = at + Verdict.OF_CHARGE;
    for (Kind kind : kinds) {
      mayLock &= !kind.neverFits(cost);
      if (intent == Intent.RECORD) {
        numbers[limitAt + Verdict.UNCHARGED] = kind.record(row, time, cost, true);
      } else {
        numbers[limitAt + Verdict.MARK] = kind.add(row, time, cost * kind.scale);
      }
      limitAt += Verdict.OF_LIMIT;
    }
    if (rule == null || !mayLock) {
      return;
    }
    if (rule.on() == Lock.On.DENIAL ? overdraws : hadRoom && !row.fitsWithoutOpen(now, 1)) {
      row.lock(rule, now);
      numbers[at] |= Verdict.LOCKED;
    }
  }

  /**
   * Fills in the numbers of all charges.
   *
   * @param asks whether the charges are still to be taken
   * @param takes whether all charges that fit were taken, except those that a rule in shadow mode
   *     denies
   */
  private long[] report(boolean allowed, boolean asks, boolean takes) {
    numbers[0] = allowed ? 1 : 0;
    numbers[1] = now;
    int at = Verdict.HEAD;
    for (Case each = first; each != null; each = each.next) {
      report(each, asks || (takes && isRefusedInShadow(each)), at);
      at += size(each);
    }
    return numbers;
  }

  /** The balances of an account for a charge, or after it if it was counted. */
  private void report(Case one, boolean asks, int start) {
    Row row = one.state;
    long left = row.lockLeft(now);
    long time = row.time(now);
    numbers[start + 1] = left == 0 ? 0 : now + left;
    numbers[start + 2] = time;
    numbers[start + Verdict.GIVEN] = row.given;
    int at = start + Verdict.OF_CHARGE;
    for (Kind kind : row.form.kinds) {
      long used = kind.used(row, time);
      long reset = kind.resetAfter(row, time);
      numbers[at] = kind.remaining(used);
      numbers[at + 1] = asks ? wait(one, row, kind, used) : 0;
      numbers[at + 2] = reset == 0 ? 0 : reset + time - now;
      at += Verdict.OF_LIMIT;
    }
  }

  private long wait(Case one, Row row, Kind kind, long used) {
    long time = row.time(now);
    long own = kind.retryAfter(row, time, used, one.asked);
    if (own == Balance.NEVER) {
      return -1;
    }
    long wait = own == 0 ? 0 : own + time - now;
    boolean othersAreOpen = plan.intent() == Intent.RESERVE && wait > 0 && row.open(now) > 0;
    if (othersAreOpen && row.fitsWithoutOpen(now, one.asked)) {
      wait = Math.min(wait, row.openUntil - now);
    }
    return Math.max(wait, row.lockLeft(now));
  }
}
