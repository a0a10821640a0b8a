package dev.sluice.bench.load;

import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.IntToLongFunction;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** A load of several callers, each of which sends its next call when it has the answer. */
public final class ClosedLoop {
  /*
   * In a closed loop a slow answer delays the caller's next call, so the latencies leave out calls
   * that would have come meanwhile (coordinated omission). There is no target rate to correct them
   * by. Read them together with the rate of calls, which falls when answers are slow.
   */
  private static final int LONGEST_WAIT_SECONDS = 30;

  /** A different seed for each loop: with equal ones, some identities would use up their limit. */
  private static final AtomicLong LOOPS = new AtomicLong();

  private final Function<String, CompletionStage<Boolean>> asked;
  private final String[] identities;
  private final long endNanos;
  private final ConcurrentHistogram nanos =
      new ConcurrentHistogram(TimeUnit.SECONDS.toNanos(LONGEST_WAIT_SECONDS), 3);
  private final LongAdder passed = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final CountDownLatch under;
  private final long seed = LOOPS.getAndIncrement() << Integer.SIZE;

  /** The result of a loop. */
  public record Seen(Histogram nanos, double seconds, long passed, long failed) {
    long decisions() {
      return nanos.getTotalCount();
    }

    public double perSecond() {
      return decisions() / seconds;
    }
  }

  private ClosedLoop(
      Function<String, CompletionStage<Boolean>> asked,
      String[] identities,
      int inFlight,
      long endNanos) {
    this.asked = asked;
    this.identities = identities;
    this.endNanos = endNanos;
    this.under = new CountDownLatch(inFlight);
  }

  /** Sends calls for random identities for this time. */
  public static Seen run(
      Function<String, CompletionStage<Boolean>> asked,
      String[] identities,
      int inFlight,
      long millis) {
    long start = System.nanoTime();
    ClosedLoop loop = new ClosedLoop(asked, identities, inFlight, start + millis * 1_000_000);
    return loop.run(inFlight, start, lane -> Long.MAX_VALUE, false);
  }

  /** Sends one call for each identity. */
  public static Seen each(
      Function<String, CompletionStage<Boolean>> asked, String[] identities, int inFlight) {
    long start = System.nanoTime();
    ClosedLoop loop = new ClosedLoop(asked, identities, inFlight, Long.MAX_VALUE);
    IntToLongFunction share = lane -> (identities.length - lane + inFlight - 1) / inFlight;
    return loop.run(inFlight, start, share, true);
  }

  private Seen run(int inFlight, long start, IntToLongFunction share, boolean inOrder) {
    for (int i = 0; i < inFlight; i++) {
      new Lane(i, inFlight, share.applyAsLong(i), inOrder).go();
    }
    try {
      if (!under.await(LONGEST_WAIT_SECONDS * 4L, TimeUnit.SECONDS)) {
        throw new IllegalStateException("no answer within " + LONGEST_WAIT_SECONDS * 4 + " s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
    return new Seen(nanos, (System.nanoTime() - start) / 1e9, passed.sum(), failed.sum());
  }

  /** One caller. */
  private final class Lane {
    private final SplittableRandom
        random; // Random gives similar first values for neighbouring seeds
    private final int step;
    private final boolean inOrder;
    private long left;
    private int at;
    private long startedAt;

    Lane(int number, int step, long left, boolean inOrder) {
      this.random = new SplittableRandom(seed + number);
      this.step = step;
      this.left = left;
      this.inOrder = inOrder;
      this.at = number;
    }

    void go() {
      while (left-- > 0 && System.nanoTime() < endNanos) {
        startedAt = System.nanoTime();
        CompletableFuture<Boolean> answer = asked.apply(next()).toCompletableFuture();
        if (!answer.isDone()) {
          CompletableFuture<Boolean> unused = answer.whenComplete(this::goOn);
          return;
        }
        CompletableFuture<Boolean> counted = answer.whenComplete(this::count);
        assert counted.isDone();
      }
      under.countDown();
    }

    private String next() {
      if (inOrder) {
        int now = at;
        at += step;
        return identities[now];
      }
      return identities[random.nextInt(identities.length)];
    }

    private void goOn(@Nullable Boolean pass, @Nullable Throwable failure) {
      count(pass, failure);
      go();
    }

    private void count(@Nullable Boolean pass, @Nullable Throwable failure) {
      nanos.recordValue(
          Math.min(System.nanoTime() - startedAt, TimeUnit.SECONDS.toNanos(LONGEST_WAIT_SECONDS)));
      if (failure != null) {
        failed.increment();
      } else if (Boolean.TRUE.equals(pass)) {
        passed.increment();
      }
    }
  }
}
