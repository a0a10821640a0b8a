package dev.sluice.redis;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.masterreplica.MasterReplica;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The way to Redis, whatever it is: one server, Sentinels, a Cluster. Thread-safe. */
final class Topology implements AutoCloseable {
  /*
   * The client must never send anything twice by itself: a command whose reply was lost may have been
   * counted. REJECT_COMMANDS makes it fail what was on its way when a connection breaks, and what
   * comes while there is none, at once.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Topology.class);
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
  private static final int MOST_QUEUED = 10_000;
  private static final String CLUSTER = "redis-cluster://";

  private final ClientResources resources;
  private final AbstractRedisClient client;
  private final RedisURI uri;
  private final boolean looksAtReplicas;
  private volatile @Nullable RedisClusterAsyncCommands<String, String> commands;
  private volatile @Nullable RedisClusterAsyncCommands<String, String> replicas;
  private volatile @Nullable StatefulConnection<String, String> connection;
  private volatile boolean closed;

  private Topology(String text, boolean looksAtReplicas) {
    this.resources =
        ClientResources.builder()
            .reconnectDelay(
                Delay.fullJitter(
                    Duration.ofMillis(10), Duration.ofMillis(500), 2, TimeUnit.MILLISECONDS))
            .build();
    this.looksAtReplicas = looksAtReplicas;
    if (text.startsWith(CLUSTER)) {
      List<RedisURI> nodes = clusterNodes(text);
      this.uri = nodes.get(0);
      RedisClusterClient cluster = RedisClusterClient.create(resources, nodes);
      cluster.setOptions(clusterOptions());
      this.client = cluster;
    } else {
      this.uri = read(text);
      RedisClient single = RedisClient.create(resources, uri);
      single.setOptions(options(ClientOptions.builder()).build());
      this.client = single;
    }
  }

  /** Connects; if Redis cannot be reached, goes on trying in the background. */
  static Topology connect(String uri, boolean looksAtReplicas) {
    Topology topology = new Topology(uri, looksAtReplicas);
    topology.tryToConnect();
    return topology;
  }

  private void tryToConnect() {
    if (closed) {
      return;
    }
    try {
      if (client instanceof RedisClusterClient cluster) {
        StatefulRedisClusterConnection<String, String> found = cluster.connect(StringCodec.UTF8);
        connection = found;
        commands = found.async();
      } else {
        StatefulRedisConnection<String, String> found =
            ((RedisClient) client).connect(StringCodec.UTF8, uri);
        connection = found;
        commands = found.async();
      }
      if (looksAtReplicas) {
        replicas = connectToReplicas();
      }
      warnOfEviction();
    } catch (RuntimeException e) {
      LOG.error("Cannot reach Redis at {}: {}; trying again", this, rootMessage(e));
      CompletableFuture.delayedExecutor(500, TimeUnit.MILLISECONDS).execute(this::tryToConnect);
    }
  }

  private RedisClusterAsyncCommands<String, String> connectToReplicas() {
    if (client instanceof RedisClusterClient cluster) {
      StatefulRedisClusterConnection<String, String> found = cluster.connect(StringCodec.UTF8);
      found.setReadFrom(ReadFrom.REPLICA_PREFERRED);
      return found.async();
    }
    StatefulRedisMasterReplicaConnection<String, String> found =
        MasterReplica.connect((RedisClient) client, StringCodec.UTF8, uri);
    found.setReadFrom(ReadFrom.REPLICA_PREFERRED);
    return found.async();
  }

  /** A full Redis that evicts keys forgets locks and limits: that has to be known. */
  private void warnOfEviction() {
    commands()
        .info("memory")
        .thenAccept(
            info -> {
              boolean safe =
                  info.contains("maxmemory_policy:noeviction") || info.contains("maxmemory:0\r");
              if (!safe) {
                LOG.warn(
                    "Redis at {} evicts keys when it is full (maxmemory-policy): limits and locks can be"
                        + " forgotten before their time. Expected: noeviction",
                    this);
              }
            });
  }

  RedisClusterAsyncCommands<String, String> commands() {
    RedisClusterAsyncCommands<String, String> found = commands;
    if (found == null) {
      throw new StoreFault(
          "disconnected",
          false,
          "Redis at " + this + " has not been reached yet",
          new IllegalStateException("not connected"));
    }
    return found;
  }

  boolean isCluster() {
    return client instanceof RedisClusterClient;
  }

  boolean looksAtReplicas() {
    return replicas != null;
  }

  CompletableFuture<@Nullable String> lookAtReplica(String key) {
    RedisClusterAsyncCommands<String, String> found = replicas;
    return found == null
        ? CompletableFuture.completedFuture(null)
        : found.get(key).toCompletableFuture();
  }

  /** A connection of its own for messages. */
  StatefulRedisPubSubConnection<String, String> listen() {
    return client instanceof RedisClusterClient cluster
        ? cluster.connectPubSub(StringCodec.UTF8)
        : ((RedisClient) client).connectPubSub(StringCodec.UTF8, uri);
  }

  /** Looks for the master anew, because the one we talk to says that it is none. */
  void findMaster() {
    StatefulConnection<String, String> found = connection;
    CompletionStage<?> looking =
        client instanceof RedisClusterClient cluster
            ? cluster.refreshPartitionsAsync()
            : found instanceof StatefulRedisConnection<String, String> single
                ? single.async().quit() // the client connects again, and asks where to
                : CompletableFuture.completedStage(null);
    looking.thenRun(() -> LOG.info("Looked for the master of {} anew", this));
  }

  @Override
  public void close() {
    closed = true;
    client.shutdown(0, 1, TimeUnit.SECONDS);
    resources.shutdown(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  /** Where Redis is, without its password. */
  @Override
  public String toString() {
    return uri.getSentinels().isEmpty()
        ? uri.getHost() + ":" + uri.getPort()
        : uri.getSentinelMasterId() + " at " + uri.getSentinels().size() + " Sentinels";
  }

  private static RedisURI read(String text) {
    try {
      RedisURI uri = RedisURI.create(text);
      uri.setTimeout(CONNECT_TIMEOUT);
      uri.getSentinels().forEach(sentinel -> sentinel.setTimeout(CONNECT_TIMEOUT));
      return uri;
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          "store: not a URI that leads to Redis (expected: redis://, rediss://,"
              + " redis-sentinel://host:port,host:port#name or redis-cluster://host:port,host:port)",
          e);
    }
  }

  private static List<RedisURI> clusterNodes(String text) {
    String rest = text.substring(CLUSTER.length());
    int at = rest.lastIndexOf('@');
    String login = at < 0 ? "" : rest.substring(0, at + 1);
    List<RedisURI> nodes = new ArrayList<>();
    for (String node : rest.substring(at + 1).split(",", -1)) {
      nodes.add(read("redis://" + login + node));
    }
    return nodes;
  }

  private static <B extends ClientOptions.Builder> B options(B builder) {
    builder
        .autoReconnect(true)
        .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(MOST_QUEUED)
        .publishOnScheduler(false)
        .socketOptions(
            SocketOptions.builder().connectTimeout(CONNECT_TIMEOUT).tcpNoDelay(true).build());
    return builder;
  }

  private static ClusterClientOptions clusterOptions() {
    ClusterClientOptions.Builder builder = ClusterClientOptions.builder();
    options(builder);
    return builder
        .maxRedirects(8)
        .topologyRefreshOptions(
            ClusterTopologyRefreshOptions.builder()
                .enablePeriodicRefresh(Duration.ofSeconds(10))
                .adaptiveRefreshTriggersTimeout(Duration.ofMillis(200))
                .build())
        .build();
  }

  private static String rootMessage(Throwable error) {
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return String.valueOf(root.getMessage());
  }
}
