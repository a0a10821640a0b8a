package dev.sluice.redis;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.Terms;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends operations to one Redis, or one slot of a Cluster at a time, in as few calls as it can. */
final class Sender {
  /*
   * An idle sender sends at once. While MOST_FLYING batches are under way, operations gather, and
   * the next batch takes up to MOST_IN_BATCH of them: the cost of a script call is paid once for
   * all. So batching adds no waiting: whoever waits would have waited for Redis anyway.
   *
   * In a Cluster one call can only touch one slot, so operations do not gather: each goes by itself
   * and the client spreads them over the nodes.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Sender.class);
  private static final int MOST_FLYING = 2;
  private static final int MOST_IN_BATCH = 64;
  private static final int MOST_WAITING = 100_000;
  private static final int MOST_TRIES = 10;
  private static final int RESEND_MILLIS = 10;

  private final Link link;
  private final boolean gathers;
  private final LongSupplier testClock;
  private final Runnable onReadOnly;
  private final Queue<Operation<?>> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waitingCount = new AtomicInteger();
  private final AtomicInteger flying = new AtomicInteger();
  private final AtomicLong foreign = new AtomicLong();
  private final Cache<Terms, EncodedTerms> encoded =
      Caffeine.newBuilder().weakKeys().executor(Runnable::run).build();
  private volatile long clockOffset;

  /**
   * A sender.
   *
   * @param testClock microseconds to use in place of Redis' clock, or 0 for Redis' own
   * @param onReadOnly finds the new master when the old one says that it is none
   */
  Sender(Link link, boolean gathers, LongSupplier testClock, Runnable onReadOnly) {
    this.link = link;
    this.gathers = gathers;
    this.testClock = testClock;
    this.onReadOnly = onReadOnly;
  }

  <R> CompletableFuture<R> send(Operation<R> operation) {
    if (!gathers) {
      sendAlone(operation, true, 1, List.of(estimatedNow()));
      return operation.answer;
    }
    if (waitingCount.incrementAndGet() > MOST_WAITING) {
      waitingCount.decrementAndGet();
      operation.answer.completeExceptionally(
          new StoreFault(
              "overload",
              false,
              "more than " + MOST_WAITING + " operations wait for Redis",
              new IllegalStateException("queue full")));
      return operation.answer;
    }
    waiting.add(operation);
    sendWaiting();
    return operation.answer;
  }

  /** Values under our keys that were not ours and have been replaced. */
  long foreignValues() {
    return foreign.get();
  }

  /** Redis' clock, as far as this node knows it. */
  long estimatedNow() {
    long test = testClock.getAsLong();
    return test != 0 ? test : System.currentTimeMillis() * 1_000 + clockOffset;
  }

  private void sendWaiting() {
    while (!waiting.isEmpty()) {
      int now = flying.get();
      if (now >= MOST_FLYING) {
        return;
      }
      if (flying.compareAndSet(now, now + 1)) {
        Batch batch = new Batch(this::encode);
        int size = 0;
        Operation<?> next;
        while (size < MOST_IN_BATCH && (next = waiting.poll()) != null) {
          batch.add(next, true);
          size++;
        }
        waitingCount.addAndGet(-size);
        if (size == 0) {
          flying.decrementAndGet();
        } else {
          fly(batch, 1, List.of(estimatedNow()))
              .whenComplete(
                  (done, error) -> {
                    flying.decrementAndGet();
                    sendWaiting();
                  });
        }
      }
    }
  }

  private void sendAlone(Operation<?> operation, boolean quickly, int tries, List<Long> moments) {
    Batch batch = new Batch(this::encode);
    batch.add(operation, quickly);
    fly(batch, tries, moments);
  }

  private EncodedTerms encode(Terms terms) {
    return encoded.get(terms, EncodedTerms::new);
  }

  /** Sends a batch; done when each of its calls was answered. */
  private CompletionStage<?> fly(Batch batch, int tries, List<Long> moments) {
    long test = testClock.getAsLong();
    Batch.ScriptCall quick = batch.quickCall(test);
    Batch.ScriptCall whole = batch.wholeCall(test, moments);
    CompletionStage<?> quickDone =
        run(
            quick,
            tries,
            replies -> batch.readQuick(replies, slow -> sendAlone(slow, false, tries, moments)));
    CompletionStage<?> wholeDone =
        run(whole, tries, replies -> readWhole(whole, replies, tries, moments));
    return quick == null ? wholeDone : whole == null ? quickDone : both(quickDone, wholeDone);
  }

  private static CompletionStage<?> both(CompletionStage<?> a, CompletionStage<?> b) {
    return a.thenCombine(b, (x, y) -> x);
  }

  private CompletionStage<?> run(
      Batch.@Nullable ScriptCall call, int tries, Consumer<List<Object>> reader) {
    if (call == null) {
      return CompletableFuture.completedFuture(null);
    }
    CompletionStage<List<Object>> stage;
    try {
      stage = link.run(call);
    } catch (RuntimeException e) {
      stage = CompletableFuture.failedFuture(e);
    }
    return stage
        .handle(
            (replies, error) -> {
              if (error != null) {
                fail(call, error, tries);
              } else {
                learnClock((Long) replies.get(0));
                reader.accept(replies);
              }
              return null;
            })
        .exceptionally(
            bug -> {
              call.operations().forEach(each -> each.answer.completeExceptionally(bug));
              return null;
            });
  }

  private void learnClock(long redisNow) {
    if (testClock.getAsLong() == 0) {
      clockOffset = redisNow - System.currentTimeMillis() * 1_000;
    }
  }

  private void readWhole(
      Batch.@Nullable ScriptCall call, List<Object> replies, int tries, List<Long> moments) {
    if (call == null) {
      return;
    }
    long strangers = (Long) replies.get(1);
    if (strangers > 0) {
      foreign.addAndGet(strangers);
      LOG.warn("Replaced {} values under Sluice's keys that Sluice did not write", strangers);
    }
    for (int i = 0; i < call.operations().size(); i++) {
      Operation<?> operation = call.operations().get(i);
      Object reply = replies.get(i + 2);
      Long moment = Operation.Judge.lacksRounds(reply);
      if (moment == null) {
        complete(operation, reply);
      } else if (tries < MOST_TRIES) {
        List<Long> more = new ArrayList<>(moments);
        more.add(moment);
        sendAlone(operation, false, tries + 1, more);
      } else {
        operation.answer.completeExceptionally(
            new StoreFault(
                "clock",
                false,
                "Redis' clock moves too fast for calendar windows",
                new IllegalStateException("moment " + moment)));
      }
    }
  }

  private static <R> void complete(Operation<R> operation, Object reply) {
    operation.answer.complete(operation.read(reply));
  }

  /** Sends again what was certainly not done, or is safe to do again; fails the rest. */
  private void fail(Batch.ScriptCall call, Throwable error, int tries) {
    StoreFault fault = StoreFault.of(error);
    if (fault.kind().equals("readonly")) {
      onReadOnly.run();
    }
    boolean refused = fault.kind().equals("disconnected");
    boolean resending = fault.unclear() || (tries > 1 && refused);
    // A Cluster refuses commands while it connects to a node for the first time.
    boolean tryAgain = fault.kind().equals("tryagain") || (refused && !gathers);
    for (Operation<?> operation : call.operations()) {
      boolean resend =
          tries < MOST_TRIES
              && !operation.answer.isDone()
              && (tryAgain || (resending && operation.isSafeToResend()));
      if (resend) {
        CompletableFuture.delayedExecutor(RESEND_MILLIS, TimeUnit.MILLISECONDS)
            .execute(() -> sendAlone(operation, true, tries + 1, List.of(estimatedNow())));
      } else {
        operation.answer.completeExceptionally(fault);
      }
    }
  }
}
