package dev.sluice.redis;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.IdReusedException;
import dev.sluice.Terms;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
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
   * the next batch takes as many of them as FULL_BATCH weighs: the cost of a script call is paid once
   * for all. So batching adds no waiting: whoever waits would have waited for Redis anyway.
   *
   * In a Cluster one call can only touch one slot, so operations do not gather: each goes by itself
   * and the client spreads them over the nodes.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Sender.class);
  private static final CompletionStage<?> DONE = CompletableFuture.completedFuture(null);
  private static final int MOST_FLYING = 3;
  private static final int FULL_BATCH = 128;
  private static final int MOST_WAITING = 100_000;
  private static final Set<String> SLOT_ON_ITS_WAY = Set.of("tryagain", "moved", "ask");
  private static final Set<String> NOT_OURS = Set.of("err", "wrongtype");
  private static final int MOST_TRIES = 30;
  private static final int RESEND_MILLIS = 10;
  private static final int LONGEST_PAUSE_MILLIS = 100;

  private final Link link;
  private final boolean gathers;
  private final LongSupplier testClock;
  private final Runnable onLost;
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
   * @param onLost looks for the master anew: the one we talk to says that it is none, or nothing
   */
  Sender(Link link, boolean gathers, LongSupplier testClock, Runnable onLost) {
    this.link = link;
    this.gathers = gathers;
    this.testClock = testClock;
    this.onLost = onLost;
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
        CompletionStage<?> landing = flyNext();
        if (landing
            .toCompletableFuture()
            .isDone()) { // not by a callback: a long queue that fails at once would nest it
          flying.decrementAndGet();
        } else {
          landing.whenComplete(
              (done, error) -> {
                flying.decrementAndGet();
                sendWaiting();
              });
        }
      }
    }
  }

  /** Sends the next batch. What nobody waits for any more is not sent. */
  private CompletionStage<?> flyNext() {
    Batch batch = new Batch(this::encode, false);
    int polled = 0;
    Operation<?> next;
    while (batch.weight() < FULL_BATCH && (next = waiting.poll()) != null) {
      polled++;
      if (!next.answer.isDone()) {
        batch.add(next, true);
      }
    }
    waitingCount.addAndGet(-polled);
    return fly(batch, 1, List.of(estimatedNow()));
  }

  private void sendAgain(Operation<?> operation, int tries) {
    if (!operation.answer.isDone()) { // someone may have stopped waiting in the pause
      sendAlone(operation, true, tries, List.of(estimatedNow()));
    }
  }

  private void sendAlone(Operation<?> operation, boolean quickly, int tries, List<Long> moments) {
    if (operation.answer.isDone()) {
      return; // it was given up meanwhile
    }
    Batch batch = new Batch(this::encode, !gathers);
    batch.add(operation, quickly);
    fly(batch, tries, moments);
  }

  private EncodedTerms encode(Terms terms) {
    return encoded.get(terms, EncodedTerms::new);
  }

  /** Sends a batch; done when each of its calls was answered, if only by NOSCRIPT. */
  private CompletionStage<?> fly(Batch batch, int tries, List<Long> moments) {
    long test = testClock.getAsLong();
    Batch.ScriptCall quick;
    Batch.ScriptCall plain;
    Batch.ScriptCall whole;
    try {
      quick = batch.quickCall(test);
      plain = batch.plainCall(test);
      whole = batch.wholeCall(test, moments);
    } catch (RuntimeException bug) {
      batch.fail(bug);
      return DONE;
    }
    Consumer<Operation<?>> slow = operation -> sendAlone(operation, false, tries, moments);
    CompletionStage<?> done = DONE;
    if (quick != null) {
      done = run(quick, tries, replies -> batch.readQuick(replies, slow));
    }
    if (plain != null) {
      done = both(done, run(plain, tries, replies -> batch.readPlain(replies, slow)));
    }
    if (whole != null) {
      done = both(done, run(whole, tries, replies -> readWhole(whole, replies, tries, moments)));
    }
    return done;
  }

  @SuppressWarnings("ReferenceEquality") // DONE stands for nothing to wait for
  private static CompletionStage<?> both(CompletionStage<?> a, CompletionStage<?> b) {
    return a == DONE ? b : a.thenCombine(b, (x, y) -> x);
  }

  private CompletionStage<?> run(Batch.ScriptCall call, int tries, Consumer<List<Object>> reader) {
    try {
      return link.run(call, (replies, error) -> read(call, tries, reader, replies, error));
    } catch (RuntimeException | Error e) {
      read(call, tries, reader, null, e);
      return DONE;
    }
  }

  private void read(
      Batch.ScriptCall call,
      int tries,
      Consumer<List<Object>> reader,
      @Nullable List<Object> replies,
      @Nullable Throwable error) {
    try {
      if (replies == null) {
        fail(call, Objects.requireNonNull(error), tries);
      } else {
        List<Object> numbers = Script.numbers(replies);
        learnClock((Long) numbers.get(0));
        reader.accept(numbers);
      }
    } catch (RuntimeException | Error bug) {
      call.operations().forEach(each -> each.answer.completeExceptionally(bug));
    }
  }

  private void learnClock(long redisNow) {
    if (testClock.getAsLong() == 0) {
      clockOffset = redisNow - System.currentTimeMillis() * 1_000;
    }
  }

  private void readWhole(
      Batch.ScriptCall call, List<Object> replies, int tries, List<Long> moments) {
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
    R answer;
    try {
      answer = operation.read(reply);
    } catch (IdReusedException e) { // the mistake of one caller, not of the others in the batch
      operation.answer.completeExceptionally(e);
      return;
    }
    operation.answer.complete(answer);
  }

  /** Sends again what was certainly not done, or is safe to do again; fails the rest. */
  private void fail(Batch.ScriptCall call, Throwable error, int tries) {
    StoreFault fault = StoreFault.of(error);
    // The script for one plan fails before it writes, at a value that is not ours.
    if (call.script().equals(Script.ONE) && NOT_OURS.contains(fault.kind())) {
      call.operations().forEach(each -> sendAlone(each, false, tries, List.of(estimatedNow())));
      return;
    }
    if (fault.kind().equals("readonly") || fault.kind().equals("timeout")) {
      onLost.run();
    }
    boolean refused = fault.kind().equals("disconnected");
    boolean resending = fault.unclear() || (tries > 1 && refused);
    // A Cluster refuses commands while it connects to a node for the first time.
    boolean tryAgain = SLOT_ON_ITS_WAY.contains(fault.kind()) || (refused && !gathers);
    for (Operation<?> operation : call.operations()) {
      boolean resend =
          tries < MOST_TRIES
              && !operation.answer.isDone()
              && (tryAgain || (resending && operation.isSafeToResend()));
      if (resend) {
        int pause = Math.min(tries * RESEND_MILLIS, LONGEST_PAUSE_MILLIS);
        CompletableFuture.delayedExecutor(pause, TimeUnit.MILLISECONDS)
            .execute(() -> sendAgain(operation, tries + 1));
      } else {
        operation.answer.completeExceptionally(fault);
      }
    }
  }
}
