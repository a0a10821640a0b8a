package dev.sluice.history;

import dev.sluice.Account;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Store;
import dev.sluice.contract.MovableClock;
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
  private final Map<Integer, Long> settledAt = new HashMap<>();

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
      if (history.steps().get(i) instanceof Step.Settle settle
          && Boolean.TRUE.equals(answers.get(i))) {
        settledAt.put(settle.ask(), settle.actual());
      }
    }
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < history.steps().size(); i++) {
      if (history.steps().get(i) instanceof Step.Ask ask) {
        boolean again = ask.call().id() != null && !seen.add(ask.call().id());
        Decision decision = (Decision) Objects.requireNonNull(answers.get(i));
        if (!again) {
          checkAsk(i, ask, decision);
        }
      }
    }
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
    List<Charge> charges = history.rules().plan(ask.call(), InstantSource.system()).charges();
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
    long kept = Math.min(charge.cost(), settledAt.getOrDefault(i, charge.cost()));
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
    throw new AssertionError("step %d: %s%n%s".formatted(i, what, history.told(i)));
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

  /** What others do changes nothing: one world alone gives the same answers. */
  static void checkIsolation(History history, Store store, MovableClock clock) {
    List<@Nullable Object> alone =
        Replay.play(history, store, clock, i -> history.steps().get(i).world() == 1);
    same(history, alone, "without the others");
  }

  private static void same(History history, List<@Nullable Object> played, String how) {
    for (int i = 0; i < played.size(); i++) {
      if (played.get(i) instanceof Decision decision) {
        Model.Answer answer = Replay.answer(decision);
        if (!answer.equals(history.answers().get(i))) {
          throw new AssertionError(
              "step %d, %s, answered%n       -> %s%n%s"
                  .formatted(i, how, History.brief(answer), history.told(i)));
        }
      }
    }
  }
}
