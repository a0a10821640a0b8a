package dev.sluice.redis.wire;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.IdReusedException;
import dev.sluice.Terms;
import dev.sluice.internal.Answer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends operations to Redis in as few calls as possible. Thread-safe. */
public final class Sender {
  /*
   * Operations that one call can carry share a queue (a line): on a single Redis all of them, in a
   * Cluster those of a partition, which is in one slot. An idle line sends at once. While a line
   * has its maximum number of calls under way, operations accumulate. The next call takes up to
   * FULL_BATCH of them, so they share the cost of one call. Batching adds no delay, because these
   * operations would have waited for Redis anyway.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Sender.class);
  private static final int MOST_FLYING = 3;
  private static final int MOST_FLYING_IN_A_PARTITION = 1;
  private static final int FULL_BATCH = 128;
  private static final int MOST_WAITING = 100_000;
  private static final Set<String> SLOT_ON_ITS_WAY = Set.of("tryagain", "moved", "ask");
  private static final int MOST_TRIES = 30;
  private static final int RESEND_MILLIS = 10;
  private static final int LONGEST_PAUSE_MILLIS = 100;

  /** Redis remembers settlements for at least twice as long (see settle.lua). */
  private static final long LONGEST_RESENT_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Link link;
  private final boolean isCluster;
  private final LongSupplier testClock;
  private final Runnable onLost;
  private final Line[] lines;
  private final AtomicInteger waitingCount = new AtomicInteger();
  private final AtomicLong foreign = new AtomicLong();
  private final Cache<Terms, EncodedTerms> encoded =
      Caffeine.newBuilder().weakKeys().executor(Runnable::run).build();
  private volatile long clockOffset;

  /**
   * A sender.
   *
   * @param testClock microseconds to use instead of the clock of Redis; 0 for the clock of Redis
   * @param onLost called when the node is no longer master or stops answering
   */
  public Sender(Link link, boolean isCluster, LongSupplier testClock, Runnable onLost) {
    this.link = link;
    this.isCluster = isCluster;
    this.testClock = testClock;
    this.onLost = onLost;
    this.lines = new Line[isCluster ? Keyspace.PARTITIONS : 1];
    for (int i = 0; i < lines.length; i++) {
      lines[i] = new Line(isCluster ? MOST_FLYING_IN_A_PARTITION : MOST_FLYING);
    }
  }

  /** Sends an operation on accounts of one partition; on a single Redis, of any. */
  public <R> CompletableFuture<R> send(Operation<R> operation, int partition) {
    Answer<R> answer = new Answer<>();
    send(operation, partition, answer);
    return answer;
  }

  /** Sends an operation, and passes on its result or error. */
  public <R> void send(
      Operation<R> operation, int partition, BiConsumer<@Nullable R, @Nullable Throwable> then) {
    operation.then(then);
    if (waitingCount.incrementAndGet() > MOST_WAITING) {
      waitingCount.decrementAndGet();
      operation.fail(
          new StoreFault(
              "overload",
              false,
              "more than " + MOST_WAITING + " operations wait for Redis",
              new IllegalStateException("queue full")));
      return;
    }
    lines[isCluster ? partition : 0].send(operation);
  }

  /** The number of values under our keys that Sluice did not write and replaced. */
  public long foreignValues() {
    return foreign.get();
  }

  /** The clock of Redis, as far as this node knows it. */
  public long estimatedNow() {
    long test = testClock.getAsLong();
    return test != 0 ? test : System.currentTimeMillis() * 1_000 + clockOffset;
  }

  /** A queue of operations that one call can carry. */
  private final class Line {
    private final Queue<Operation<?>> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicInteger flying = new AtomicInteger();
    private final int mostFlying;

    Line(int mostFlying) {
      this.mostFlying = mostFlying;
    }

    void send(Operation<?> operation) {
      waiting.add(operation);
      sendWaiting();
    }

    private void sendWaiting() {
      while (!waiting.isEmpty()) {
        int now = flying.get();
        if (now >= mostFlying) {
          return;
        }
        // A loop, not a callback: a long queue that fails at once would nest callbacks.
        if (flying.compareAndSet(now, now + 1) && !flyNext()) {
          flying.decrementAndGet();
        }
      }
    }

    private void landed() {
      flying.decrementAndGet();
      sendWaiting();
    }

    /**
     * Sends the next batch, without operations that nobody waits for any more. Returns whether it
     * is under way.
     */
    private boolean flyNext() {
      Batch batch = new Batch(false);
      int polled = 0;
      Operation<?> next;
      while (batch.weight() < FULL_BATCH && (next = waiting.poll()) != null) {
        polled++;
        if (!next.isDone()) {
          batch.add(next);
        }
      }
      waitingCount.addAndGet(-polled);
      return !batch.isEmpty() && fly(batch, Manner.first(moments()), this::landed);
    }
  }

  /**
   * How a call is sent.
   *
   * @param tries which attempt this is, counted from 1
   * @param reads whether the call must not write, because Redis is full
   * @param full the error of the full Redis
   * @param moments the times whose calendar windows are sent along
   * @param firstSentNanos when it was first sent
   */
  private record Manner(
      int tries,
      boolean reads,
      @Nullable StoreFault full,
      List<Long> moments,
      long firstSentNanos) {
    static Manner first(List<Long> moments) {
      return new Manner(1, false, null, moments, System.nanoTime());
    }

    Manner next(List<Long> otherMoments) {
      return new Manner(tries + 1, reads, full, otherMoments, firstSentNanos);
    }

    Manner reading(StoreFault fault) {
      return new Manner(tries + 1, true, fault, moments, firstSentNanos);
    }

    boolean mayResend() {
      return tries < MOST_TRIES && System.nanoTime() - firstSentNanos < LONGEST_RESENT_NANOS;
    }
  }

  private List<Long> moments() {
    return List.of(estimatedNow());
  }

  private void sendAlone(Operation<?> operation, Manner manner) {
    if (!operation.isDone()) { // the caller may have stopped waiting meanwhile
      Batch batch = new Batch(false);
      batch.add(operation);
      fly(batch, manner, () -> {});
    }
  }

  /** Sends a batch. Returns whether {@code landed} runs, once Redis has answered. */
  private boolean fly(Batch batch, Manner manner, Runnable landed) {
    Batch.Request request;
    try {
      request =
          batch.request(
              this::encode, manner.reads, testClock.getAsLong(), manner.moments, isCluster);
    } catch (RuntimeException | Error bug) {
      batch.fail(bug);
      return false;
    }
    return link.run(
        request, manner.reads, (reply, error) -> read(request, manner, reply, error), landed);
  }

  private EncodedTerms encode(Terms terms) {
    return encoded.get(terms, EncodedTerms::new);
  }

  private void read(
      Batch.Request request, Manner manner, byte @Nullable [] bytes, @Nullable Throwable error) {
    try {
      if (bytes == null || error != null) {
        fail(request, Objects.requireNonNull(error), manner);
      } else {
        read(request, manner, new Reply(bytes));
      }
    } catch (RuntimeException | Error bug) {
      request.operations.forEach(each -> each.fail(bug));
    }
  }

  private void read(Batch.Request request, Manner manner, Reply reply) {
    if (testClock.getAsLong() == 0) {
      clockOffset = reply.now - System.currentTimeMillis() * 1_000;
    }
    if (reply.foreign > 0) {
      foreign.addAndGet(reply.foreign);
      LOG.warn("Replaced {} values under Sluice's keys that Sluice did not write", reply.foreign);
    }
    Batch rest = new Batch(true);
    for (Operation<?> operation : request.operations) {
      long verdict = reply.peek();
      if (verdict == Reply.NOT_PLAIN) {
        reply.next();
        rest.add(operation);
      } else if (verdict == Reply.LACKS_ROUND) {
        reply.next();
        sendWithRounds(operation, manner, reply.next());
      } else if (verdict == Reply.ID_REUSED) {
        reply.next();
        operation.fail(
            new IdReusedException(
                operation instanceof JudgeOperation judge
                    ? String.valueOf(judge.plan.id())
                    : "of a receipt"));
      } else if (verdict == Reply.MAY_NOT_WRITE) {
        reply.next();
        operation.fail(Objects.requireNonNull(manner.full));
      } else {
        complete(operation, reply);
      }
    }
    if (!rest.isEmpty()) {
      fly(rest, manner.next(manner.moments), () -> {});
    }
  }

  private void sendWithRounds(Operation<?> operation, Manner manner, long moment) {
    if (manner.tries < MOST_TRIES) {
      List<Long> more = new ArrayList<>(manner.moments);
      more.add(moment);
      sendAlone(operation, manner.next(more));
    } else {
      operation.fail(
          new StoreFault(
              "clock",
              false,
              "Redis' clock moves too fast for calendar windows",
              new IllegalStateException("moment " + moment)));
    }
  }

  private static <R> void complete(Operation<R> operation, Reply reply) {
    operation.succeed(operation.read(reply));
  }

  /** Sends again what was certainly not done or is safe to repeat; fails the rest. */
  private void fail(Batch.Request request, Throwable error, Manner manner) {
    StoreFault fault = StoreFault.of(error);
    if (fault.kind().equals("readonly") || fault.kind().equals("timeout")) {
      onLost.run();
    }
    boolean refused = fault.kind().equals("disconnected");
    boolean resending = fault.unclear() || (manner.tries > 1 && refused);
    // The client of a Cluster rejects commands while it connects to a node for the first time.
    boolean tryAgain = SLOT_ON_ITS_WAY.contains(fault.kind()) || (refused && isCluster);
    boolean isFull = fault.kind().equals("oom") && !manner.reads;
    for (Operation<?> operation : request.operations) {
      boolean resend =
          manner.mayResend()
              && !operation.isDone()
              && (tryAgain || (resending && operation.isSafeToResend()));
      if (isFull && operation instanceof JudgeOperation) {
        sendAlone(operation, manner.reading(fault)); // a denial needs no memory
      } else if (resend) {
        int pause = Math.min(manner.tries * RESEND_MILLIS, LONGEST_PAUSE_MILLIS);
        CompletableFuture.delayedExecutor(pause, TimeUnit.MILLISECONDS)
            .execute(() -> sendAlone(operation, manner.next(moments())));
      } else {
        operation.fail(fault);
      }
    }
  }
}
