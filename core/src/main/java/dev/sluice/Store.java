package dev.sluice;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the accounts. Thread-safe.
 *
 * <p>Stores wrap stores: a cache of denials or a deadline is a store around a store. What every
 * store must do is written as a test, {@code StoreContract}.
 */
public interface Store extends AutoCloseable {
  /** How long the decision of a call with an id is remembered. */
  Duration CALL_MEMORY = Duration.ofMinutes(1);

  /** Judges a plan: taken whole or not at all. */
  CompletionStage<Decision> take(Plan plan);

  /** Judges the commonest call, one that pays a single charge, and waits for the answer. */
  default Decision decide(Charge charge) {
    return decide(Plan.of(charge));
  }

  /** Judges a plan and waits for the answer. */
  default Decision decide(Plan plan) {
    try {
      return take(plan).toCompletableFuture().join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  /**
   * Settles what was taken with what it really cost: the rest is given back, more is recorded.
   *
   * @return false if the receipt was settled before; then nothing happens
   */
  CompletionStage<Boolean> settle(Receipt receipt, long actualCost);

  /** Forgets an account: nothing used, not locked. Returns whether there was anything. */
  CompletionStage<Boolean> reset(Account account);

  /** Locks an account by hand from now on, in place of any lock it has. */
  CompletionStage<Restriction> lock(Account account, Duration length, String reason);

  /** Ends an account's lock and forgets that it ever had one. Returns whether it was locked. */
  CompletionStage<Boolean> lift(Account account);

  /** The locks in force, of one rule or, given null, of all. */
  CompletionStage<List<Restriction>> locks(@Nullable String rule);

  /** What is wrong with the store now, so that rules decide without it; empty if nothing is. */
  default Optional<String> trouble() {
    return Optional.empty();
  }

  @Override
  void close();
}
