package dev.sluice.history;

import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.RuleSource;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.contract.MovableClock;
import dev.sluice.store.Charge;
import dev.sluice.store.Store;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/** Plays a history, or a part of it, on a store, and keeps what the store answered. */
public final class Replay {
  private final History history;
  private final Store store;
  private final MovableClock clock;
  private final Limiter limiter;
  private final List<@Nullable Object> answers = new ArrayList<>();

  private Replay(History history, Store store, MovableClock clock) {
    this.history = history;
    this.store = store;
    this.clock = clock;
    this.limiter = Limiter.builder(store, RuleSource.fixed(history.rules())).clock(clock).build();
  }

  /** Plays the steps that are wanted; the answer to any other is null. */
  static List<@Nullable Object> play(
      History history, Store store, MovableClock clock, IntPredicate wanted) {
    Replay replay = new Replay(history, store, clock);
    for (int i = 0; i < history.steps().size(); i++) {
      replay.answers.add(wanted.test(i) ? replay.step(history.steps().get(i)) : null);
    }
    return replay.answers;
  }

  /**
   * Plays a whole history and fails at the first answer that is not the model's.
   *
   * @return what the store answered, step by step
   */
  public static List<@Nullable Object> check(History history, Store store, MovableClock clock) {
    Replay replay = new Replay(history, store, clock);
    for (int i = 0; i < history.steps().size(); i++) {
      Step step = history.steps().get(i);
      Object answer = replay.step(step);
      replay.answers.add(answer);
      Object shown = answer instanceof Decision decision ? answer(decision) : answer;
      if (!Objects.equals(shown, history.answers().get(i))) {
        throw new AssertionError(
            "step %d answered%n       -> %s%nbut must answer as shown last in this history:%n%s"
                .formatted(i, History.brief(shown), history.shown(i)));
      }
    }
    return replay.answers;
  }

  static Model.Answer answer(Decision decision) {
    return new Model.Answer(decision.allowed(), List.copyOf(decision.balances()));
  }

  private @Nullable Object step(Step step) {
    clock.setMicros(step.atMicros());
    if (step instanceof Step.Ask ask) {
      return limiter.decide(ask.call());
    }
    if (step instanceof Step.Settle settle) {
      return answers.get(settle.ask()) instanceof Decision.Allowed allowed
          ? settled(allowed.receipt(), settle.settlement())
          : Settled.NOT_DONE;
    }
    if (step instanceof Step.Lock lock) {
      for (Account account : accounts(lock.rule(), lock.identity())) {
        await(store.lock(account, lock.length(), "by hand"));
      }
      return null;
    }
    Step.Lift lift = (Step.Lift) step;
    boolean lifted = false;
    for (Account account : accounts(lift.rule(), lift.identity())) {
      lifted |= await(store.lift(account, lift.keepUsage()));
    }
    return lifted;
  }

  private Settled settled(Receipt receipt, Settlement settlement) {
    // A limiter refuses to forgive what no account of the call counts by; histories try it.
    return await(
        receipt.entries().isEmpty()
            ? limiter.settleAsync(receipt, settlement)
            : store.settle(receipt, settlement));
  }

  private List<Account> accounts(String rule, Identity identity) {
    return history.rules().plan(Call.of(rule, identity), clock).charges().stream()
        .map(Charge::account)
        .toList();
  }

  private static <T> T await(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }
}
