package dev.sluice.store;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.LimiterListener;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.RuleSource;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.Stages;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the accounts. Thread-safe.
 *
 * <p>A store can wrap another one, for example to cache denials. The test suite {@code
 * StoreContract} says what every store must do.
 */
public interface Store extends AutoCloseable {
  /**
   * How long the decision of a call with an id is repeated; a denial no longer than its retryAfter.
   * The store remembers for longer that the call was counted: for as long as one of its limits
   * does.
   */
  Duration CALL_MEMORY = Duration.ofMinutes(1);

  /** How long a reservation can stay open. After that, what it took stays taken. */
  Duration HOLD = Duration.ofMinutes(1);

  /**
   * Decides a plan: all its charges are taken, or none. The stage fails with an {@link
   * IdReusedException} if the id of the plan was used for another call.
   */
  CompletionStage<Decision> take(Plan plan);

  /**
   * Decides a plan as {@link #take(Plan)} does, and passes on the decision or the error, once.
   * Stores that wrap another one use it, because it costs less than a stage for each of them.
   *
   * @param then must not block: it may run on the thread that reads the answers of all callers
   */
  default void take(Plan plan, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    Stages.pass(take(plan), then);
  }

  /** Decides a call with a single charge, the common case, and waits for the answer. */
  default Decision decide(Charge charge) {
    return decide(Plan.of(charge));
  }

  /** Decides a plan and waits for the answer. */
  default Decision decide(Plan plan) {
    return Stages.await(take(plan));
  }

  /**
   * Reads accounts for an operator, apart from decisions. Fails if the store does not answer;
   * caches and fallbacks of this node are not used.
   *
   * @param plan a plan with {@code Intent.PEEK}
   */
  default CompletionStage<Decision> look(Plan plan) {
    return take(plan);
  }

  /**
   * Settles a receipt with the real cost: the rest is refunded, or more is charged. A reservation
   * is then closed. A receipt can be settled once.
   */
  CompletionStage<Settled> settle(Receipt receipt, Settlement settlement);

  /**
   * Settles a receipt with the same real cost for every rule.
   *
   * @return false if the receipt was settled before; then nothing happens
   */
  default CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
    return settle(receipt, Settlement.of(actualCost)).thenApply(Settled::done);
  }

  /** Forgets an account: nothing used, not locked. Returns whether there was anything. */
  CompletionStage<Boolean> reset(Account account);

  /** Locks an account by hand from now on. Replaces any lock it has. */
  CompletionStage<Restriction> lock(Account account, Duration length, String reason);

  /**
   * Ends the lock of an account. Returns whether it was locked; if not, nothing happens.
   *
   * @param keepUsage false to also forget the usage and the earlier locks that led to this lock
   */
  CompletionStage<Boolean> lift(Account account, boolean keepUsage);

  /**
   * One page of the locks in force, of a rule, or of all rules if it is null.
   *
   * @param limit the size of a page, 1 to {@link LockPage#LARGEST}
   * @param after the {@link LockPage#next} of the page before, or null for the first page
   */
  CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after);

  /** Warnings for operators about a store that works; empty if there are none. */
  default List<String> warnings() {
    return List.of();
  }

  /** Why calls are decided without the store now; empty if it works. */
  default Optional<String> trouble() {
    return Optional.empty();
  }

  /** How many values under the keys of this store were not written by Sluice and were replaced. */
  default long foreignValues() {
    return 0;
  }

  /** The data that the nodes of this store share beside the accounts. */
  SharedData sharedData();

  /**
   * The listener of this store, which receives the decisions of every limiter on it; empty if it
   * has none.
   */
  default Optional<LimiterListener> listener() {
    return Optional.empty();
  }

  /**
   * The rules for a limiter on this store: those of a source, with what this store changes in them,
   * such as overrides that operators made.
   */
  default RuleSource rules(RuleSource source) {
    return source;
  }

  @Override
  void close();
}
