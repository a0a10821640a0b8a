package dev.sluice.redis;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/** Fails what is not done within one and the same time. Thread-safe. */
final class Deadlines implements AutoCloseable {
  /*
   * All deadlines are equally long, so they fall due in the order in which they began: a queue and
   * one thread that looks at its head a few times within each deadline do, at the cost of one entry a
   * call, where a timer for each would cost a place in a heap and its removal.
   */
  private final long deadlineNanos;
  private final long stepNanos;
  private final String message;
  private final ConcurrentLinkedQueue<Waiting> queue = new ConcurrentLinkedQueue<>();
  private final Thread watcher;
  private volatile boolean closed;
  private volatile boolean parked;

  private record Waiting(CompletableFuture<?> future, long dueNanos) {}

  Deadlines(Duration deadline) {
    this.deadlineNanos = deadline.toNanos();
    this.stepNanos = Math.max(500_000, Math.min(5_000_000, deadlineNanos / 10));
    this.message = "Redis gave no answer within " + deadline.toMillis() + " ms";
    this.watcher = new Thread(this::watch, "sluice-deadlines");
    watcher.setDaemon(true);
    watcher.start();
  }

  /** A copy of a future that fails when the time is over; the original is left alone. */
  <T> CompletableFuture<T> within(CompletableFuture<T> future) {
    CompletableFuture<T> copy = future.copy();
    queue.add(new Waiting(copy, System.nanoTime() + deadlineNanos));
    if (parked) {
      LockSupport.unpark(watcher);
    }
    return copy;
  }

  private void watch() {
    while (!closed) {
      Waiting head = queue.peek();
      if (head == null) {
        parked = true;
        if (queue.isEmpty()) {
          LockSupport.park(this);
        }
        parked = false;
      } else if (head.future.isDone()) {
        queue.poll();
      } else if (head.dueNanos - System.nanoTime() <= 0) {
        queue.poll();
        head.future.completeExceptionally(
            new StoreFault("timeout", true, message, new TimeoutException(message)));
      } else {
        LockSupport.parkNanos(this, Math.min(stepNanos, head.dueNanos - System.nanoTime()));
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(watcher);
  }
}
