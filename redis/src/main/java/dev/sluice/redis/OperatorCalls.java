package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.LockPage;
import dev.sluice.internal.Answer;
import dev.sluice.internal.Stages;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.JudgeOperation;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.Operation;
import dev.sluice.redis.wire.Sender;
import dev.sluice.redis.wire.StoreFault;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Everything but decisions: operations of operators, metrics and status pages. Thread-safe. */
final class OperatorCalls implements AutoCloseable {
  /*
   * These operations have their own connection, event loop, queue and time limit, so decisions
   * never wait behind them in this process. The connection is opened by the first of them.
   */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  private final Topology topology;
  private final Sender sender;
  private final Spread spread;
  private final LockIndex locks;
  private final RedisData data;

  OperatorCalls(Topology topology, Sender sender, Spread spread) {
    this.topology = topology;
    this.sender = sender;
    this.spread = spread;
    this.locks = new LockIndex(topology, spread, PATIENCE);
    this.data = new RedisData(topology);
  }

  /** Completes when the first attempt to connect has succeeded or failed. */
  CompletableFuture<@Nullable Void> triedToConnect() {
    return topology.tried();
  }

  /** Carries out a reset, a lock by hand or a lift. */
  <R> CompletionStage<R> manage(Operation<R> operation, int partition) {
    return carry(operation, partition);
  }

  /** Reads accounts. */
  CompletableFuture<Decision> look(JudgeOperation operation, int partition) {
    return carry(operation, partition);
  }

  private <R> CompletableFuture<R> carry(Operation<R> operation, int partition) {
    Answer<R> answer = new Answer<>();
    CompletionStage<?> unused =
        topology
            .tried()
            .thenAccept(
                tried -> {
                  if (!answer.isDone()) {
                    sender.send(operation, partition, answer);
                  }
                });
    return answer
        .orTimeout(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionallyCompose(
            error -> {
              operation.giveUp();
              return CompletableFuture.failedFuture(fault(error));
            });
  }

  /** The notice of the lock of an account (see locks.lua), or null. */
  CompletionStage<@Nullable String> lockOf(Account account) {
    return topology
        .tried()
        .thenCompose(
            tried -> topology.commands().get(Keyspace.lockKey(spread.keyspace().key(account))));
  }

  private StoreFault fault(Throwable error) {
    Throwable cause = Stages.cause(error);
    if (!(cause instanceof TimeoutException)) {
      return StoreFault.of(cause);
    }
    topology.findMaster();
    String message =
        "Redis at %s gave no answer within %d s".formatted(topology, PATIENCE.toSeconds());
    return new StoreFault("timeout", true, message, cause);
  }

  /** A page of the locks in force. */
  CompletionStage<LockPage> locks(
      @Nullable String rule, int limit, @Nullable String after, long nowMicros) {
    return locks.page(rule, limit, LockPage.Place.after(after), nowMicros);
  }

  long foreignValues() {
    return sender.foreignValues() + locks.foreignValues();
  }

  RedisData data() {
    return data;
  }

  @Override
  public void close() {
    topology.close();
  }
}
