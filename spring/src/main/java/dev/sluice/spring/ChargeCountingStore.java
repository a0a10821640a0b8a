package dev.sluice.spring;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.ForwardingStore;
import dev.sluice.Intent;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Store;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.ObjLongConsumer;

/** A store that tells what records and settlements could not charge. Thread-safe. */
final class ChargeCountingStore extends ForwardingStore {
  private final ObjLongConsumer<String> uncharged;

  /**
   * A store around a store.
   *
   * @param uncharged is told a rule, and how much could not be charged
   */
  ChargeCountingStore(Store store, ObjLongConsumer<String> uncharged) {
    super(store);
    this.uncharged = uncharged;
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    CompletionStage<Decision> decision = store.take(plan);
    return plan.intent() == Intent.RECORD ? decision.thenApply(this::counted) : decision;
  }

  @Override
  public Decision decide(Charge charge) {
    return store.decide(charge);
  }

  @Override
  public Decision decide(Plan plan) {
    Decision decision = store.decide(plan);
    return plan.intent() == Intent.RECORD ? counted(decision) : decision;
  }

  /** Counts for each account what the limit that took the least could not take. */
  private Decision counted(Decision decision) {
    Map<Account, Long> most = new LinkedHashMap<>();
    for (Balance balance : decision.balances()) {
      most.merge(balance.account(), balance.uncharged(), Math::max);
    }
    most.forEach((account, cost) -> count(account.rule(), cost));
    return decision;
  }

  @Override
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    return store
        .settle(receipt, settlement)
        .thenApply(
            settled -> {
              settled.unchargedBy().forEach(this::count);
              return settled;
            });
  }

  private void count(String rule, long cost) {
    if (cost > 0) {
      uncharged.accept(rule, cost);
    }
  }

  @Override
  public CompletionStage<Decision> look(Plan plan) {
    return store.look(plan);
  }
}
