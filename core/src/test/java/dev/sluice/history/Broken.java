package dev.sluice.history;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Receipt;
import dev.sluice.Terms;
import dev.sluice.store.Charge;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.UnaryOperator;

/** A wrapper of a correct store, into which tests put bugs. */
class Broken extends ForwardingStore {
  Broken(Store right) {
    super(right);
  }

  /** A balance as this store reports it. */
  Balance balance(Balance balance) {
    return balance;
  }

  static Balance waiting(Balance b, long longer) {
    return new Balance(
        b.account(),
        b.limit(),
        b.enforced(),
        b.remaining(),
        b.retryAfterMicros() + longer,
        b.resetAfterMicros(),
        b.lockedUntilMicros(),
        b.uncharged());
  }

  static Plan with(Plan plan, Intent intent) {
    return new Plan(plan.charges(), intent, null, plan.policy());
  }

  static Plan terms(Plan plan, UnaryOperator<Terms> other) {
    List<Charge> charges =
        plan.charges().stream()
            .map(c -> new Charge(c.rule(), c.identity(), other.apply(c.terms()), c.cost()))
            .toList();
    return new Plan(charges, plan.intent(), plan.id(), plan.policy());
  }

  /** An entry whose mark numbers are so large that nothing seems to have come back. */
  static Receipt.Entry farAhead(Receipt.Entry entry) {
    List<Receipt.Mark> marks =
        entry.marks().stream().map(mark -> new Receipt.Mark(mark.micros(), 1L << 50)).toList();
    return new Receipt.Entry(
        entry.account(), entry.terms(), entry.cost(), marks, 0, entry.locked(), false);
  }

  static <T> T await(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    return store
        .take(plan)
        .thenApply(
            decision -> {
              List<Balance> balances = decision.balances().stream().map(this::balance).toList();
              return decision instanceof Decision.Allowed allowed
                  ? Decision.Allowed.of(balances, Decision.CountedBy.STORE, allowed::receipt)
                  : new Decision.Denied(balances);
            });
  }
}
