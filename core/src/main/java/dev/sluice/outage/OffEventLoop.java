package dev.sluice.outage;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.Answer;
import dev.sluice.internal.Stages;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** A store that keeps the continuations of callers off the event loop that reads from Redis. */
public final class OffEventLoop extends ForwardingStore {
  /*
   * A caller that blocks in a continuation of `take` would block the thread that reads the answers
   * of all other callers. A caller that waits in `decide` is only woken up, so that needs no other
   * thread.
   */
  private final Handoff handoff;

  /** Wraps a store; continuations run on the threads of the handoff. */
  public OffEventLoop(Store store, Handoff handoff) {
    super(store);
    this.handoff = handoff;
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    HandedOff<Decision> answer = new HandedOff<>();
    store.take(plan, answer);
    return answer.asked();
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
    handoff.close();
  }

  private <T> CompletionStage<T> handedOff(CompletionStage<T> stage) {
    HandedOff<T> answer = new HandedOff<>();
    Stages.pass(stage, answer);
    return answer.asked();
  }

  /**
   * The future that a caller gets. It completes on a handoff thread; at once if the answer is there
   * before the caller gets the future.
   */
  private final class HandedOff<T> extends Answer<T> implements Runnable {
    private @Nullable Thread asking = Thread.currentThread();
    private @Nullable T result;
    private @Nullable Throwable error;

    @Override
    public void accept(@Nullable T result, @Nullable Throwable error) {
      this.result = result;
      this.error = error;
      if (Thread.currentThread() == asking) {
        run();
      } else {
        handoff.run(this);
      }
    }

    @Override
    public void run() {
      super.accept(result, error);
    }

    HandedOff<T> asked() {
      asking = null;
      return this;
    }
  }
}
