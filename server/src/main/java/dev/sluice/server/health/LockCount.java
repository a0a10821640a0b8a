package dev.sluice.server.health;

import dev.sluice.Limiter;
import dev.sluice.internal.Daemon;
import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The number of locked accounts, read from the store every ten seconds. Thread-safe.
 *
 * <p>It is read in the background, one query at a time. So a scrape of the metrics never waits for
 * the store, and queries do not pile up.
 */
final class LockCount implements AutoCloseable {
  private static final Duration INTERVAL = Duration.ofSeconds(10);
  private static final Duration OLDEST = Duration.ofSeconds(30);

  private final Limiter limiter;
  private final ScheduledExecutorService thread = Daemon.scheduled("sluice-lock-count");
  private final AtomicBoolean asking = new AtomicBoolean();
  private volatile Known known = new Known(Double.NaN, System.nanoTime());

  /**
   * The last answer.
   *
   * @param locks NaN if the store did not answer
   */
  private record Known(double locks, long atNanos) {}

  private LockCount(Limiter limiter) {
    this.limiter = limiter;
  }

  static LockCount start(Limiter limiter) {
    LockCount count = new LockCount(limiter);
    count.ask();
    ScheduledFuture<?> unused =
        count.thread.scheduleWithFixedDelay(
            count::ask, INTERVAL.toMillis(), INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
    return count;
  }

  /** The number of locks; NaN if the store has not answered for 30 seconds. */
  double value() {
    Known last = known;
    return System.nanoTime() - last.atNanos > OLDEST.toNanos() ? Double.NaN : last.locks;
  }

  private void ask() {
    if (!asking.compareAndSet(false, true)) {
      return;
    }
    try {
      var unused =
          limiter
              .locksAsync(null, 1, null)
              .whenComplete((page, failure) -> learn(page == null ? Double.NaN : page.total()));
    } catch (RuntimeException | Error e) {
      learn(Double.NaN);
    }
  }

  private void learn(double locks) {
    known = new Known(locks, System.nanoTime());
    asking.set(false);
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
