package dev.sluice.history;

import dev.sluice.Balance;
import dev.sluice.Intent;
import dev.sluice.Lock;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.store.Charge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One account: its limits, its lock and its open reservations. */
final class AccountModel {
  private final Terms terms;
  private final List<LimitModel> limits;
  private long lockedFrom;
  private long lockedUntil;
  private int locksInARow;
  private long open;
  private long openUntil;
  private long given;
  private final Map<Object, Long> givenBefore = new HashMap<>();

  AccountModel(Terms terms) {
    this.terms = terms;
    this.limits = terms.limits().stream().map(LimitModel::of).toList();
  }

  private long lockLeft(long now) {
    return Math.max(0, lockedUntil - now);
  }

  private long open(long now) {
    return openUntil > now ? open : 0;
  }

  boolean fits(long now, long asked) {
    return lockLeft(now) == 0 && limits.stream().allMatch(limit -> limit.hasRoom(now, asked, 0));
  }

  private boolean hasRoomWithoutOpen(long now, long asked) {
    return limits.stream().allMatch(limit -> limit.hasRoom(now, asked, open(now)));
  }

  private boolean canEverFit(long now, long asked) {
    return limits.stream().noneMatch(limit -> limit.waitFor(now, asked) == Balance.NEVER);
  }

  /**
   * Applies the effects of a denial: a lock if a limit was exceeded, and the denied call where
   * denied calls count.
   */
  void refuse(long now, long cost) {
    long asked = Math.max(1, cost);
    if (!canEverFit(now, asked) || lockLeft(now) > 0) {
      return;
    }
    Lock lock = terms.lock();
    if (lock != null
        && !hasRoomWithoutOpen(now, asked)
        && (lock.on() == Lock.On.DENIAL || hasRoomWithoutOpen(now, 1))) {
      earnLock(lock, now);
    }
    if (terms.countDenied() && cost > 0) {
      add(now, new Object(), cost, LimitModel.Manner.COUNTED_DENIAL);
    }
  }

  private void earnLock(Lock lock, long now) {
    boolean inARow = locksInARow > 0 && now - lockedUntil <= Durations.micros(lock.memory());
    locksInARow = inARow ? locksInARow + 1 : 1;
    int nth = Math.min(locksInARow, lock.durations().size());
    lockedFrom = now;
    lockedUntil = now + Durations.micros(lock.durations().get(nth - 1));
  }

  void lockByHand(long now, Duration length) {
    if (terms.lock() == null || now - lockedUntil > Durations.micros(terms.lock().memory())) {
      locksInARow = 0;
    }
    lockedFrom = now;
    lockedUntil = now + Durations.micros(length);
  }

  boolean lift(long now, boolean keepUsage) {
    boolean was = lockLeft(now) > 0;
    lockedUntil = Math.min(lockedUntil, now);
    if (was && !keepUsage) {
      locksInARow = 0;
      forget();
    }
    return was;
  }

  private void forget() {
    limits.forEach(LimitModel::forget);
    open = 0;
  }

  /** What was counted, and whether that locked the account. */
  record Counted(List<Long> uncharged, boolean locked) {}

  /** Counts a cost; returns what each limit could not charge. */
  Counted count(long now, Object owner, long cost, Intent intent, long hold) {
    Lock lock = terms.lock();
    boolean hadRoom = hasRoomWithoutOpen(now, 1);
    boolean overdraws = !hasRoomWithoutOpen(now, cost);
    boolean mayLock = lock != null && lockLeft(now) == 0 && canEverFit(now, cost);
    givenBefore.put(owner, given);
    List<Long> uncharged =
        add(
            now,
            owner,
            cost,
            intent == Intent.RECORD ? LimitModel.Manner.RECORDED : LimitModel.Manner.TAKEN);
    if (intent == Intent.RESERVE) {
      long before = open(now);
      openUntil = before > 0 ? Math.max(openUntil, now + hold) : now + hold;
      open = before + cost;
    }
    boolean usedUp = hadRoom && !hasRoomWithoutOpen(now, 1);
    boolean locks = mayLock && (lock.on() == Lock.On.LIMIT ? usedUp : overdraws);
    if (locks) {
      earnLock(lock, now);
    }
    return new Counted(uncharged, locks);
  }

  private List<Long> add(long now, Object owner, long cost, LimitModel.Manner manner) {
    return limits.stream().map(limit -> limit.add(now, owner, cost, manner)).toList();
  }

  /** Removes the lock that began with a call. */
  void unlock(long now, long from) {
    if (lockedUntil > 0 && lockedFrom == from) {
      locksInARow = Math.max(0, locksInARow - 1);
      lockedFrom = now;
      lockedUntil = locksInARow == 0 ? 0 : now;
    }
  }

  /** Forgets what was used, and closes the call's own reservation; others stay open. */
  void forgive(long now, long cost, long heldUntil) {
    limits.forEach(LimitModel::forget);
    if (heldUntil > now) {
      open = Math.max(0, open(now) - cost);
    }
  }

  /**
   * Settles what a call took.
   *
   * @param heldUntil the end of its hold, or 0
   * @return what could not be charged
   */
  long settle(long now, Object owner, long cost, long actual, long heldUntil, boolean late) {
    Lock lock = terms.lock();
    if (!late) {
      boolean hadRoom = hasRoomWithoutOpen(now, 1);
      boolean wasOpen = heldUntil > now;
      if (wasOpen) {
        open = Math.max(0, open(now) - cost);
      }
      if (actual < cost) {
        long since = given - givenBefore.getOrDefault(owner, 0L);
        given +=
            limits.stream()
                .mapToLong(limit -> limit.giveBack(now, owner, cost - actual, since))
                .max()
                .orElse(0);
      }
      boolean usedUp = wasOpen && hadRoom && !hasRoomWithoutOpen(now, 1);
      if (lock != null && lock.on() == Lock.On.LIMIT && lockLeft(now) == 0 && usedUp) {
        earnLock(lock, now);
      }
    }
    if (actual <= cost) {
      return 0;
    }
    Counted counted = count(now, new Object(), actual - cost, Intent.RECORD, 0);
    return counted.uncharged.stream().mapToLong(Long::longValue).max().orElse(0);
  }

  /**
   * The balance at each limit.
   *
   * @param asked the cost; 0 after the call was counted
   * @param reserves whether the call would reserve: then its wait is at most that for others
   */
  List<Balance> balances(
      Charge charge, long now, long asked, boolean reserves, List<Long> uncharged) {
    List<Balance> balances = new ArrayList<>();
    for (int i = 0; i < limits.size(); i++) {
      LimitModel limit = limits.get(i);
      long wait = asked == 0 ? 0 : limit.waitFor(now, asked);
      if (reserves
          && wait != Balance.NEVER
          && open(now) > 0
          && asked > 0
          && hasRoomWithoutOpen(now, asked)) {
        wait = Math.min(wait, openUntil - now);
      }
      balances.add(
          new Balance(
              charge.account(),
              terms.limits().get(i),
              charge.enforced(),
              limit.remaining(now),
              asked == 0 ? 0 : Math.max(wait, lockLeft(now)),
              limit.resetAfter(now),
              lockLeft(now) == 0 ? 0 : lockedUntil,
              uncharged.isEmpty() ? 0 : uncharged.get(i)));
    }
    return balances;
  }
}
