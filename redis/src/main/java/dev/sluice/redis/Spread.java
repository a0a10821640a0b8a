package dev.sluice.redis;

import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.StoreFault;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How accounts are spread over the partitions of a Cluster: by a hash with a secret that is stored
 * in it. Thread-safe.
 */
public final class Spread {
  /*
   * The secret is one string without a TTL, 16 hex digits. SET NX creates it, so nodes that start
   * together agree. Every node that decides calls reads it once a second and writes it back if it
   * is missing. A node that decides none does so every ten seconds.
   *
   * If a flush and a new node coincide, a node may use another secret than the rest for up to a
   * second and count separately. That does little harm: the flush has erased all counts anyway.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Spread.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration IDLE_INTERVAL = Duration.ofSeconds(10);

  /** The client rejects commands while it connects to a node for the first time. */
  private static final Duration FIRST_INTERVAL = Duration.ofMillis(20);

  private static final Duration QUIET = Duration.ofSeconds(1);
  private static final int DIGITS = 16;
  private static final Pattern TEXT = Pattern.compile("[0-9a-f]{" + DIGITS + "}");

  private final Topology topology;
  private final CompletableFuture<Keyspace> first = new CompletableFuture<>();
  private volatile @Nullable Keyspace keyspace;
  private volatile boolean used;
  private final long sinceNanos = System.nanoTime();

  // Used by one look at a time.
  private String known = "";
  private String trouble = "";
  private long lookedNanos;

  /** Starts to read the secret. */
  Spread(Topology topology) {
    this.topology = topology;
    if (topology.isCluster()) {
      topology.soon(Duration.ZERO, this::look);
    } else {
      adopt(Keyspace.UNKEYED);
    }
  }

  /**
   * The keyspace to use now.
   *
   * @throws StoreFault if the secret has not been read yet
   */
  Keyspace keyspace() {
    Keyspace found = keyspace;
    if (!used) {
      used = true;
    }
    if (found == null) {
      StoreFault unreached = topology.unreached();
      throw new StoreFault(
          unreached == null ? "disconnected" : unreached.kind(),
          false,
          unknown().orElse(""),
          unreached == null ? new IllegalStateException(Keyspace.SPREAD_KEY) : unreached);
    }
    return found;
  }

  /** Why the keyspace is not known yet; empty if it is. */
  Optional<String> unknown() {
    if (keyspace != null) {
      return Optional.empty();
    }
    StoreFault unreached = topology.unreached();
    return Optional.of(
        unreached == null
            ? "how accounts are spread over Redis at " + topology + " has not been read yet"
            : String.valueOf(unreached.getMessage()));
  }

  /** Waits for the secret, but no longer than {@code patience}. */
  void await(Duration patience) {
    try {
      first.get(patience.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.debug("{} has not been read yet", Keyspace.SPREAD_KEY, e);
    }
  }

  private void adopt(Keyspace found) {
    keyspace = found;
    first.complete(found);
  }

  private void lookIfDue() {
    if (used || System.nanoTime() - lookedNanos >= IDLE_INTERVAL.toNanos()) {
      look();
    } else {
      topology.soon(INTERVAL, this::lookIfDue);
    }
  }

  private void look() {
    used = false;
    lookedNanos = System.nanoTime();
    String mine = known.isEmpty() ? SharedKeys.random(DIGITS / 2) : known;
    CompletionStage<?> unused =
        topology
            .within(OperatorCalls.PATIENCE, SharedKeys.agreed(topology, Keyspace.SPREAD_KEY, mine))
            .whenComplete(
                (found, error) -> {
                  if (error == null) {
                    learn(found);
                  } else {
                    complain(String.valueOf(StoreFault.of(error).getMessage()));
                  }
                  if (known.isEmpty()) {
                    topology.soon(isEarly() ? FIRST_INTERVAL : INTERVAL, this::look);
                  } else {
                    topology.soon(INTERVAL, this::lookIfDue);
                  }
                });
  }

  private void learn(String found) {
    if (!TEXT.matcher(found).matches()) {
      complain("it holds something else (expected: %d hex digits)".formatted(DIGITS));
    } else if (!found.equals(known)) {
      if (!known.isEmpty()) {
        LOG.warn(
            "{} of {} has changed: accounts move to other partitions and start empty",
            Keyspace.SPREAD_KEY,
            topology);
      }
      known = found;
      trouble = "";
      adopt(Keyspace.keyed(Long.parseUnsignedLong(found, DIGITS)));
    }
  }

  private boolean isEarly() {
    return System.nanoTime() - sinceNanos < QUIET.toNanos();
  }

  private void complain(String found) {
    if (!found.equals(trouble) && !isEarly()) {
      LOG.warn(
          "Cannot read {} of {}: {}; {}",
          Keyspace.SPREAD_KEY,
          topology,
          found,
          known.isEmpty()
              ? "each rule's onStoreFailure decides until it can be read"
              : "using the value from before");
      trouble = found;
    }
  }
}
