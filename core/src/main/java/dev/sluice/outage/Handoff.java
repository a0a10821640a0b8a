package dev.sluice.outage;

import dev.sluice.internal.Daemon;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs the continuations of callers, off the threads that read from Redis. */
public final class Handoff implements AutoCloseable {
  /*
   * Usually one worker runs all tasks one after another: handing a task to a busy worker costs only
   * a place in a queue. But a task may block. A lookout thread notices when a worker makes no
   * progress while tasks wait. It then retires that worker and starts another one for the queue. A
   * retired worker ends when its task does. Both threads start with the first task: a program that
   * only blocks needs none.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Handoff.class);
  private static final long LOOK_NANOS = 5_000_000;
  private static final int MOST_WORKERS = 256;

  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final Set<Worker> workers = ConcurrentHashMap.newKeySet();
  private final Thread lookout = Daemon.thread("sluice-answers-lookout", this::lookOut);
  private volatile Worker current;
  private volatile boolean begun;
  private volatile boolean lookoutParked;
  private volatile boolean closed;

  /** A handoff whose threads start with the first task. */
  public Handoff() {
    this.current = new Worker();
  }

  /** Runs a task on a worker thread; after closing, on a thread of its own. */
  public void run(Runnable task) {
    tasks.add(task);
    if (closed) {
      Daemon.thread("sluice-answers", this::drain)
          .start(); // the calling thread may be reading from Redis
      return;
    }
    if (!begun) {
      begin();
    }
    Worker worker = current;
    if (worker.parked) {
      LockSupport.unpark(worker.thread);
    }
    if (lookoutParked) {
      LockSupport.unpark(lookout);
    }
  }

  private synchronized void begin() {
    if (!begun) {
      start(current);
      lookout.start();
      begun = true;
    }
  }

  /** Runs tasks that came after the workers ended. */
  private void drain() {
    Runnable task;
    while ((task = tasks.poll()) != null) {
      perform(task);
    }
  }

  private static void perform(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      LOG.error("A continuation of a caller threw an exception", e);
    }
  }

  private void start(Worker worker) {
    workers.add(worker);
    worker.thread.start();
  }

  private void lookOut() {
    while (!closed) {
      Worker watched = current;
      int progress = watched.progress.get();
      lookoutParked = true;
      if (tasks.isEmpty() && !closed) {
        LockSupport.park(this);
      }
      lookoutParked = false;
      pause();
      boolean stuck = watched.progress.get() == progress && !watched.parked && !tasks.isEmpty();
      if (stuck && !closed && workers.size() < MOST_WORKERS) {
        current = new Worker();
        start(current);
      }
    }
  }

  /** Sleeps for a whole interval, even if woken up. */
  private void pause() {
    long end = System.nanoTime() + LOOK_NANOS;
    for (long left = LOOK_NANOS; left > 0 && !closed; left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(lookout);
    workers.forEach(worker -> LockSupport.unpark(worker.thread));
  }

  private final class Worker {
    private final Thread thread = Daemon.thread("sluice-answers", this::work);
    private final AtomicInteger progress = new AtomicInteger();
    private volatile boolean parked;

    private void work() {
      Runnable task;
      while (isCurrent() || !tasks.isEmpty()) {
        task = tasks.poll();
        if (task != null) {
          perform(task);
          progress.lazySet(progress.get() + 1);
          if (!isCurrent()) {
            break;
          }
        } else if (closed) {
          break;
        } else {
          parked = true;
          if (tasks.isEmpty() && isCurrent() && !closed) {
            LockSupport.park(Handoff.this);
          }
          parked = false;
        }
      }
      workers.remove(this);
    }

    @SuppressWarnings("ReferenceEquality")
    private boolean isCurrent() {
      return current == this;
    }
  }
}
