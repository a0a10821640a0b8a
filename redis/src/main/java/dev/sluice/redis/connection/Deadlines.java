package dev.sluice.redis.connection;

import dev.sluice.internal.Daemon;
import dev.sluice.redis.wire.Operation;
import dev.sluice.redis.wire.StoreFault;
import io.netty.channel.Channel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Fails calls that Redis does not answer within the deadline, which is the same for all.
 * Thread-safe.
 */
public final class Deadlines implements AutoCloseable {
  /*
   * A deadline must measure Redis, not this process. While the process is paused (a garbage
   * collection, a stopped container, a sleeping laptop) the replies of Redis pile up in the socket.
   * A plain timer would then fail calls whose answers have already arrived. Therefore:
   *
   *   - Time is what the watching thread saw pass: each of its wake-ups counts for two steps at most,
   *     however late it came. A pause costs every call a few milliseconds, not its deadline.
   *   - A call that is due is checked on the event loop of the connection, which reads what has
   *     arrived before it runs such a task. If that brought anything, the check is put off once.
   *   - If the event loop itself hangs, the watching thread fails the calls.
   *
   * All deadlines are equally long, so calls fall due in the order in which they began. A queue for
   * each Redis node and one thread suffice, at the cost of one queue entry per call.
   */
  private static final long LOOP_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final long deadlineNanos;
  private final long stepNanos;
  private final String message;
  private final List<Line> lines = new CopyOnWriteArrayList<>();
  private final Thread watcher;
  private volatile long awakeNanos;
  private volatile boolean closed;
  private volatile boolean parked;

  /**
   * A call that waits. The thread that removes it from the queue completes it. Compared by
   * identity.
   */
  private static final class Waiting {
    private final Operation<?> operation;
    private final long dueNanos;
    private final long reads;

    Waiting(Operation<?> operation, long dueNanos, long reads) {
      this.operation = operation;
      this.dueNanos = dueNanos;
      this.reads = reads;
    }
  }

  /** Starts the watching thread. */
  public Deadlines(Duration deadline) {
    this.deadlineNanos = deadline.toNanos();
    this.stepNanos = Math.max(500_000, Math.min(5_000_000, deadlineNanos / 10));
    this.message = "Redis gave no answer within " + deadline.toMillis() + " ms";
    this.watcher = Daemon.thread("sluice-deadlines", this::watch);
    watcher.start();
  }

  /** The deadlines of the calls to one Redis node. */
  public Line line(Pulse.Meter meter) {
    Line line = new Line(meter);
    lines.add(line);
    return line;
  }

  private void watch() {
    long lastNanos = System.nanoTime();
    long awake = 0;
    while (!closed) {
      if (isIdle()) {
        parked = true;
        if (isIdle() && !closed) {
          LockSupport.park(this);
        }
        parked = false;
        lastNanos = System.nanoTime();
      }
      LockSupport.parkNanos(this, stepNanos);
      long now = System.nanoTime();
      long elapsed = now - lastNanos;
      if (elapsed >= stepNanos / 2) {
        lastNanos = now;
        awake += Math.min(elapsed, 2 * stepNanos);
        awakeNanos = awake;
        for (Line line : lines) {
          line.tick();
        }
        dropRetired();
      }
    }
    lines.forEach(Line::failAll);
  }

  private void dropRetired() {
    synchronized (lines) {
      lines.removeIf(line -> line.retired && line.queue.isEmpty());
    }
  }

  private boolean isIdle() {
    for (Line line : lines) {
      if (!line.queue.isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** The calls to one Redis node, in the order in which they fall due. */
  public final class Line {
    private final ConcurrentLinkedQueue<Waiting> queue = new ConcurrentLinkedQueue<>();
    private final Pulse.Meter meter;
    private volatile boolean looking;
    private volatile boolean retired;
    private long lookingSinceNanos;

    Line(Pulse.Meter meter) {
      this.meter = meter;
    }

    /** Fails a call at its deadline. A call that was not sent by then need not be sent. */
    public void watch(Operation<?> operation) {
      // The clock may be one step behind, so one step is added: no call falls due too early.
      long due = awakeNanos + stepNanos + deadlineNanos;
      queue.add(new Waiting(operation, due, meter.reads()));
      if (retired) {
        takeUp();
      }
      if (closed) {
        failAll();
      } else if (parked) {
        LockSupport.unpark(watcher);
      }
    }

    /** Retires this line as soon as no call waits in it; always true. */
    public boolean retire() {
      retired = true;
      return true;
    }

    /** Revives a retired line for a call that came late. */
    private void takeUp() {
      synchronized (lines) {
        if (!lines.contains(this)) {
          lines.add(this);
        }
      }
    }

    private void tick() {
      Waiting head = queue.peek();
      while (head != null && head.operation.isDone()) {
        queue.remove(
            head); // not poll(): an event loop may have removed it, and the next one is not done
        head = queue.peek();
      }
      if (looking) {
        if (awakeNanos - lookingSinceNanos > LOOP_PATIENCE_NANOS) {
          failDue();
          looking = false;
        }
      } else if (head != null && head.dueNanos <= awakeNanos) {
        looking = true;
        lookingSinceNanos = awakeNanos;
        look(meter.channels(), meter.reads(), true);
      }
    }

    /** Lets each event loop of the node read what has arrived, then fails what is due. */
    private void look(List<Channel> channels, long reads, boolean mayPutOff) {
      if (!channels.isEmpty()) {
        try {
          channels
              .get(0)
              .eventLoop()
              .execute(() -> look(channels.subList(1, channels.size()), reads, mayPutOff));
          return;
        } catch (RejectedExecutionException shutDown) {
          // the event loop has shut down
        }
      } else if (mayPutOff && meter.reads() != reads) {
        look(meter.channels(), meter.reads(), false);
        return;
      }
      failDue();
      looking = false;
    }

    /** Fails what is due. An event loop and the watching thread may run it at the same time. */
    private void failDue() {
      Waiting head = queue.peek();
      while (head != null && (head.operation.isDone() || head.dueNanos <= awakeNanos)) {
        if (queue.remove(head)) {
          head.operation.fail(StoreFault.timeout(message, head.reads == meter.reads()));
        }
        head = queue.peek();
      }
    }

    private void failAll() {
      Waiting next;
      while ((next = queue.poll()) != null) {
        next.operation.fail(
            StoreFault.timeout("The store was closed before Redis answered", false));
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(watcher);
  }
}
