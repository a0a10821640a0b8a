package dev.sluice.outage;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.HandedOff;
import dev.sluice.internal.Stages;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A store that keeps the continuations of callers off the event loop that reads from Redis. */
public final class OffEventLoop extends ForwardingStore {
  /*
   * A caller that blocks in a continuation of `take` would block the thread that reads the answers
   * of all other callers. A caller that waits in `decide` is only woken up, so that needs no other
   * thread. Nor does one that names an executor of its own.
   */
  private final Executor executor;
  private final Runnable closing;

  /**
   * Wraps a store.
   *
   * @param executor runs continuations
   * @param closing runs when the store is closed
   */
  public OffEventLoop(Store store, Executor executor, Runnable closing) {
    super(store);
    this.executor = executor;
    this.closing = closing;
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    HandedOff<Decision> answer = new HandedOff<>(executor);
    store.take(plan, answer);
    return answer.asked();
  }

  @Override
  public void take(Plan plan, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    store.take(plan, then);
  }

  @Override
  public Decision decide(Plan plan) {
    return store.decide(plan);
  }

  @Override
  public CompletionStage<Decision> look(Plan plan) {
    return handedOff(store.look(plan));
  }

  @Override
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    return handedOff(store.settle(receipt, settlement));
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    return handedOff(store.reset(account));
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return handedOff(store.lock(account, length, reason));
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    return handedOff(store.lift(account, keepUsage));
  }

  @Override
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    return handedOff(store.locks(rule, limit, after));
  }

  @Override
  public void close() {
    super.close();
    closing.run();
  }

  private <T> CompletionStage<T> handedOff(CompletionStage<T> stage) {
    HandedOff<T> answer = new HandedOff<>(executor);
    Stages.pass(stage, answer);
    return answer.asked();
  }
}
