package dev.sluice.rules.source;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Rules that are fetched again and again, from a backend API for example.
 *
 * <p>While the backend fails or hangs the last good rules stay in force, and {@link #failure()}
 * says so. A fetch hangs when it takes longer than 10 seconds. One thread fetches, the first time
 * too, and only {@link #close} ends it. {@link RuleFiles#parse} turns a fetched text into rules.
 * Thread-safe.
 */
public final class PolledRules implements RuleSource {
  private static final Duration SHORTEST = Duration.ofMillis(1);
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final Duration interval;
  private final Supplier<Rules> backend;
  private final InstantSource clock;
  private final Duration patience;
  private final Standing standing;
  private final Thread thread;
  private final CompletableFuture<Rules> first = new CompletableFuture<>();
  private final CountDownLatch closed = new CountDownLatch(1);
  private volatile @Nullable Instant askedAt;

  private PolledRules(
      Duration interval,
      Supplier<Rules> backend,
      Rules initial,
      InstantSource clock,
      Duration patience) {
    if (interval.compareTo(SHORTEST) < 0 || interval.compareTo(Durations.LONGEST) > 0) {
      throw InvalidValueException.of(
          "interval",
          String.valueOf(interval),
          "%s to %s".formatted(Durations.format(SHORTEST), Durations.format(Durations.LONGEST)));
    }
    this.interval = interval;
    this.backend = backend;
    this.clock = clock;
    this.patience = patience;
    this.standing = new Standing("polled rules", initial, clock);
    this.thread = new Thread(this::follow, "sluice-rules poll");
    thread.setDaemon(true);
  }

  /**
   * Fetches rules now, and then every interval.
   *
   * <p>What the first fetch throws is thrown here. If it hangs, that is an {@link
   * IllegalStateException}.
   */
  public static PolledRules every(Duration interval, Supplier<Rules> backend) {
    return every(interval, backend, InstantSource.system(), PATIENCE);
  }

  /**
   * Begins with the given rules, so that a backend that is away stops nobody from starting.
   *
   * <p>If the first fetch fails or hangs, they are in force, and {@link #failure()} says so.
   */
  public static PolledRules every(Duration interval, Supplier<Rules> backend, Rules first) {
    return every(interval, backend, first, InstantSource.system(), PATIENCE);
  }

  static PolledRules every(
      Duration interval, Supplier<Rules> backend, InstantSource clock, Duration patience) {
    PolledRules rules = new PolledRules(interval, backend, Rules.NONE, clock, patience);
    try {
      rules.start();
      return rules;
    } catch (ExecutionException e) {
      rules.close();
      throw unchecked(e.getCause() == null ? e : e.getCause());
    } catch (TimeoutException e) {
      rules.close();
      throw new IllegalStateException(
          "the backend of the rules has not answered within " + Durations.format(patience), e);
    }
  }

  static PolledRules every(
      Duration interval,
      Supplier<Rules> backend,
      Rules first,
      InstantSource clock,
      Duration patience) {
    PolledRules rules = new PolledRules(interval, backend, first, clock, patience);
    try {
      rules.start();
    } catch (ExecutionException | TimeoutException e) {
      // Begins with the given rules; failure() says what is wrong.
    }
    return rules;
  }

  /** Starts to fetch and waits for the first fetch, if it does not hang. */
  private void start() throws ExecutionException, TimeoutException {
    thread.start();
    try {
      first.get(patience.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ExecutionException(
          new IllegalStateException("interrupted while waiting for the backend of the rules", e));
    }
  }

  private static RuntimeException unchecked(Throwable cause) {
    if (cause instanceof Error error) {
      throw error;
    }
    return cause instanceof RuntimeException exception
        ? exception
        : new IllegalStateException("the backend of the rules failed: " + cause, cause);
  }

  @Override
  public Rules rules() {
    return standing.rules();
  }

  @Override
  public Optional<Failure> failure() {
    Instant asked = askedAt;
    boolean hangs = asked != null && asked.plus(patience).isBefore(clock.instant());
    return standing.failure().isEmpty() && asked != null && hangs
        ? Optional.of(new Failure(asked, "the backend has not answered since " + asked))
        : standing.failure();
  }

  @Override
  public void require(Consumer<Rules> check) {
    standing.require(check);
  }

  @Override
  public void close() {
    closed.countDown();
    thread.interrupt();
    try {
      thread.join(1_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean isClosed() {
    return closed.getCount() == 0;
  }

  private void follow() {
    while (!isClosed()) {
      try {
        fetch();
        closed.await(interval.toNanos(), TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        // Somebody interrupted the backend; only closing ends the thread.
      } catch (Throwable e) {
        // Telling of a failure failed, for want of memory perhaps; the next fetch tells again.
        first.completeExceptionally(e);
      }
    }
  }

  /** Fetches once. Whatever the backend throws is a failure of this fetch and of no later one. */
  private void fetch() {
    askedAt = clock.instant();
    try {
      Rules newest = Objects.requireNonNull(backend.get(), "rules of the backend");
      standing.accept(newest);
      first.complete(newest);
    } catch (Throwable e) {
      refuse(e instanceof RuleErrors ? String.valueOf(e.getMessage()) : e.toString());
      first.completeExceptionally(e);
    } finally {
      askedAt = null;
      // The backend may have left the thread interrupted; that must not cut the pause short.
      Thread.interrupted();
    }
  }

  private void refuse(String reason) {
    if (!isClosed()) {
      standing.refuse(reason);
    }
  }
}
