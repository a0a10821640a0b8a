package dev.sluice.redis;

import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.StoreFault;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
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
   * together agree. Every node reads it once a second and writes it back if it is missing.
   *
   * If a flush and a new node coincide, a node may use another secret than the rest for up to a
   * second and count separately. That does no harm: the flush has erased all counts anyway.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Spread.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  /** The client rejects commands while it connects to a node for the first time. */
  private static final Duration FIRST_INTERVAL = Duration.ofMillis(20);

  private static final Duration QUIET = Duration.ofSeconds(1);
  private static final int DIGITS = 16;
  private static final Pattern TEXT = Pattern.compile("[0-9a-f]{" + DIGITS + "}");

  private final Topology topology;
  private final CompletableFuture<Keyspace> first = new CompletableFuture<>();
  private volatile @Nullable Keyspace keyspace;
  private String known = ""; // used only by the background thread of the topology
  private String trouble = "";
  private final long sinceNanos = System.nanoTime();

  /**
   * Starts to read the secret.
   *
   * @param topology that of operators, so that decisions do not wait for it
   */
  Spread(Topology topology) {
    this.topology = topology;
    if (topology.isCluster()) {
      topology.later(Duration.ZERO, this::look);
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

  private void look() {
    try {
      String mine = known.isEmpty() ? SharedKeys.random(DIGITS / 2) : known;
      String found = SharedKeys.agreed(topology, Keyspace.SPREAD_KEY, mine);
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
    } catch (RuntimeException e) {
      complain(String.valueOf(e.getMessage()));
    } finally {
      topology.later(known.isEmpty() && isEarly() ? FIRST_INTERVAL : INTERVAL, this::look);
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
