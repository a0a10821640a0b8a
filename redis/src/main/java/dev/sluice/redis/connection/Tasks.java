package dev.sluice.redis.connection;

import dev.sluice.internal.Daemon;
import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The tasks of a connection that run later: on a thread that may block, or on a timer. */
final class Tasks {
  private static final Logger LOG = LoggerFactory.getLogger(Tasks.class);

  private final ScheduledExecutorService background = Daemon.scheduled("sluice-connect");

  // The timer of the client ticks every 100 ms, longer than a decision may take.
  private final Timer timer =
      new HashedWheelTimer(work -> Daemon.thread("sluice-timer", work), 10, TimeUnit.MILLISECONDS);

  /** The timer; the client uses it, too, so it is stopped after the client. */
  Timer timer() {
    return timer;
  }

  /** Runs a task that may block, after a pause; not once closed. */
  void later(Duration pause, Runnable task) {
    try {
      ScheduledFuture<?> unused =
          background.schedule(() -> perform(task), pause.toMillis(), TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      LOG.debug("The connection to Redis is closed; task skipped");
    }
  }

  private static void perform(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      LOG.error("A background task for Redis failed", e);
    }
  }

  /** Runs a task that does not block, after a pause; not once the timer is stopped. */
  void soon(Duration pause, Runnable task) {
    try {
      Timeout unused =
          timer.newTimeout(timeout -> task.run(), pause.toMillis(), TimeUnit.MILLISECONDS);
    } catch (IllegalStateException stopped) {
      LOG.debug("The connection to Redis is closed; task skipped");
    }
  }

  /** Ends the background thread, but not the timer. */
  void close() {
    background.shutdownNow();
  }
}
