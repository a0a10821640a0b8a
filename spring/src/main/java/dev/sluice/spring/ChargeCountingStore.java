package dev.sluice.spring;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.LockPage;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Store;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/** A store that tells what records and settlements could not charge. Thread-safe. */
final class ChargeCountingStore implements Store {
  /** In place of a rule, if several were settled above what they took. No rule has this name. */
  static final String SEVERAL_RULES = "*";

  private final Store store;
  private final ObjLongConsumer<String> uncharged;

  /**
   * A store around a store.
   *
   * @param uncharged is told a rule, and how much could not be charged
   */
  ChargeCountingStore(Store store, ObjLongConsumer<String> uncharged) {
    this.store = store;
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
              if (settled.uncharged() > 0) {
                count(raised(receipt, settlement), settled.uncharged());
              }
              return settled;
            });
  }

  private static String raised(Receipt receipt, Settlement settlement) {
    List<String> rules =
        receipt.entries().stream()
            .filter(entry -> settlement.costOf(entry) > entry.cost())
            .map(entry -> entry.account().rule())
            .distinct()
            .toList();
    return rules.size() == 1 ? rules.get(0) : SEVERAL_RULES;
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

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    return store.reset(account);
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return store.lock(account, length, reason);
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    return store.lift(account, keepUsage);
  }

  @Override
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    return store.locks(rule, limit, after);
  }

  @Override
  public List<String> warnings() {
    return store.warnings();
  }

  @Override
  public Optional<String> trouble() {
    return store.trouble();
  }

  @Override
  public void close() {
    store.close();
  }
}
