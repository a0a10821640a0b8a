package dev.sluice.redis.connection;

import dev.sluice.internal.Daemon;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a store does now and then, on as few threads as possible. Thread-safe. */
final class Tasks {
  /*
   * A store that is idle has one thread for all of it, the timer. What runs there takes no time:
   * reconnecting and probing a Redis that failed must not wait for anything else.
   *
   * Connecting blocks, so it has a thread for as long as it takes. Work that is not needed for
   * decisions (reports, overrides, shared data) shares one thread, which starts with the first of
   * it.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Tasks.class);

  private final QuietTimer timer = new QuietTimer();
  private final ExecutorService connecting =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          0,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          work -> Daemon.thread("sluice-connect", work),
          new ThreadPoolExecutor.DiscardPolicy()); // once closed
  private final ScheduledExecutorService background = Daemon.scheduled("sluice-background");

  /** The timer; the client uses it, too. */
  Timer timer() {
    return timer;
  }

  /** The thread for everything that decisions do not need. */
  ScheduledExecutorService background() {
    return background;
  }

  /** Runs a task that may block, after a pause; not once closed. */
  void later(Duration pause, Runnable task) {
    soon(pause, () -> connecting.execute(() -> perform(task)));
  }

  private static void perform(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      LOG.error("A background task for Redis failed", e);
    }
  }

  /** Runs a task that takes no time, after a pause; not once closed. */
  void soon(Duration pause, Runnable task) {
    try {
      Timeout unused =
          timer.newTimeout(timeout -> task.run(), pause.toMillis(), TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      LOG.debug("The connection to Redis is closed; task skipped");
    }
  }

  /** Gives up connecting. */
  void stopConnecting() {
    connecting.shutdownNow();
  }

  /** Ends all threads; the client needs the timer until it is closed. */
  void close() {
    stopConnecting();
    background.shutdown(); // those who wait for shared data still get an answer
    timer.stop();
  }
}
