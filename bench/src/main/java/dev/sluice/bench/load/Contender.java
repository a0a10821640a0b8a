package dev.sluice.bench.load;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** A rate limiter on Redis, or a baseline for one. Thread-safe. */
public interface Contender extends AutoCloseable {
  String name();

  /** Decides one call of an identity: whether it may pass. */
  CompletionStage<Boolean> decide(String identity);

  /** The same with the contender's own blocking method. */
  boolean await(String identity);

  /**
   * The method that is measured with this many calls in flight. A single caller blocks, which
   * includes the cost of waking its thread. With many in flight, calls are asynchronous.
   */
  default Function<String, CompletionStage<Boolean>> asked(int inFlight) {
    return inFlight == 1 ? this::awaited : this::decide;
  }

  private CompletionStage<Boolean> awaited(String identity) {
    try {
      return CompletableFuture.completedFuture(await(identity));
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Prepares identities before their first call. Not measured. */
  default void prepare(String... identities) {}

  @Override
  void close();
}
