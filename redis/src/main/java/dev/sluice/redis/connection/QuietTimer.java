package dev.sluice.redis.connection;

import dev.sluice.internal.Daemon;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The timer of a client: one thread, which sleeps until a task is due. Thread-safe. */
final class QuietTimer implements Timer {
  /*
   * The timer of Netty wakes up at every tick, whether a task is due or not: a hundred times a
   * second, if pauses of 10 ms are to be kept. It is made for thousands of tasks; a store has a few.
   */
  private static final Logger LOG = LoggerFactory.getLogger(QuietTimer.class);

  private final ScheduledThreadPoolExecutor thread =
      new ScheduledThreadPoolExecutor(1, work -> Daemon.thread("sluice-timer", work));

  @Override
  public Timeout newTimeout(TimerTask task, long delay, TimeUnit unit) {
    Due due = new Due(task);
    ScheduledFuture<?> unused = thread.schedule(due, delay, unit);
    return due;
  }

  @Override
  public Set<Timeout> stop() {
    thread.shutdownNow();
    return Set.of();
  }

  private enum State {
    WAITING,
    EXPIRED,
    CANCELLED
  }

  private final class Due implements Timeout, Runnable {
    private final TimerTask task;
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);

    Due(TimerTask task) {
      this.task = task;
    }

    @Override
    public void run() {
      if (!state.compareAndSet(State.WAITING, State.EXPIRED)) {
        return;
      }
      try {
        task.run(this);
      } catch (Exception e) {
        LOG.warn("A timed task threw an exception", e);
      }
    }

    @Override
    public Timer timer() {
      return QuietTimer.this;
    }

    @Override
    public TimerTask task() {
      return task;
    }

    @Override
    public boolean isExpired() {
      return state.get() == State.EXPIRED;
    }

    @Override
    public boolean isCancelled() {
      return state.get() == State.CANCELLED;
    }

    @Override
    public boolean cancel() {
      return state.compareAndSet(State.WAITING, State.CANCELLED);
    }
  }
}
