package dev.sluice.bench;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** A limiter on Redis, or what one is compared with. Thread-safe. */
interface Contender extends AutoCloseable {
  String name();

  /** One decision for one identity: whether it may pass. */
  CompletionStage<Boolean> decide(String identity);

  /** The same by the contender's own call that blocks until the answer is there. */
  boolean await(String identity);

  /**
   * The call that is measured with so many in flight. One caller alone waits for its answer, and
   * pays for being woken, once for each round trip; with many, nobody has a thread for each.
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

  /** What has to be done once for identities before they can be asked for. Is not measured. */
  default void prepare(String... identities) {}

  @Override
  void close();
}
