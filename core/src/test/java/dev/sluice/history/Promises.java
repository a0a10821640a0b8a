package dev.sluice.history;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.contract.MovableClock;
import dev.sluice.internal.Durations;
import dev.sluice.store.Charge;
import dev.sluice.store.Counted;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The promises of every limit, checked on what a store answered, without the model. */
final class Promises {
  private final History history;
  private final List<@Nullable Object> answers;
  private final Map<Account, List<Bounds.Event>> counted = new HashMap<>();
  private final Map<Integer, Settlement> settlements = new HashMap<>();

  private Promises(History history, List<@Nullable Object> answers) {
    this.history = history;
    this.answers = answers;
  }

  /** Checks bounds, denials, retryAfter and locks of a history that was played. */
  static void check(History history, List<@Nullable Object> answers) {
    new Promises(history, answers).check();
  }

  private void check() {
    for (int i = 0; i < history.steps().size(); i++) {
      if (history.steps().get(i) instanceof Step.Settle settle && isDone(i)) {
        settlements.put(settle.ask(), settle.settlement());
      }
    }
    Map<String, Long> standing = new HashMap<>();
    Map<String, Integer> judged = new HashMap<>();
    for (int i = 0; i < history.steps().size(); i++) {
      if (history.steps().get(i) instanceof Step.Settle settle
          && isDone(i)
          && history.steps().get(settle.ask()) instanceof Step.Ask settled) {
        plan(settled).charges().stream()
            .map(Charge::account)
            .filter(settle.settlement()::forgives)
            .forEach(counted::remove);
        if (isGivenBack(settled, settle.settlement())
            && judged.getOrDefault(settled.call().id(), -1) == settle.ask()) {
          standing.remove(settled.call().id());
        }
      }
      if (history.steps().get(i) instanceof Step.Lift lift && !lift.keepUsage()) {
        plan(Call.of(lift.rule(), lift.identity())).charges().stream()
            .map(Charge::account)
            .forEach(counted::remove);
      }
      if (history.steps().get(i) instanceof Step.Ask ask) {
        Decision decision = (Decision) Objects.requireNonNull(answers.get(i));
        String id = ask.call().intent() == Intent.PEEK ? null : ask.call().id();
        if (id == null || standing.getOrDefault(id, 0L) <= ask.atMicros()) {
          checkAsk(i, ask, decision);
          if (id != null) {
            standing.put(id, ask.atMicros() + notJudgedAgain(ask, decision));
            judged.put(id, i);
          }
        }
      }
    }
  }

  private boolean isDone(int i) {
    return answers.get(i) instanceof Settled settled && settled.done();
  }

  private boolean isGivenBack(Step.Ask ask, Settlement settlement) {
    List<Charge> charges = plan(ask).charges();
    return charges.stream().allMatch(charge -> kept(charge, settlement) == 0)
        && charges.stream().anyMatch(charge -> charge.cost() > 0);
  }

  /** What a charge cost in the end. */
  private static long kept(Charge charge, Settlement settlement) {
    Long whole = settlement.cost();
    Long named = settlement.costs().get(charge.account().rule());
    return named != null ? named : whole != null ? whole : charge.cost();
  }

  /** How long a call with an id is not decided again. */
  private long notJudgedAgain(Step.Ask ask, Decision decision) {
    long minute = Durations.micros(Store.CALL_MEMORY);
    if (!decision.allowed()) {
      return decision
          .retryAfter()
          .map(wait -> Math.min(minute, Durations.micros(wait)))
          .orElse(minute);
    }
    long longest = minute;
    for (Charge charge : plan(ask).charges()) {
      boolean counts = charge.cost() > 0 && charge.enforced();
      long memory = counts ? charge.terms().horizonMicros(ask.atMicros()) : 0;
      longest = Math.max(longest, memory);
    }
    return longest;
  }

  private Plan plan(Step.Ask ask) {
    return plan(ask.call());
  }

  private Plan plan(Call call) {
    return history.rules().plan(call, InstantSource.system());
  }

  private void checkAsk(int i, Step.Ask ask, Decision decision) {
    boolean kept =
        switch (ask.promise()) {
          case NONE -> true;
          case DENIED -> !decision.allowed();
          case ALLOWED -> decision.allowed();
        };
    if (!kept) {
      fail(i, "retryAfter promised " + ask.promise() + ", answered " + decision);
    }
    if (!isCountedAsItsBalancesSay(decision)) {
      fail(i, "counted otherwise than its balances say: " + decision);
    }
    List<Charge> charges = plan(ask).charges();
    if (!decision.allowed()) {
      if (history.isPlain() && charges.stream().noneMatch(c -> overdrawn(ask, c))) {
        fail(i, "denied though nothing would have been overdrawn: " + decision);
      }
      return;
    }
    if (ask.call().intent() == Intent.PEEK) {
      return;
    }
    for (Charge charge : charges) {
      if (charge.enforced() || !decision.shadowDenials().contains(charge.account().rule())) {
        count(i, ask, charge);
      }
    }
  }

  /** Listeners count decisions without making balances. */
  private static boolean isCountedAsItsBalancesSay(Decision decision) {
    Counted counted =
        decision instanceof Decision.Allowed allowed
            ? allowed.counted()
            : ((Decision.Denied) decision).counted();
    Limit deciding = Balance.deciding(decision.balances()).map(Balance::limit).orElse(null);
    return counted.locked() == decision.restrictedUntil().isPresent()
        && Objects.equals(counted.decidingLimit(), deciding);
  }

  private boolean overdrawn(Step.Ask ask, Charge charge) {
    List<Bounds.Event> events = counted.getOrDefault(charge.account(), List.of());
    long cost = Math.max(1, charge.cost());
    return charge.enforced()
        && charge.terms().limits().stream()
            .anyMatch(limit -> Bounds.breaks(limit, events, ask.atMicros(), cost, true));
  }

  private void count(int i, Step.Ask ask, Charge charge) {
    List<Bounds.Event> events =
        counted.computeIfAbsent(charge.account(), account -> new ArrayList<>());
    Settlement settlement = settlements.getOrDefault(i, Settlement.CONFIRMED);
    long kept = Math.min(charge.cost(), kept(charge, settlement));
    boolean forced = ask.call().intent() == Intent.RECORD;
    if (!forced && charge.cost() > 0) {
      for (Limit limit : charge.terms().limits()) {
        List<Bounds.Event> admitted = events.stream().filter(event -> !event.forced()).toList();
        if (Bounds.breaks(limit, admitted, ask.atMicros(), kept, false)) {
          fail(i, "admitted more than " + limit);
        }
      }
    }
    if (kept > 0) {
      events.add(new Bounds.Event(ask.atMicros(), kept, forced));
    }
  }

  private void fail(int i, String what) {
    throw new AssertionError("step %d: %s%n%s".formatted(i, what, history.shown(i)));
  }

  /** A denial changes nothing: the history without the denied calls gives the same answers. */
  static void checkWithoutDenials(History history, Store store, MovableClock clock) {
    if (history.punishes()) {
      return;
    }
    Set<Integer> denied = new HashSet<>(history.denials());
    same(
        history,
        Replay.play(history, store, clock, i -> !denied.contains(i)),
        "without the denied calls");
  }

  /** Worlds are independent: one world alone gives the same answers. */
  static void checkIsolation(History history, Store store, MovableClock clock) {
    List<@Nullable Object> alone =
        Replay.play(history, store, clock, i -> history.steps().get(i).world() == 1);
    same(history, alone, "without the others");
  }

  /** Every limit admits its quota in one instant, and not one more. */
  static void checkQuota(History history, Store store, MovableClock clock) {
    for (Rule rule : history.rules().all()) {
      for (int i = 0; i < rule.terms().limits().size(); i++) {
        Limit limit = rule.terms().limits().get(i);
        Rule alone = Rule.builder(rule.name() + i).by("member").limit(limit).build();
        Limiter limiter =
            Limiter.builder(store, RuleSource.fixed(Rules.of(alone))).clock(clock).build();
        Call one = Call.of(alone.name(), Identity.of("member", "ann"));
        boolean all = limiter.decide(one.costing(limit.quota() - 1)).allowed();
        boolean last = limiter.decide(one).allowed();
        boolean more = limiter.decide(one).allowed();
        if (!all || !last || more) {
          throw new AssertionError(
              "seed %d: %s admits another quota".formatted(history.seed(), limit));
        }
      }
    }
  }

  private static void same(History history, List<@Nullable Object> played, String how) {
    for (int i = 0; i < played.size(); i++) {
      if (played.get(i) instanceof Decision decision) {
        Model.Answer answer = Replay.answer(decision);
        if (!answer.equals(history.answers().get(i))) {
          throw new AssertionError(
              "step %d, %s, answered%n       -> %s%n%s"
                  .formatted(i, how, History.brief(answer), history.shown(i)));
        }
      }
    }
  }
}
