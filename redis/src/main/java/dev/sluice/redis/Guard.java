package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.outage.Breaker;
import dev.sluice.outage.Fallback;
import dev.sluice.redis.connection.Deadlines;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.JudgeOperation;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.Sender;
import dev.sluice.redis.wire.StoreFault;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides every call within a deadline: by Redis, or by the rule's {@code onStoreFailure}.
 * Thread-safe.
 */
final class Guard implements AutoCloseable {
  /*
   * Each Redis node has its own deadlines and circuit breaker, so that a dead shard of a Cluster
   * does not affect callers of the others. After its first failure a node is probed until it
   * answers: by pings while it is unresponsive, otherwise by a call that counts. So recovery is
   * noticed even without traffic.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Guard.class);
  private static final Duration PROBE_PAUSE = Duration.ofMillis(50);
  private static final Duration PROBE_PATIENCE = Duration.ofSeconds(1);
  private static final Duration CALL_PAUSE = Duration.ofMillis(250);
  private static final int MOST_PROBED = 1_000;

  private final Topology topology;
  private final Sender sender;
  private final Deadlines deadlines;
  private final Fallback fallback;
  private final Consumer<StoreFault> onFault;
  private final Map<String, Node> nodes = new ConcurrentHashMap<>();
  private volatile boolean closed;

  Guard(
      Topology topology,
      Sender sender,
      Duration deadline,
      Fallback fallback,
      Consumer<StoreFault> onFault) {
    this.topology = topology;
    this.sender = sender;
    this.deadlines = new Deadlines(deadline);
    this.fallback = fallback;
    this.onFault = onFault;
  }

  Fallback fallback() {
    return fallback;
  }

  /** Decides an operation in one partition, and passes on the decision or the error. */
  void judge(
      JudgeOperation operation,
      int partition,
      BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    Node node = node(topology.nodeOf(Keyspace.slot(partition)));
    Breaker.Pass pass = node.breaker.enter();
    if (pass == Breaker.Pass.NONE) {
      pass(() -> byPolicy(operation, node.breaker.trouble()), then);
    } else {
      node.ask(
          operation,
          partition,
          (decision, error) -> pass(() -> node.answer(operation, pass, decision, error), then));
    }
  }

  /** Decides a call that cannot be sent to Redis. */
  void byPolicy(
      JudgeOperation operation,
      StoreFault fault,
      BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    report(fault);
    pass(() -> byPolicy(operation, String.valueOf(fault.getMessage())), then);
  }

  /** Throws an {@link IdReusedException} if the id was used for another call. */
  private Decision byPolicy(JudgeOperation operation, String reason) {
    return fallback.decide(operation.plan, operation.isPart, operation.receiptId(), reason);
  }

  /** Passes on a decision, or the error instead. */
  private static void pass(
      Supplier<Decision> decision, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    Decision made;
    try {
      made = decision.get();
    } catch (RuntimeException e) {
      then.accept(null, e);
      return;
    }
    then.accept(made, null);
  }

  private void report(StoreFault fault) {
    try {
      onFault.accept(fault);
    } catch (RuntimeException e) {
      LOG.warn("The fault listener threw an exception", e);
    }
  }

  private Node node(String name) {
    Node known = nodes.get(name);
    if (known == null) {
      dropThoseWithoutSlots();
      known = nodes.computeIfAbsent(name, Node::new);
    }
    return known;
  }

  private void dropThoseWithoutSlots() {
    nodes.values().removeIf(node -> !topology.hasSlots(node.name) && node.line.retire());
  }

  /** What is wrong with any node that is in trouble; empty if all work. */
  Optional<String> trouble() {
    StoreFault unreached = topology.unreached();
    if (unreached != null) {
      return Optional.of(String.valueOf(unreached.getMessage()));
    }
    dropThoseWithoutSlots();
    return nodes.values().stream()
        .filter(node -> node.breaker.isTroubled())
        .map(node -> node.breaker.trouble())
        .findFirst();
  }

  @Override
  public void close() {
    closed = true;
    deadlines.close();
  }

  /** One Redis node. */
  private final class Node {
    private final String name;
    private final Breaker breaker = new Breaker();
    private final Deadlines.Line line;
    private final AtomicBoolean probed = new AtomicBoolean();
    private volatile Keyspace keyspace = Keyspace.UNKEYED;
    private volatile long unresponsiveSinceNanos;

    Node(String name) {
      this.name = name;
      this.line = deadlines.line(topology.meter(name));
    }

    /** Sends an operation to Redis, with the deadline. */
    private void ask(
        JudgeOperation operation,
        int partition,
        BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
      try {
        sender.send(operation, partition, then);
      } catch (RuntimeException e) {
        operation.fail(e);
      }
      if (!operation.isDone()) {
        line.watch(operation);
      }
    }

    private Decision answer(
        JudgeOperation operation,
        Breaker.Pass pass,
        @Nullable Decision decision,
        @Nullable Throwable error) {
      if (decision != null) {
        answered(pass);
        fallback.note(decision);
        return decision;
      }
      if (error instanceof IdReusedException reused) {
        answered(pass);
        throw reused;
      }
      operation.giveUp();
      StoreFault fault = StoreFault.of(Objects.requireNonNull(error));
      keyspace = operation.keyspace;
      failed(pass, fault);
      report(fault);
      return byPolicy(operation, String.valueOf(fault.getMessage()));
    }

    private void answered(Breaker.Pass pass) {
      if (breaker.answered(pass)) {
        LOG.info("Redis{} has recovered and decides calls again", this);
      }
    }

    private void failed(Breaker.Pass pass, StoreFault fault) {
      if (fault.unresponsive() && !breaker.isUnresponsive()) {
        unresponsiveSinceNanos = System.nanoTime();
      }
      if (breaker.failed(pass, String.valueOf(fault.getMessage()), fault.unresponsive())) {
        LOG.error(
            "Redis{} fails; each rule's onStoreFailure decides calls until it recovers: {}",
            this,
            fault.getMessage());
      }
      probeUntilItAnswers();
    }

    private void probeUntilItAnswers() {
      if (probed.compareAndSet(false, true)) {
        topology.soon(PROBE_PAUSE, this::probe);
      }
    }

    @SuppressWarnings("ReferenceEquality") // a name has one node at a time
    private void probe() {
      if (closed || nodes.get(name) != this) {
        return; // closed, or the node has no slots any more
      }
      if (breaker.isUnresponsive()) {
        ping();
      } else if (breaker.isTroubled()) {
        call();
      } else {
        probed.set(false);
        if (breaker.isTroubled()) {
          probeUntilItAnswers(); // it failed meanwhile
        }
      }
    }

    /** Pings an unresponsive node, so that no caller has to wait for it. */
    private void ping() {
      CompletableFuture<String> unused =
          topology
              .ping(name)
              .toCompletableFuture()
              .orTimeout(PROBE_PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
              .whenComplete(
                  (pong, error) -> {
                    if (error == null || isAnswer(error)) {
                      breaker.responded();
                    } else if (System.nanoTime() - unresponsiveSinceNanos
                        > PROBE_PATIENCE.toNanos()) {
                      topology.findMaster();
                    }
                    topology.soon(
                        breaker.isUnresponsive() ? PROBE_PAUSE : Duration.ZERO, this::probe);
                  });
    }

    /** Sends a node a call that counts: it may answer pings but refuse writes. */
    private void call() {
      JudgeOperation operation = callOfThisNode();
      if (operation == null) {
        answered(Breaker.Pass.ASK); // the node has no partition, so no call can fail there
        topology.soon(CALL_PAUSE, this::probe);
        return;
      }
      ask(
          operation,
          partition(operation),
          (decision, error) -> {
            if (error == null) {
              answered(Breaker.Pass.ASK);
            } else {
              operation.giveUp();
              StoreFault fault = StoreFault.of(error);
              if (fault.unresponsive()) {
                failed(Breaker.Pass.ASK, fault);
              }
            }
            topology.soon(CALL_PAUSE, this::probe);
          });
    }

    private @Nullable JudgeOperation callOfThisNode() {
      for (int i = 0; i < MOST_PROBED; i++) {
        JudgeOperation operation = new JudgeOperation(keyspace, Probe.taking(i));
        if (topology.nodeOf(Keyspace.slot(partition(operation))).equals(name)) {
          return operation;
        }
      }
      return null;
    }

    private static int partition(JudgeOperation operation) {
      return operation.keyspace.partition(operation.plan.charges().get(0).account());
    }

    /** Whether an error is an answer of Redis, which shows that it is alive. */
    private boolean isAnswer(Throwable error) {
      StoreFault fault = StoreFault.of(error);
      return !fault.unclear() && !fault.kind().equals("disconnected");
    }

    /** For log lines; empty if there is only one node. */
    @Override
    public String toString() {
      return name.isEmpty() ? "" : " at " + name;
    }
  }
}
