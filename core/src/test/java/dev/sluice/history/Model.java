package dev.sluice.history;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Intent;
import dev.sluice.Plan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Every account of a history: says what a store must answer. */
final class Model {
  /** What a store must answer to a call. */
  record Answer(boolean allowed, List<Balance> balances) {}

  private static final long MINUTE = 60_000_000;

  private record Taken(Charge charge, Object owner) {}

  /** What was answered to a call with an id, and until when it is not judged again. */
  private record Seen(Object call, Answer answer, long answerEnd, long end) {}

  private final Map<Account, AccountModel> accounts = new HashMap<>();
  private final Map<Object, List<Taken>> receipts = new HashMap<>();
  private final Set<Object> settled = new HashSet<>();
  private final Map<String, Seen> ids = new HashMap<>();

  private AccountModel account(Charge charge) {
    return accounts.computeIfAbsent(charge.account(), key -> new AccountModel(charge.terms()));
  }

  /**
   * Judges a plan, or repeats what was said to its id.
   *
   * @param call names the call when it is settled
   */
  Answer take(Plan plan, Object call, long now) {
    if (plan.id() == null || plan.intent() == Intent.PEEK) {
      return judge(plan, call, now);
    }
    Seen seen = ids.get(plan.id());
    if (seen != null && now < seen.answerEnd) {
      return seen.answer;
    }
    if (seen != null && now < seen.end) {
      return standing(plan, now);
    }
    Answer answer = judge(plan, call, now);
    ids.put(
        plan.id(),
        new Seen(call, answer, now + repeated(answer), now + counted(plan, answer, now)));
    return answer;
  }

  /** For how long an answer is repeated. */
  private static long repeated(Answer answer) {
    long wait = 0;
    for (Balance balance : answer.balances) {
      wait = balance.enforced() ? Math.max(wait, balance.retryAfterMicros()) : wait;
    }
    return answer.allowed ? MINUTE : Math.min(MINUTE, wait);
  }

  /** For how long a call is not counted again; a denied one was not counted. */
  private static long counted(Plan plan, Answer answer, long now) {
    long longest = MINUTE;
    for (Charge charge : plan.charges()) {
      long memory = charge.cost() > 0 && charge.enforced() ? charge.terms().memoryMicros(now) : 0;
      longest = Math.max(longest, memory);
    }
    return answer.allowed ? longest : 0;
  }

  private Answer standing(Plan plan, long now) {
    List<Balance> balances = new ArrayList<>();
    for (Charge charge : plan.charges()) {
      balances.addAll(account(charge).balances(charge, now, 0));
    }
    return new Answer(true, balances);
  }

  /** Whether a call was counted, so that it has a receipt of its own. */
  boolean hasCounted(Object call) {
    return receipts.containsKey(call);
  }

  private Answer judge(Plan plan, Object call, long now) {
    boolean passes = true;
    Set<String> shadowed = new HashSet<>();
    for (Charge charge : plan.charges()) {
      boolean fits = account(charge).fits(now, asked(charge));
      passes &= fits || !charge.enforced();
      if (!fits && !charge.enforced()) {
        shadowed.add(charge.account().rule());
      }
    }
    return switch (plan.intent()) {
      case PEEK -> look(plan, passes, now);
      case TAKE -> passes ? count(plan, call, now, shadowed) : refuse(plan, now);
      case RECORD -> count(plan, call, now, Set.of());
    };
  }

  private static long asked(Charge charge) {
    return Math.max(1, charge.cost());
  }

  private Answer look(Plan plan, boolean passes, long now) {
    List<Balance> balances = new ArrayList<>();
    for (Charge charge : plan.charges()) {
      balances.addAll(account(charge).balances(charge, now, asked(charge)));
    }
    return new Answer(passes, balances);
  }

  private Answer refuse(Plan plan, long now) {
    List<Balance> balances = new ArrayList<>();
    for (Charge charge : plan.charges()) {
      if (charge.enforced()) {
        account(charge).refuse(now, charge.cost());
      }
      balances.addAll(account(charge).balances(charge, now, asked(charge)));
    }
    return new Answer(false, balances);
  }

  private Answer count(Plan plan, Object call, long now, Set<String> shadowed) {
    List<Balance> balances = new ArrayList<>();
    List<Taken> taken = new ArrayList<>();
    for (Charge charge : plan.charges()) {
      AccountModel account = account(charge);
      if (shadowed.contains(charge.account().rule())) {
        account.refuse(now, charge.cost());
        balances.addAll(account.balances(charge, now, asked(charge)));
        continue;
      }
      boolean records = plan.intent() == Intent.RECORD;
      if (charge.cost() > 0) {
        account.add(
            now,
            call,
            charge.cost(),
            records ? LimitModel.Manner.RECORDED : LimitModel.Manner.TAKEN);
      }
      if (!records) {
        taken.add(new Taken(charge, call));
      }
      balances.addAll(account.balances(charge, now, 0));
    }
    receipts.put(call, taken);
    return new Answer(true, balances);
  }

  boolean settle(Object call, long actual, long now) {
    List<Taken> taken = receipts.getOrDefault(call, List.of());
    if (taken.isEmpty() || !settled.add(call)) {
      return false;
    }
    for (Taken each : taken) {
      account(each.charge).settle(now, each.owner, each.charge.cost(), actual);
      if (actual == 0 && each.charge.cost() > 0) {
        ids.values().removeIf(seen -> seen.call.equals(call)); // nothing counts for it any more
      }
    }
    return true;
  }

  void lock(Charge charge, Duration length, long now) {
    account(charge).lockByHand(now, length);
  }

  boolean lift(Charge charge, long now) {
    return account(charge).lift(now);
  }

  /** Only for accounts whose receipts are never settled afterwards. */
  void reset(Charge charge) {
    accounts.remove(charge.account());
  }
}
