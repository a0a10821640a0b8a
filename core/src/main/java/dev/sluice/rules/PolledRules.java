package dev.sluice.rules;

import dev.sluice.Durations;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Rules that are fetched again and again, from a backend API for example.
 *
 * <p>While the backend fails or hangs the last good rules stay in force. {@link RuleFiles#parse}
 * turns a fetched text into rules. Thread-safe.
 */
public final class PolledRules implements RuleSource {
  private static final Duration SHORTEST = Duration.ofMillis(1);
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final Duration interval;
  private final Supplier<Rules> backend;
  private final InstantSource clock = InstantSource.system();
  private final Standing standing;
  private final Thread thread;
  private volatile boolean closed;
  private volatile @Nullable Instant askedAt;

  private PolledRules(Duration interval, Supplier<Rules> backend, Rules first) {
    if (interval.compareTo(SHORTEST) < 0 || interval.compareTo(Durations.LONGEST) > 0) {
      throw new IllegalArgumentException(
          "interval: %s (expected: %s to %s)"
              .formatted(
                  interval, Durations.format(SHORTEST), Durations.format(Durations.LONGEST)));
    }
    this.interval = interval;
    this.backend = backend;
    this.standing = new Standing("polled rules", first, clock);
    this.thread = new Thread(this::follow, "sluice-rules poll");
    thread.setDaemon(true);
  }

  /** Fetches rules now, and then every interval; what the first fetch throws is thrown here. */
  public static PolledRules every(Duration interval, Supplier<Rules> backend) {
    Rules first = Objects.requireNonNull(backend.get(), "rules of the backend");
    return started(new PolledRules(interval, backend, first));
  }

  /** Begins with the given rules, so that a backend that is away stops nobody from starting. */
  public static PolledRules every(Duration interval, Supplier<Rules> backend, Rules first) {
    PolledRules rules = new PolledRules(interval, backend, first);
    rules.fetch();
    return started(rules);
  }

  private static PolledRules started(PolledRules rules) {
    rules.thread.start();
    return rules;
  }

  @Override
  public Rules rules() {
    return standing.rules();
  }

  @Override
  public Optional<Failure> failure() {
    Instant asked = askedAt;
    Duration patience = interval.compareTo(PATIENCE) > 0 ? interval : PATIENCE;
    boolean hangs = asked != null && asked.plus(patience).isBefore(clock.instant());
    return standing.failure().isEmpty() && asked != null && hangs
        ? Optional.of(new Failure(asked, "the backend has not answered"))
        : standing.failure();
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    try {
      thread.join(1_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void follow() {
    try {
      while (!closed) {
        TimeUnit.NANOSECONDS.sleep(interval.toNanos());
        fetch();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // closed
    }
  }

  private void fetch() {
    askedAt = clock.instant();
    try {
      standing.accept(Objects.requireNonNull(backend.get(), "rules of the backend"));
    } catch (RuleErrors e) {
      refuse(String.valueOf(e.getMessage()));
    } catch (RuntimeException | LinkageError | StackOverflowError e) {
      refuse(e.toString());
    } finally {
      askedAt = null;
    }
  }

  private void refuse(String reason) {
    if (!closed) {
      standing.refuse(reason);
    }
  }
}
