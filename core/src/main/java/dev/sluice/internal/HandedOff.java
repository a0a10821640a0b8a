package dev.sluice.internal;

import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The future that a caller gets. It completes on an executor; at once if the answer is there before
 * the caller gets the future.
 */
public final class HandedOff<T> extends Answer<T> implements Runnable {
  private final Executor executor;
  private @Nullable Thread asking = Thread.currentThread();
  private @Nullable T result;
  private @Nullable Throwable error;

  /** A future that completes on an executor. */
  public HandedOff(Executor executor) {
    this.executor = executor;
  }

  /** The future, when everything was asked. */
  public HandedOff<T> asked() {
    asking = null;
    return this;
  }

  @Override
  public void accept(@Nullable T result, @Nullable Throwable error) {
    this.result = result;
    this.error = error;
    if (Thread.currentThread() == asking) {
      run();
      return;
    }
    try {
      executor.execute(this);
    } catch (RejectedExecutionException e) { // it was shut down; the caller still waits
      ForkJoinPool.commonPool().execute(this);
    }
  }

  @Override
  public void run() {
    super.accept(result, error);
  }
}
