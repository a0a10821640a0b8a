package dev.sluice.redis;

import dev.sluice.internal.Stages;
import dev.sluice.redis.connection.Topology;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks whether Redis evicts keys. A full Redis that evicts forgets limits and locks too early.
 * Thread-safe.
 */
final class EvictionWatch {
  /*
   * It looks when the store connects, after faults, and when somebody asks for warnings and the
   * last look is some seconds old. So a store whose warnings nobody reads costs Redis nothing.
   */
  private static final Logger LOG = LoggerFactory.getLogger(EvictionWatch.class);
  private static final Duration PAUSE = Duration.ofSeconds(5);
  private static final Duration PATIENCE = Duration.ofSeconds(2);
  private static final Pattern NO_EVICTION =
      Pattern.compile("^(maxmemory:0|maxmemory_policy:noeviction)\\r?$", Pattern.MULTILINE);
  private static final Pattern POLICY =
      Pattern.compile("^maxmemory_policy:(\\S+)", Pattern.MULTILINE);
  private static final Pattern EVICTED =
      Pattern.compile("^evicted_keys:(\\d{1,18})\\r?$", Pattern.MULTILINE);

  private final Topology topology;
  private final Topology operators;
  private final Duration pause;
  private final AtomicBoolean isDue = new AtomicBoolean(true);
  private final AtomicLong lookedNanos = new AtomicLong(System.nanoTime());
  private final Map<String, Node> nodes = new TreeMap<>();
  private volatile List<String> warnings = List.of();

  /** What is known about a node. */
  private static final class Node {
    private @Nullable String policy; // what is wrong with it
    private long counter = -1; // evicted_keys as it was last seen
    private long evicted; // since this watch began
  }

  /**
   * Looks for the first time.
   *
   * @param operators the connections for those who ask for warnings
   */
  EvictionWatch(Topology topology, Topology operators) {
    this(topology, operators, PAUSE);
  }

  EvictionWatch(Topology topology, Topology operators, Duration pause) {
    this.topology = topology;
    this.operators = operators;
    this.pause = pause;
    topology.soon(Duration.ZERO, this::lookNow);
  }

  /** The warnings of the last look; empty if there are none. */
  List<String> warnings() {
    long last = lookedNanos.get();
    long now = System.nanoTime();
    if (now - last > pause.toNanos() && lookedNanos.compareAndSet(last, now)) {
      CompletionStage<?> unused = operators.tried().thenRun(() -> look(operators));
    }
    return warnings;
  }

  /** Looks in a few seconds: Redis did not decide a call, or did not answer a look. */
  void lookSoon() {
    if (!isDue.get() && isDue.compareAndSet(false, true)) {
      topology.soon(pause, this::lookNow);
    }
  }

  private void lookNow() {
    isDue.set(false);
    look(topology);
  }

  private void look(Topology through) {
    lookedNanos.set(System.nanoTime());
    try {
      var masters = through.masters();
      forgetAllBut(masters.keySet());
      masters.forEach(this::look);
    } catch (RuntimeException notConnected) {
      LOG.debug("Cannot check whether Redis evicts keys: {}", notConnected.getMessage());
      lookSoon();
    }
  }

  private synchronized void forgetAllBut(Set<String> masters) {
    if (nodes.keySet().retainAll(masters)) {
      warnings = all();
    }
  }

  private void look(
      String address, CompletionStage<? extends RedisClusterAsyncCommands<String, String>> node) {
    CompletionStage<String> asked =
        node.thenCompose(
            commands ->
                commands
                    .info("memory")
                    .thenCombine(commands.info("stats"), (memory, stats) -> memory + "\n" + stats));
    CompletionStage<?> unused =
        topology.within(PATIENCE, asked).whenComplete((info, error) -> note(address, info, error));
  }

  private synchronized void note(String address, @Nullable String info, @Nullable Throwable error) {
    Node node = nodes.computeIfAbsent(address, fresh -> new Node());
    String policy = node.policy; // unchanged if the node does not answer
    if (info != null) {
      policy = NO_EVICTION.matcher(info).find() ? null : evicting(address, info);
      count(address, node, info);
    } else if (error != null && Stages.cause(error) instanceof RedisCommandExecutionException no) {
      policy =
          "It is not known whether Redis at %s evicts keys, INFO is answered by: %s"
              .formatted(address, no.getMessage());
    } else {
      lookSoon();
    }
    if (policy != null && !policy.equals(node.policy)) {
      LOG.warn("{}", policy);
    } else if (policy == null && node.policy != null) {
      LOG.info("Redis at {} does not evict keys any more", address);
    }
    node.policy = policy;
    warnings = all();
  }

  private static String evicting(String address, String info) {
    Matcher policy = POLICY.matcher(info);
    return "Redis at %s evicts keys when it is full: limits and locks can be forgotten before their time. maxmemory-policy is %s (expected: noeviction)"
        .formatted(address, policy.find() ? policy.group(1) : "unknown");
  }

  private static void count(String address, Node node, String info) {
    Matcher found = EVICTED.matcher(info);
    if (!found.find()) {
      return;
    }
    long counter = Long.parseLong(found.group(1));
    long more = node.counter < 0 ? 0 : counter - node.counter;
    node.counter = counter;
    more = more < 0 ? counter : more; // the counter was reset
    if (more > 0 && node.evicted == 0) {
      LOG.warn("Redis at {} evicts keys: limits and locks are being forgotten", address);
    }
    node.evicted += more;
  }

  private List<String> all() {
    List<String> all = new ArrayList<>();
    nodes.forEach(
        (address, node) -> {
          if (node.policy != null) {
            all.add(node.policy);
          }
          if (node.evicted > 0) {
            all.add(
                "Redis at %s has evicted %d keys since this node started: limits and locks may have been forgotten"
                    .formatted(address, node.evicted));
          }
        });
    return List.copyOf(all);
  }
}
