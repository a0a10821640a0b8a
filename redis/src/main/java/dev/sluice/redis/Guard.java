package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers every call within a deadline: from Redis, or by the rule's policy. Thread-safe. */
final class Guard implements AutoCloseable {
  /*
   * Each Redis node has a deadline and a circuit breaker of its own, so that a dead shard of a
   * Cluster leaves the callers on the others alone.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Guard.class);
  private static final Duration PROBE_PAUSE = Duration.ofMillis(50);
  private static final Duration PROBE_PATIENCE = Duration.ofSeconds(1);

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

  /** Judges what lies in one partition. */
  CompletableFuture<Decision> judge(Operation.Judge operation, int partition) {
    Node node = node(topology.nodeOf(Keyspace.slot(partition)));
    Breaker.Pass pass = node.breaker.enter();
    if (pass == Breaker.Pass.NONE) {
      return byPolicy(operation, node.breaker.trouble());
    }
    CompletableFuture<Decision> asked;
    try {
      asked = sender.send(operation, partition);
    } catch (RuntimeException e) {
      asked = CompletableFuture.failedFuture(e);
    }
    if (!asked.isDone()) {
      node.line.watch(asked);
    }
    return asked.handle((decision, error) -> node.answer(operation, pass, decision, error));
  }

  /** Decides without Redis. */
  CompletableFuture<Decision> byPolicy(Operation.Judge operation, String reason) {
    try {
      return CompletableFuture.completedFuture(fallback.decide(operation, reason));
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e); // an id that was used for another call
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

  /** What is wrong with a node now, if calls are decided without it. */
  Optional<String> trouble() {
    dropThoseWithoutSlots();
    return nodes.values().stream()
        .filter(node -> node.breaker.isOpen())
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

    Node(String name) {
      this.name = name;
      this.line = deadlines.line(topology.meter(name));
    }

    private Decision answer(
        Operation.Judge operation, Breaker.Pass pass, Decision decision, Throwable error) {
      if (error == null) {
        answered(pass);
        fallback.note(decision);
        return decision;
      }
      if (Link.cause(error) instanceof IdReusedException reused) {
        answered(pass);
        throw reused;
      }
      operation.giveUp();
      StoreFault fault = StoreFault.of(error);
      failed(pass, fault);
      return fallback.decide(operation, String.valueOf(fault.getMessage()));
    }

    private void answered(Breaker.Pass pass) {
      if (breaker.answered(pass)) {
        LOG.info("Redis{} decides calls again", this);
      }
    }

    private void failed(Breaker.Pass pass, StoreFault fault) {
      boolean wasSilent = breaker.isSilent();
      if (breaker.failed(pass, fault)) {
        LOG.error(
            "Redis{} does not decide calls; each rule's onStoreFailure does until it is back: {}",
            this,
            fault.getMessage());
      }
      if (!wasSilent && breaker.isSilent()) {
        probe(System.nanoTime());
      }
      try {
        onFault.accept(fault);
      } catch (RuntimeException e) {
        LOG.warn("The fault listener threw an exception", e);
      }
    }

    /** Asks a silent node for a sign of life, again and again, so that no caller has to wait. */
    @SuppressWarnings("ReferenceEquality") // one node of a name at a time
    private void probe(long silentSinceNanos) {
      if (closed || nodes.get(name) != this) {
        return; // it has no slots any more
      }
      CompletableFuture<String> unused =
          topology
              .ping(name)
              .toCompletableFuture()
              .orTimeout(PROBE_PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
              .whenComplete(
                  (pong, error) -> {
                    if (error == null || isAnswer(error)) {
                      breaker.heard();
                      return;
                    }
                    if (System.nanoTime() - silentSinceNanos > PROBE_PATIENCE.toNanos()) {
                      topology.findMaster();
                    }
                    topology.soon(PROBE_PAUSE, () -> probe(silentSinceNanos));
                  });
    }

    /** Whether an error came from Redis itself, which is a sign of life. */
    private boolean isAnswer(Throwable error) {
      StoreFault fault = StoreFault.of(error);
      return !fault.unclear() && !fault.kind().equals("disconnected");
    }

    /** For log lines: nothing if there is but one node. */
    @Override
    public String toString() {
      return name.isEmpty() ? "" : " at " + name;
    }
  }
}
