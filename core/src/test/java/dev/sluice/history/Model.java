package dev.sluice.history;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Intent;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.Durations;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/** Every account of a history: says what a store must answer. */
final class Model {
  /** What a store must answer to a call. */
  record Answer(boolean allowed, List<Balance> balances) {}

  private static final long MINUTE = 60_000_000;
  private static final long RESEND = 10_000_000;

  private record Taken(Charge charge, boolean locked) {}

  /** What a call took, from when until when it can matter, and the end of its hold or 0. */
  private record Taking(List<Taken> entries, long at, long end, long heldUntil) {}

  /** What was answered to a call with an id, and until when it is not judged again. */
  private record Seen(Object call, Answer answer, long answerEnd, long end) {}

  private final Map<Account, AccountModel> accounts = new HashMap<>();
  private final Map<Object, Taking> receipts = new HashMap<>();
  private final Map<Object, Long> settledUntil = new HashMap<>();
  private final Map<String, Seen> ids = new HashMap<>();

  private AccountModel account(Charge charge) {
    return accounts.computeIfAbsent(charge.account(), key -> new AccountModel(charge.terms()));
  }

  /**
   * Decides a plan, or repeats the answer to its id.
   *
   * @param call identifies the call when it is settled
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
      long memory = charge.cost() > 0 && charge.enforced() ? charge.terms().horizonMicros(now) : 0;
      longest = Math.max(longest, memory);
    }
    return answer.allowed ? longest : 0;
  }

  private Answer standing(Plan plan, long now) {
    List<Balance> balances = new ArrayList<>();
    for (Charge charge : plan.charges()) {
      balances.addAll(account(charge).balances(charge, now, 0, false, List.of()));
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
      case TAKE, RESERVE -> passes ? count(plan, call, now, shadowed) : refuse(plan, now);
      case RECORD -> count(plan, call, now, Set.of());
    };
  }

  private static long asked(Charge charge) {
    return Math.max(1, charge.cost());
  }

  private Answer look(Plan plan, boolean passes, long now) {
    List<Balance> balances = new ArrayList<>();
    for (Charge charge : plan.charges()) {
      balances.addAll(account(charge).balances(charge, now, asked(charge), false, List.of()));
    }
    return new Answer(passes, balances);
  }

  private Answer refuse(Plan plan, long now) {
    List<Balance> balances = new ArrayList<>();
    for (Charge charge : plan.charges()) {
      if (charge.enforced()) {
        account(charge).refuse(now, charge.cost());
      }
      balances.addAll(shown(plan, charge, now));
    }
    return new Answer(false, balances);
  }

  private List<Balance> shown(Plan plan, Charge charge, long now) {
    boolean reserves = plan.intent() == Intent.RESERVE;
    return account(charge).balances(charge, now, asked(charge), reserves, List.of());
  }

  private Answer count(Plan plan, Object call, long now, Set<String> shadowed) {
    List<Balance> balances = new ArrayList<>();
    List<Taken> taken = new ArrayList<>();
    long hold = Durations.micros(plan.hold());
    long end = plan.intent() == Intent.RESERVE ? now + hold : 0;
    long heldUntil = end;
    for (Charge charge : plan.charges()) {
      AccountModel account = account(charge);
      if (shadowed.contains(charge.account().rule())) {
        account.refuse(now, charge.cost());
        balances.addAll(shown(plan, charge, now));
        continue;
      }
      AccountModel.Counted counted = new AccountModel.Counted(List.of(), false);
      if (charge.cost() > 0) {
        counted = account.count(now, call, charge.cost(), plan.intent(), hold);
      }
      if (plan.intent().takes()) {
        taken.add(new Taken(charge, counted.locked()));
        end = Math.max(end, now + charge.terms().horizonMicros(now));
      }
      balances.addAll(
          account.balances(
              charge,
              now,
              0,
              false,
              plan.intent() == Intent.RECORD ? counted.uncharged() : List.of()));
    }
    receipts.put(call, new Taking(taken, now, end, heldUntil));
    return new Answer(true, balances);
  }

  /** Until when something of what a call took can be left. */
  long end(Object call) {
    return Objects.requireNonNull(receipts.get(call)).end;
  }

  /** The rules by which a call took something. */
  List<String> rulesOf(Object call) {
    return Objects.requireNonNull(receipts.get(call)).entries.stream()
        .map(each -> each.charge.account().rule())
        .distinct()
        .toList();
  }

  Settled settle(Object call, Settlement settlement, long now) {
    Taking taking = receipts.get(call);
    Settled nothing = Settled.NOT_DONE;
    if (taking == null || taking.entries.isEmpty()) {
      return nothing;
    }
    boolean late = now >= taking.end;
    boolean above =
        taking.entries.stream().anyMatch(each -> actual(settlement, each) > each.charge.cost());
    if ((late && !above) || settledUntil.getOrDefault(call, 0L) > now) {
      return nothing;
    }
    settledUntil.put(call, Math.max(taking.end, now + RESEND));
    Map<String, Long> uncharged = new TreeMap<>();
    for (Taken each : taking.entries) {
      AccountModel account = account(each.charge);
      long actual = actual(settlement, each);
      boolean forgiven = !late && settlement.forgives(each.charge.account());
      if (!late && each.locked && (actual == 0 || forgiven)) {
        account.unlock(now, taking.at);
      }
      if (forgiven) {
        account.forgive(now, each.charge.cost(), taking.heldUntil);
      } else {
        uncharged.merge(
            each.charge.account().rule(),
            account.settle(now, call, each.charge.cost(), actual, taking.heldUntil, late),
            Long::sum);
      }
    }
    if (taking.entries.stream().allMatch(each -> actual(settlement, each) == 0)
        && taking.entries.stream().anyMatch(each -> each.charge.cost() > 0)) {
      ids.values().removeIf(seen -> seen.call.equals(call)); // nothing counts for it any more
    }
    uncharged.values().removeIf(cost -> cost == 0);
    return new Settled(true, uncharged);
  }

  private static long actual(Settlement settlement, Taken taken) {
    Charge charge = taken.charge;
    return settlement.costOf(
        new Receipt.Entry(charge.account(), charge.terms(), charge.cost(), List.of()));
  }

  void lock(Charge charge, Duration length, long now) {
    account(charge).lockByHand(now, length);
  }

  boolean lift(Charge charge, long now, boolean keepUsage) {
    return account(charge).lift(now, keepUsage);
  }
}
