package dev.sluice.internal;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The tasks of one owner, also repeated ones, on a thread of its own or on one that others use,
 * too. Thread-safe.
 */
public final class Chores implements Executor, AutoCloseable {
  private final ScheduledExecutorService thread;
  private final boolean isAlone;
  private final List<Future<?>> repeated = new CopyOnWriteArrayList<>();
  private volatile boolean closed;

  private Chores(ScheduledExecutorService thread, boolean isAlone) {
    this.thread = thread;
    this.isAlone = isAlone;
  }

  /** Tasks on a thread of their own, which ends with them. */
  public static Chores alone(String thread) {
    return new Chores(Daemon.scheduled(thread), true);
  }

  /** Tasks on a thread that others use, too. It stays open when they end. */
  public static Chores on(ScheduledExecutorService thread) {
    return new Chores(thread, false);
  }

  /** Runs a task again and again. It must not throw: then it would not run again. */
  public void every(Duration first, Duration pause, Runnable task) {
    repeated.add(
        thread.scheduleWithFixedDelay(
            task, first.toMillis(), pause.toMillis(), TimeUnit.MILLISECONDS));
  }

  @Override
  public void execute(Runnable task) {
    if (closed) {
      throw new RejectedExecutionException("closed");
    }
    thread.execute(task);
  }

  @Override
  public void close() {
    closed = true;
    repeated.forEach(each -> each.cancel(false));
    if (isAlone) {
      thread.shutdownNow();
    }
  }
}
