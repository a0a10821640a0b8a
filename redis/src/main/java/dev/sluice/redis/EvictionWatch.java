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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks every few seconds whether Redis evicts keys. A full Redis that evicts forgets limits and
 * locks too early. Thread-safe.
 */
final class EvictionWatch {
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
  private final Duration pause;
  private final Map<String, Node> nodes = new TreeMap<>();
  private volatile List<String> warnings = List.of();

  /** What is known about a node. */
  private static final class Node {
    private @Nullable String policy; // what is wrong with it
    private long counter = -1; // evicted_keys as it was last seen
    private long evicted; // since this watch began
  }

  EvictionWatch(Topology topology) {
    this(topology, PAUSE);
  }

  EvictionWatch(Topology topology, Duration pause) {
    this.topology = topology;
    this.pause = pause;
    topology.later(Duration.ZERO, this::look);
  }

  /** The current warnings; empty if there are none. */
  List<String> warnings() {
    return warnings;
  }

  private void look() {
    try {
      List<CompletableFuture<?>> looks = new ArrayList<>();
      var masters = topology.masters();
      forgetAllBut(masters.keySet());
      masters.forEach((address, node) -> looks.add(look(address, node)));
      CompletionStage<?> unused =
          CompletableFuture.allOf(looks.toArray(new CompletableFuture<?>[0]))
              .whenComplete((done, error) -> topology.later(pause, this::look));
    } catch (RuntimeException notConnected) {
      LOG.debug("Cannot check whether Redis evicts keys: {}", notConnected.getMessage());
      topology.later(pause, this::look);
    }
  }

  private synchronized void forgetAllBut(Set<String> masters) {
    if (nodes.keySet().retainAll(masters)) {
      warnings = all();
    }
  }

  private CompletableFuture<?> look(
      String address, CompletionStage<? extends RedisClusterAsyncCommands<String, String>> node) {
    return node.thenCompose(
            commands ->
                commands
                    .info("memory")
                    .thenCombine(commands.info("stats"), (memory, stats) -> memory + "\n" + stats))
        .toCompletableFuture()
        .orTimeout(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
        .handle(
            (info, error) -> {
              note(address, info, error);
              return null;
            });
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
