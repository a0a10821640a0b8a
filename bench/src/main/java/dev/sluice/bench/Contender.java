package dev.sluice.bench;

import java.util.concurrent.CompletionStage;

/** A limiter on Redis, or what one is compared with. Thread-safe. */
interface Contender extends AutoCloseable {
  String name();

  /** One decision for one identity: whether it may pass. */
  CompletionStage<Boolean> decide(String identity);

  /** Whether {@link #prepare} has anything to do. */
  default boolean isPrepared() {
    return true;
  }

  /** What has to be done once for an identity before it can be asked for. */
  default CompletionStage<Boolean> prepare(String identity) {
    throw new UnsupportedOperationException(name() + ": nothing to prepare");
  }

  @Override
  void close();
}
