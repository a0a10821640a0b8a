package dev.sluice.redis;

import dev.sluice.Charge;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Plan;
import dev.sluice.Rule;
import dev.sluice.Store;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a store on Redis is set up; everything but the URI has a default. Not thread-safe.
 *
 * @see RedisStore#at
 */
public final class RedisSettings {
  private static final Logger LOG = LoggerFactory.getLogger(RedisSettings.class);
  private static final Duration WARM_UP_PATIENCE = Duration.ofSeconds(1);

  /** A replica that is silent must leave the master time to answer. */
  private static final int LOOKS_IN_A_DEADLINE = 4;

  private final String uri;
  private Duration deadline = Duration.ofMillis(50);
  private int nodes = 1;
  private boolean cachesDenials = true;
  private boolean looksAtReplicas;
  private Consumer<StoreFault> onFault = fault -> {};
  private LongSupplier testClock = () -> 0;

  RedisSettings(String uri) {
    this.uri = uri;
  }

  /** How long a decision may take before the rule's {@code onStoreFailure} speaks; 50 ms. */
  public RedisSettings deadline(Duration deadline) {
    if (deadline.toMillis() < 1) {
      throw new IllegalArgumentException("deadline: " + deadline + " (expected: at least 1 ms)");
    }
    this.deadline = deadline;
    return this;
  }

  /** How many nodes share the limits while each counts by itself ({@code local}); 1. */
  public RedisSettings nodes(int nodes) {
    if (nodes < 1) {
      throw new IllegalArgumentException("nodes: " + nodes + " (expected: at least 1)");
    }
    this.nodes = nodes;
    return this;
  }

  /** Whether known denials are answered without Redis; they are by default. */
  public RedisSettings cacheDenials(boolean caches) {
    this.cachesDenials = caches;
    return this;
  }

  /** Looks for a lock at a replica before the master is asked. */
  public RedisSettings readLocksFromReplica() {
    this.looksAtReplicas = true;
    return this;
  }

  /** Told of every fault, for metrics; must not block. */
  public RedisSettings onFault(Consumer<StoreFault> onFault) {
    this.onFault = onFault;
    return this;
  }

  /** For tests: microseconds that the scripts take for the time; 0 for Redis' own clock. */
  public RedisSettings testClock(LongSupplier nowMicros) {
    this.testClock = nowMicros;
    return this;
  }

  /** Only the store on Redis: no deadline, no policy, no cache; failures are exceptions. */
  public RedisStore openBare() {
    Topology topology = Topology.connect(uri, looksAtReplicas);
    Link link = new Link(topology::commands);
    Sender sender = new Sender(link, !topology.isCluster(), testClock, topology::findMaster);
    return new RedisStore(topology, sender, deadline.dividedBy(LOOKS_IN_A_DEADLINE));
  }

  /**
   * Opens the store. A URI that cannot be read is an error; a Redis that cannot be reached is not:
   * the rules' {@code onStoreFailure} speaks until it can.
   */
  public Store open() {
    RedisStore bare = openBare();
    warmUp(bare);
    Store guarded = new Guard(bare, deadline, nodes, onFault);
    return cachesDenials ? DenialCache.around(guarded, bare) : guarded;
  }

  /**
   * Goes the way of a call once, as a look that writes nothing. In a new JVM that takes longer than
   * a deadline: done now, it does not let the first callers pass by policy.
   */
  private static void warmUp(Store store) {
    Rule rule =
        Rule.named("warm-up").by("none").limit(Limit.bucket(1, 1, Duration.ofMinutes(1))).build();
    Charge charge = new Charge(rule, Identity.of("none", "none"), rule.terms(), 1);
    Plan look = new Plan(List.of(charge), Intent.PEEK, null, rule.onStoreFailure());
    try {
      store
          .take(look)
          .toCompletableFuture()
          .get(WARM_UP_PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.debug("The first look at Redis failed; callers will be told by their own", e);
    }
  }
}
