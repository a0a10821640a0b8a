package dev.sluice.rules.source;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Daemon;
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
 * Rules that are fetched at a fixed interval, for example from a backend API.
 *
 * <p>While the backend fails or hangs, the last good rules stay in force, and {@link #failure()}
 * says so. A fetch hangs if it takes longer than 10 seconds. One thread does all fetches until
 * {@link #close}. {@link RuleFiles#parse} turns a fetched text into rules. Thread-safe.
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
    this.thread = Daemon.thread("sluice-rules poll", this::follow);
  }

  /**
   * Fetches rules now, and then every interval. Throws what the first fetch throws.
   *
   * @throws IllegalStateException if the first fetch hangs
   */
  public static PolledRules every(Duration interval, Supplier<Rules> backend) {
    return every(interval, backend, InstantSource.system(), PATIENCE);
  }

  /**
   * Starts with the given rules, so that an application can start while the backend is down. They
   * stay in force until a fetch succeeds; {@link #failure()} says why.
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
      // Starts with the given rules; failure() says what is wrong.
    }
    return rules;
  }

  /** Starts the thread and waits for the first fetch, unless it hangs. */
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
        // The backend was interrupted; only close() ends the thread.
      } catch (Throwable e) {
        // Reporting a failure failed, perhaps because memory ran out. The next fetch reports it
        // again.
        first.completeExceptionally(e);
      }
    }
  }

  /** Fetches once. An exception of the backend fails this fetch only. */
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
      // The backend may have left the interrupt flag set, which would cut the pause short.
      Thread.interrupted();
    }
  }

  private void refuse(String reason) {
    if (!isClosed()) {
      standing.refuse(reason);
    }
  }
}
