package dev.sluice.redis.connection;

import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.netty.channel.Channel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a Cluster by name, {@code host:port}, as the client knows them. A Redis that is no
 * Cluster is one node. Thread-safe.
 */
final class Nodes {
  /** The name of the node if Redis is no Cluster, or not known yet. */
  static final String ONLY_ONE = "";

  private final Map<String, Pulse.Meter> meters = new ConcurrentHashMap<>();
  private volatile @Nullable StatefulRedisClusterConnection<String, String> cluster;

  /** Reads the nodes from a connection from now on. */
  void readFrom(StatefulRedisClusterConnection<String, String> connection) {
    cluster = connection;
  }

  /** Whether Redis is a Cluster that was reached. */
  boolean areKnown() {
    return cluster != null;
  }

  /** All masters with slots, by name; only if the nodes are known. */
  Map<String, CompletionStage<? extends RedisClusterAsyncCommands<String, String>>> masters() {
    StatefulRedisClusterConnection<String, String> connection = known();
    Map<String, CompletionStage<? extends RedisClusterAsyncCommands<String, String>>> masters =
        new LinkedHashMap<>();
    for (RedisClusterNode node : connection.getPartitions()) {
      if (isMaster(node)) {
        masters.put(
            name(node),
            connection
                .getConnectionAsync(node.getNodeId())
                .thenApply(StatefulRedisConnection::async));
      }
    }
    return masters;
  }

  /** The node of a slot. */
  String of(int slot) {
    StatefulRedisClusterConnection<String, String> found = cluster;
    RedisClusterNode owner = found == null ? null : found.getPartitions().getPartitionBySlot(slot);
    return owner == null ? ONLY_ONE : name(owner);
  }

  /** Whether a node has slots. */
  boolean haveSlots(String node) {
    StatefulRedisClusterConnection<String, String> found = cluster;
    if (found == null || node.equals(ONLY_ONE)) {
      return true;
    }
    for (RedisClusterNode each : found.getPartitions()) {
      if (name(each).equals(node)) {
        return isMaster(each);
      }
    }
    return false;
  }

  /** Pings a node; only if the nodes are known. */
  CompletionStage<String> ping(String node) {
    int colon = node.lastIndexOf(':');
    return known()
        .getConnectionAsync(node.substring(0, colon), Integer.parseInt(node.substring(colon + 1)))
        .thenCompose(connection -> connection.async().ping());
  }

  /** Counts what is read from a node. */
  Pulse.Meter meter(String node) {
    return meters.computeIfAbsent(node, unknown -> new Pulse.Meter());
  }

  /** The meters of the node at the other end of a connection, by address and by name. */
  List<Pulse.Meter> meters(Channel channel, boolean isCluster) {
    if (!isCluster || !(channel.remoteAddress() instanceof InetSocketAddress address)) {
      return List.of(meter(ONLY_ONE));
    }
    InetAddress resolved = address.getAddress();
    String byName = name(address.getHostString(), address.getPort());
    String byAddress =
        resolved == null ? byName : name(resolved.getHostAddress(), address.getPort());
    return byName.equals(byAddress)
        ? List.of(meter(byName))
        : List.of(meter(byName), meter(byAddress));
  }

  private StatefulRedisClusterConnection<String, String> known() {
    return Objects.requireNonNull(cluster, "cluster");
  }

  private static boolean isMaster(RedisClusterNode node) {
    return node.is(RedisClusterNode.NodeFlag.UPSTREAM) && !node.hasNoSlots();
  }

  private static String name(RedisClusterNode node) {
    return name(node.getUri().getHost(), node.getUri().getPort());
  }

  private static String name(String host, int port) {
    return host + ":" + port;
  }
}
