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

  /** Fails a future when the time is over; who has not sent it by then need not send it. */
  <T> CompletableFuture<T> within(CompletableFuture<T> future) {
    queue.add(new Waiting(future, System.nanoTime() + deadlineNanos));
    if (closed) {
      failAll();
    } else if (parked) {
      LockSupport.unpark(watcher);
    }
    return future;
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
        fail(head.future, message);
      } else {
        LockSupport.parkNanos(this, Math.min(stepNanos, head.dueNanos - System.nanoTime()));
      }
    }
    failAll();
  }

  private void failAll() {
    Waiting next;
    while ((next = queue.poll()) != null) {
      fail(next.future, "The store was closed before Redis answered");
    }
  }

  private static void fail(CompletableFuture<?> future, String message) {
    if (!future.isDone()) {
      future.completeExceptionally(
          new StoreFault("timeout", true, message, new TimeoutException(message)));
    }
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(watcher);
  }
}
