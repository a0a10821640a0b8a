package dev.sluice.store;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.Stages;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the accounts. Thread-safe.
 *
 * <p>Stores wrap stores: a cache of denials or a deadline is a store around a store. What every
 * store must do is written as a test, {@code StoreContract}.
 */
public interface Store extends AutoCloseable {
  /**
   * How long the decision of a call with an id is repeated; a denial no longer than its retryAfter.
   * That the call was counted is remembered for as long as a limit of it counts it.
   */
  Duration CALL_MEMORY = Duration.ofMinutes(1);

  /** How long the fate of a reservation can stay open; past it, what was taken stands. */
  Duration HOLD = Duration.ofMinutes(1);

  /**
   * Judges a plan: taken whole or not at all. The stage fails with an {@link IdReusedException} if
   * the plan's id was used for another question.
   */
  CompletionStage<Decision> take(Plan plan);

  /** Judges the commonest call, one that pays a single charge, and waits for the answer. */
  default Decision decide(Charge charge) {
    return decide(Plan.of(charge));
  }

  /** Judges a plan and waits for the answer. */
  default Decision decide(Plan plan) {
    return Stages.await(take(plan));
  }

  /**
   * Looks at accounts for an operator, apart from decisions: fails if the store does not answer,
   * and is never answered from memory of this node.
   *
   * @param plan one whose intent is to peek
   */
  default CompletionStage<Decision> look(Plan plan) {
    return take(plan);
  }

  /**
   * Settles what was taken with what it really cost: the rest is given back, more is recorded, and
   * a reservation is open no longer. A receipt is settled once.
   */
  CompletionStage<Settled> settle(Receipt receipt, Settlement settlement);

  /**
   * Settles what was taken with one cost by every rule.
   *
   * @return false if the receipt was settled before; then nothing happens
   */
  default CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
    return settle(receipt, Settlement.of(actualCost)).thenApply(Settled::done);
  }

  /** Forgets an account: nothing used, not locked. Returns whether there was anything. */
  CompletionStage<Boolean> reset(Account account);

  /** Locks an account by hand from now on, in place of any lock it has. */
  CompletionStage<Restriction> lock(Account account, Duration length, String reason);

  /**
   * Ends an account's lock. Returns whether it was locked; if not, nothing happens.
   *
   * @param keepUsage false to forget what led to the lock, too: the usage and the locks before it
   */
  CompletionStage<Boolean> lift(Account account, boolean keepUsage);

  /**
   * A page of the locks in force, of one rule or, given null, of all.
   *
   * @param limit how many at most, 1 to {@link LockPage#LARGEST}
   * @param after the {@link LockPage#next} of the page before, or null for the first page
   */
  CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after);

  /** What an operator should know about the store although it answers; empty if all is well. */
  default List<String> warnings() {
    return List.of();
  }

  /** What is wrong with the store now, so that rules decide without it; empty if nothing is. */
  default Optional<String> trouble() {
    return Optional.empty();
  }

  /** How many values of somebody else were found under this store's keys, and replaced. */
  default long foreignValues() {
    return 0;
  }

  @Override
  void close();
}
