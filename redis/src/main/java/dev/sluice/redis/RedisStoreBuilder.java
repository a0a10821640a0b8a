package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.outage.DenialCache;
import dev.sluice.outage.Fallback;
import dev.sluice.outage.Handoff;
import dev.sluice.outage.OffEventLoop;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Link;
import dev.sluice.redis.wire.Sender;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.rules.source.KeptOverrides;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import dev.sluice.traffic.Reporter;
import dev.sluice.traffic.Traffic;
import java.time.Duration;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Builds a store on Redis. Everything but the URI has a default. Not thread-safe.
 *
 * @see RedisStore#builder
 */
public final class RedisStoreBuilder {
  private static final Logger LOG = LoggerFactory.getLogger(RedisStoreBuilder.class);
  private static final Duration WARM_UP_PATIENCE = Duration.ofSeconds(1);
  private static final Duration SPREAD_PATIENCE = Duration.ofSeconds(3);

  private final String uri;
  private Duration deadline = Duration.ofMillis(500);
  private int nodes = 1;
  private boolean cachesDenials = true;
  private boolean looksAtReplicas;
  private boolean usesFunctions = true;
  private boolean requiresStore;
  private boolean reports;
  private boolean overrides;
  private String program = "library";
  private Consumer<StoreException> onFault = fault -> {};
  private @Nullable Executor continuing;
  private LongSupplier testClock = () -> 0;

  RedisStoreBuilder(String uri) {
    this.uri = Objects.requireNonNull(uri, "uri");
  }

  /**
   * The time limit for an answer of Redis, after which the rule's {@code onStoreFailure} decides.
   * Default: 500 ms.
   */
  public RedisStoreBuilder deadline(Duration deadline) {
    if (deadline.toMillis() < 1) {
      throw new IllegalArgumentException("deadline: " + deadline + " (expected: at least 1 ms)");
    }
    this.deadline = deadline;
    return this;
  }

  /**
   * How many nodes share the limits while Redis is down and each counts alone ({@code local}).
   * Default: 1.
   */
  public RedisStoreBuilder nodes(int nodes) {
    if (nodes < 1) {
      throw new IllegalArgumentException("nodes: " + nodes + " (expected: at least 1)");
    }
    this.nodes = nodes;
    return this;
  }

  /** Whether to cache denials and answer them without Redis. Default: true. */
  public RedisStoreBuilder cacheDenials(boolean caches) {
    this.cachesDenials = caches;
    return this;
  }

  /** Reads locks from a replica before asking the master. Default: off. */
  public RedisStoreBuilder readLocksFromReplica() {
    this.looksAtReplicas = true;
    return this;
  }

  /**
   * Whether this node shares a summary of its decisions every two seconds, which the console of a
   * service on the same Redis shows. Default: false.
   */
  public RedisStoreBuilder reports(boolean reports) {
    this.reports = reports;
    return this;
  }

  /**
   * Whether limiters on this store apply the overrides that operators made at run time, in the
   * console or by {@code ./sluice overrides}. Then it asks Redis twice a second whether they
   * changed. Default: false.
   */
  public RedisStoreBuilder overrides(boolean applies) {
    this.overrides = applies;
    return this;
  }

  /** What the console calls this program, such as {@code spring}. Default: {@code library}. */
  public RedisStoreBuilder program(String program) {
    this.program = Objects.requireNonNull(program, "program");
    return this;
  }

  /**
   * Whether to use functions (FCALL) where Redis supports them, otherwise a script (EVALSHA).
   * Default: true.
   */
  public RedisStoreBuilder functions(boolean uses) {
    this.usesFunctions = uses;
    return this;
  }

  /**
   * Whether {@link #build} fails if Redis cannot be reached or cannot count a call. Default: false;
   * then each rule's {@code onStoreFailure} decides until Redis is up.
   */
  public RedisStoreBuilder requireStore(boolean requires) {
    this.requiresStore = requires;
    return this;
  }

  /** Receives every fault, for metrics. It is never called on a thread that reads from Redis. */
  public RedisStoreBuilder onFault(Consumer<StoreException> onFault) {
    this.onFault = Objects.requireNonNull(onFault, "onFault");
    return this;
  }

  /**
   * What completes the answers of asynchronous methods, such as {@code decideAsync}, that have to
   * wait for Redis. Default: threads of the store, on which what follows may block.
   *
   * <p>With {@code Runnable::run} that is the thread that reads from Redis, which saves the way to
   * another one. Then nothing that follows may block. While it does, no answer is read: the calls
   * of all callers pass their deadline, and each rule's {@code onStoreFailure} decides them. One
   * that waits there for another decision waits for itself, until the deadline. {@code
   * Limiter.decideAsync(call, rules, executor)} names an executor for one call only.
   */
  public RedisStoreBuilder answersOn(Executor executor) {
    this.continuing = Objects.requireNonNull(executor, "executor");
    return this;
  }

  /** For tests: the time in microseconds that scripts use; 0 for the clock of Redis. */
  RedisStoreBuilder testClock(LongSupplier nowMicros) {
    this.testClock = nowMicros;
    return this;
  }

  /**
   * For tests: only the store, without deadline, fallback and cache. Failures are exceptions, and
   * continuations run on the thread that reads from Redis.
   */
  LettuceStore buildBare() {
    return open(null, null);
  }

  /**
   * A store with deadlines and fallback, without a cache.
   *
   * @param outside runs the fault listener of the caller; null for a bare store
   * @param traffic counts the decisions of this node; null if it does not report them
   */
  LettuceStore open(@Nullable Executor outside, @Nullable Traffic traffic) {
    Topology topology = Topology.connect(uri, looksAtReplicas);
    Link link = link(topology);
    Sender sender = sender(topology, link);
    Topology onDemand = topology.onDemand();
    EvictionWatch eviction = new EvictionWatch(topology, onDemand);
    Guard guard =
        outside == null
            ? null
            : new Guard(
                topology,
                sender,
                deadline,
                new Fallback(nodes, sender::estimatedNow),
                fault -> {
                  if (traffic != null) {
                    traffic.fault(fault);
                  }
                  eviction.lookSoon();
                  outside.execute(() -> onFault.accept(fault));
                });
    Spread spread = new Spread(topology);
    OperatorCalls operators = new OperatorCalls(onDemand, sender(onDemand, link(onDemand)), spread);
    LibraryUse.start(topology, link::usesFunctions);
    spread.await(SPREAD_PATIENCE);
    LettuceStore store =
        new LettuceStore(topology, sender, guard, operators, eviction, spread, deadline);
    if (traffic != null) {
      store.report(Reporter.start(traffic, store, program, topology.background()));
    }
    if (overrides) {
      store.apply(
          KeptOverrides.follow(
              store.sharedData(), UUID.randomUUID().toString(), topology.background()));
    }
    return store;
  }

  private Link link(Topology topology) {
    return new Link(topology::connection, () -> topology.masters().values(), usesFunctions);
  }

  private Sender sender(Topology topology, Link link) {
    return new Sender(link, topology.isCluster(), testClock, topology::dropMaster);
  }

  /**
   * Connects. If Redis cannot be reached, each rule's {@code onStoreFailure} decides until it can,
   * unless the {@linkplain #requireStore store is required}.
   *
   * @throws IllegalArgumentException if the URI is invalid
   * @throws StoreException if the store is required and Redis does not count a call within five
   *     seconds
   */
  public Store build() {
    Handoff handoff = new Handoff();
    LettuceStore store = open(handoff::run, reports ? Traffic.create() : null);
    if (requiresStore) {
      require(store);
    } else {
      warmUp(store);
    }
    return new OffEventLoop(
        cachesDenials ? caching(store, DenialCache.LONGEST) : store,
        continuing == null ? handoff::run : continuing,
        handoff::close);
  }

  /** A denial cache that receives refunds on a channel of the same Redis. */
  static DenialCache caching(LettuceStore store, Duration longest) {
    RefundChannel refunds = store.refunds();
    DenialCache cache =
        new DenialCache(
            store,
            longest,
            refunds::isSubscribed,
            System::nanoTime,
            store::estimatedNow,
            refunds::close);
    refunds.listen(
        new RefundChannel.Listener() {
          @Override
          public void refunded(Account account) {
            store.checkLock(account);
            cache.refunded(account);
          }

          @Override
          public void missed() {
            cache.forgetAll();
          }

          @Override
          public boolean holdsDenials() {
            return cache.holdsDenials();
          }
        });
    return cache;
  }

  private static void require(LettuceStore store) {
    try {
      RedisRules.await(store.askRedis(Probe.taking(0)));
    } catch (StoreFault fault) {
      store.close();
      throw fault;
    }
  }

  /** Sends one read-only call, so that the first real call does not wait for class loading. */
  private static void warmUp(LettuceStore store) {
    try {
      store.askRedis(Probe.peeking()).get(WARM_UP_PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.debug("The warm-up call failed; calls will report their own errors", e);
    }
  }
}
