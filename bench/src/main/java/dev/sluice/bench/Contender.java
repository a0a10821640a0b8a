package dev.sluice.bench;

import java.util.concurrent.CompletionStage;

/** A limiter on Redis, or what one is compared with. Thread-safe. */
interface Contender extends AutoCloseable {
  String name();

  /** One decision for one identity: whether it may pass. */
  CompletionStage<Boolean> decide(String identity);

  /** What has to be done once for identities before they can be asked for. Is not measured. */
  default void prepare(String... identities) {}

  @Override
  void close();
}
