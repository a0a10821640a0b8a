package dev.sluice.history;

import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Durations;
import dev.sluice.Lock;
import dev.sluice.Terms;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** One account: all its limits and its lock. */
final class AccountModel {
  private final Terms terms;
  private final List<LimitModel> limits;
  private long lockedUntil;
  private int locksInARow;

  AccountModel(Terms terms) {
    this.terms = terms;
    this.limits = terms.limits().stream().map(LimitModel::of).toList();
  }

  private long lockLeft(long now) {
    return Math.max(0, lockedUntil - now);
  }

  boolean fits(long now, long asked) {
    return lockLeft(now) == 0 && hasRoom(now, asked);
  }

  private boolean hasRoom(long now, long asked) {
    return limits.stream().allMatch(limit -> limit.waitFor(now, asked) == 0);
  }

  private boolean canEverFit(long now, long asked) {
    return limits.stream().noneMatch(limit -> limit.waitFor(now, asked) == Balance.NEVER);
  }

  /** What a refusal leaves behind: a lock for who overdrew, and the knock where knocks count. */
  void refuse(long now, long cost) {
    long asked = Math.max(1, cost);
    if (!canEverFit(now, asked)) {
      return;
    }
    if (terms.lock() != null && lockLeft(now) == 0 && !hasRoom(now, asked)) {
      earnLock(terms.lock(), now);
    }
    if (terms.countDenied() && cost > 0) {
      add(now, new Object(), cost, LimitModel.Manner.KNOCKED);
    }
  }

  private void earnLock(Lock lock, long now) {
    boolean inARow = locksInARow > 0 && now - lockedUntil <= Durations.micros(lock.memory());
    locksInARow = inARow ? locksInARow + 1 : 1;
    int nth = Math.min(locksInARow, lock.durations().size());
    lockedUntil = now + Durations.micros(lock.durations().get(nth - 1));
  }

  void lockByHand(long now, Duration length) {
    lockedUntil = now + Durations.micros(length);
    locksInARow = 0;
  }

  boolean lift(long now) {
    boolean was = lockLeft(now) > 0;
    lockedUntil = 0;
    locksInARow = 0;
    return was;
  }

  void add(long now, Object owner, long cost, LimitModel.Manner manner) {
    limits.forEach(limit -> limit.add(now, owner, cost, manner));
  }

  void settle(long now, Object owner, long cost, long actual) {
    if (actual > cost) {
      add(now, new Object(), actual - cost, LimitModel.Manner.RECORDED);
    } else {
      limits.forEach(limit -> limit.giveBack(now, owner, cost - actual));
    }
  }

  /**
   * What each limit has to say.
   *
   * @param asked 0 after the call was counted
   */
  List<Balance> balances(Charge charge, long now, long asked) {
    List<Balance> balances = new ArrayList<>();
    for (int i = 0; i < limits.size(); i++) {
      LimitModel limit = limits.get(i);
      long wait = asked == 0 ? 0 : Math.max(limit.waitFor(now, asked), lockLeft(now));
      balances.add(
          new Balance(
              charge.account(),
              terms.limits().get(i),
              charge.enforced(),
              limit.remaining(now),
              wait,
              limit.resetAfter(now),
              lockLeft(now) == 0 ? 0 : lockedUntil));
    }
    return balances;
  }
}
