package dev.sluice.redis.connection;

import dev.sluice.redis.wire.StoreFault;
import dev.sluice.redis.wire.Utf8;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.masterreplica.MasterReplica;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The connections to Redis: one server, Sentinels or a Cluster. Thread-safe. */
public final class Topology implements AutoCloseable {
  /*
   * The client must never send anything twice by itself: a command whose reply was lost may have
   * been counted. With REJECT_COMMANDS, commands under way fail at once when a connection breaks,
   * and so do commands while there is none.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Topology.class);
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration UNANSWERED = Duration.ofMillis(1_500);
  private static final Duration LOOK_PAUSE = Duration.ofMillis(200);
  private static final Duration RETRY_PAUSE = Duration.ofMillis(500);
  private static final int MOST_QUEUED = 10_000;
  private static final int MOST_CAUSES = 100;
  private static final Pattern CLUSTER = Pattern.compile("(rediss?)-cluster://(.*@)?(.*)");

  private final Tasks tasks;
  private final boolean ownsTasks;
  private final Nodes nodes = new Nodes();
  private final CompletableFuture<@Nullable Void> tried = new CompletableFuture<>();
  private final AtomicBoolean trying = new AtomicBoolean();
  private final Set<Channel> channels = ConcurrentHashMap.newKeySet();
  private final AtomicLong lookedNanos = new AtomicLong(System.nanoTime() - LOOK_PAUSE.toNanos());
  private final ClientResources resources;
  private final AbstractRedisClient client;
  private final List<RedisURI> uris;
  private final RedisURI uri;
  private final boolean looksAtReplicas;
  private volatile @Nullable StatefulConnection<String, String> connection;
  private volatile @Nullable RedisClusterAsyncCommands<String, String> commands;
  private volatile @Nullable RedisClusterAsyncCommands<String, String> replicas;
  private volatile @Nullable RedisClient replicaClient;
  private volatile @Nullable StoreFault
      unreached; // the last reported reason why Redis cannot be reached
  private volatile boolean closed;

  private Topology(
      List<RedisURI> uris, boolean isCluster, boolean looksAtReplicas, @Nullable Tasks shared) {
    this.tasks = shared == null ? new Tasks() : shared;
    this.ownsTasks = shared == null;
    this.resources =
        ClientResources.builder()
            .timer(tasks.timer())
            .reconnectDelay(
                Delay.fullJitter(
                    Duration.ofMillis(10), Duration.ofMillis(500), 2, TimeUnit.MILLISECONDS))
            .nettyCustomizer(
                new NettyCustomizer() {
                  @Override
                  public void afterChannelInitialized(Channel channel) {
                    Pulse.watch(channel, each -> nodes.meters(each, isCluster));
                    channels.add(channel);
                    channel.closeFuture().addListener(closed -> channels.remove(channel));
                  }
                })
            .build();
    this.looksAtReplicas = looksAtReplicas;
    this.uris = uris;
    this.uri = uris.get(0);
    if (isCluster) {
      RedisClusterClient cluster = RedisClusterClient.create(resources, uris);
      cluster.setOptions(clusterOptions());
      this.client = cluster;
    } else {
      RedisClient single = RedisClient.create(resources, uri);
      single.setOptions(options(ClientOptions.builder()).build());
      this.client = single;
    }
  }

  /** Connects. If Redis cannot be reached, retries in the background. */
  public static Topology connect(String uri, boolean looksAtReplicas) {
    Matcher cluster = CLUSTER.matcher(uri);
    boolean isCluster = cluster.matches();
    List<RedisURI> uris = isCluster ? clusterNodes(cluster) : List.of(read(uri));
    Topology topology = new Topology(uris, isCluster, looksAtReplicas, null);
    topology.trying.set(true);
    topology.tryToConnect();
    return topology;
  }

  /**
   * Other connections to the same Redis, with event loops of their own. They are opened when
   * somebody first asks whether that was {@link #tried}. To be closed before this one.
   */
  public Topology onDemand() {
    return new Topology(uris, isCluster(), false, tasks);
  }

  private void tryToConnect() {
    if (closed) {
      return;
    }
    try {
      if (client instanceof RedisClusterClient cluster) {
        StatefulRedisClusterConnection<String, String> found = cluster.connect(Utf8.CODEC);
        nodes.readFrom(found);
        connection = found;
        commands = found.async();
      } else {
        StatefulRedisConnection<String, String> found =
            ((RedisClient) client).connect(Utf8.CODEC, uri);
        connection = found;
        commands = found.async();
      }
      if (looksAtReplicas) {
        replicas = connectToReplicas();
      }
      if (unreached != null) {
        LOG.info("Reached Redis at {}", this);
      }
      unreached = null;
    } catch (RuntimeException e) {
      StoreFault before = unreached;
      StoreFault found = unreached(e);
      String message = String.valueOf(found.getMessage());
      if (!closed && (before == null || !message.equals(before.getMessage()))) {
        LOG.error("{}; retrying until it can be reached", message);
      }
      unreached = found;
      later(RETRY_PAUSE, this::tryToConnect);
    } finally {
      tried.complete(null);
    }
  }

  /**
   * Completes when the first attempt to connect has succeeded or failed. Begins to connect if
   * nobody has.
   */
  public CompletableFuture<@Nullable Void> tried() {
    if (!trying.getAndSet(true)) {
      later(Duration.ZERO, this::tryToConnect);
    }
    return tried;
  }

  /** Runs a task that may block, after a pause, on a thread for it; not once closed. */
  public void later(Duration pause, Runnable task) {
    tasks.later(pause, unlessClosed(task));
  }

  /** Runs a task that takes no time, after a pause; not once closed. */
  public void soon(Duration pause, Runnable task) {
    tasks.soon(pause, unlessClosed(task));
  }

  private Runnable unlessClosed(Runnable task) {
    return () -> {
      if (!closed) {
        task.run();
      }
    };
  }

  /** Fails an answer that takes too long. */
  public <T> CompletableFuture<T> within(Duration patience, CompletionStage<T> answer) {
    CompletableFuture<T> asked = answer.toCompletableFuture();
    soon(patience, () -> asked.completeExceptionally(new TimeoutException()));
    return asked;
  }

  /** The thread for everything that decisions do not need, such as reports; ends with the store. */
  public ScheduledExecutorService background() {
    return tasks.background();
  }

  /** A client for replicas, whose connections do not count towards the liveness of the master. */
  private RedisClient replicaClient() {
    RedisClient found = replicaClient;
    if (found == null) {
      found =
          RedisClient.create(
              resources.mutate().nettyCustomizer(new NettyCustomizer() {}).build(), uri);
      found.setOptions(options(ClientOptions.builder()).build());
      replicaClient = found;
    }
    return found;
  }

  private RedisClusterAsyncCommands<String, String> connectToReplicas() {
    if (client instanceof RedisClusterClient cluster) {
      StatefulRedisClusterConnection<String, String> found = cluster.connect(Utf8.CODEC);
      found.setReadFrom(ReadFrom.REPLICA_PREFERRED);
      return found.async();
    }
    StatefulRedisMasterReplicaConnection<String, String> found =
        MasterReplica.connect(replicaClient(), Utf8.CODEC, uri);
    found.setReadFrom(ReadFrom.REPLICA_PREFERRED);
    return found.async();
  }

  /** The commands for decisions; throws a {@link StoreFault} if Redis was never reached. */
  public RedisClusterAsyncCommands<String, String> commands() {
    RedisClusterAsyncCommands<String, String> found = commands;
    if (found == null) {
      throw neverReached();
    }
    return found;
  }

  private StoreFault neverReached() {
    StoreFault known = unreached;
    return new StoreFault(
        known == null ? "disconnected" : known.kind(),
        false,
        known == null
            ? "Redis at " + this + " has not been reached yet"
            : String.valueOf(known.getMessage()),
        known == null ? new IllegalStateException("not connected") : known);
  }

  /** The connection of {@link #commands}, which throws if there is none. */
  public StatefulConnection<String, String> connection() {
    StatefulConnection<String, String> found = connection;
    if (found == null) {
      throw neverReached();
    }
    return found;
  }

  /** Why Redis was never reached; null once it was, and during the first attempt. */
  public @Nullable StoreFault unreached() {
    return commands == null ? unreached : null;
  }

  /** Why a connection failed: what Redis answered, such as NOAUTH, or what went wrong. */
  private StoreFault unreached(Throwable error) {
    Throwable root = root(error);
    String message = String.valueOf(root.getMessage());
    return root instanceof RedisCommandExecutionException
        ? new StoreFault(
            StoreFault.kind(message),
            false,
            "Redis at %s answered %s".formatted(this, message),
            root)
        : new StoreFault(
            "disconnected",
            false,
            "Redis at %s cannot be reached: %s".formatted(this, message),
            root);
  }

  /** All masters with slots, by address; a Redis that is no Cluster counts as one. */
  public Map<String, CompletionStage<? extends RedisClusterAsyncCommands<String, String>>>
      masters() {
    return nodes.areKnown()
        ? nodes.masters()
        : Map.of(toString(), CompletableFuture.completedFuture(commands()));
  }

  /** Whether Redis is a Cluster. */
  public boolean isCluster() {
    return client instanceof RedisClusterClient;
  }

  /**
   * The node for decisions on a slot, as far as it is known; always the same if Redis is no
   * Cluster.
   */
  public String nodeOf(int slot) {
    return nodes.of(slot);
  }

  /** Whether a node has slots, as far as that is known. */
  public boolean hasSlots(String node) {
    return nodes.haveSlots(node);
  }

  /** Counts what is read from a node. */
  public Pulse.Meter meter(String node) {
    return nodes.meter(node);
  }

  /** Pings a node. */
  public CompletionStage<String> ping(String node) {
    try {
      return nodes.areKnown() && !node.equals(Nodes.ONLY_ONE)
          ? nodes.ping(node)
          : commands().ping();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Whether there is a connection to replicas. */
  public boolean looksAtReplicas() {
    return replicas != null;
  }

  /** Reads a string from a replica; null if there is none. */
  public CompletableFuture<@Nullable String> lookAtReplica(String key) {
    RedisClusterAsyncCommands<String, String> found = replicas;
    return found == null
        ? CompletableFuture.completedFuture(null)
        : found.get(key).toCompletableFuture();
  }

  /** Opens a connection for publish and subscribe. */
  public StatefulRedisPubSubConnection<String, String> listen() {
    return client instanceof RedisClusterClient cluster
        ? cluster.connectPubSub(Utf8.CODEC)
        : ((RedisClient) client).connectPubSub(Utf8.CODEC, uri);
  }

  /** Looks for the master again because nothing answers; closes connections that hang. */
  public void findMaster() {
    findMaster(false);
  }

  /** Looks for the master again because the current one is no longer master. */
  public void dropMaster() {
    findMaster(true);
  }

  private void findMaster(boolean dropsAll) {
    long last = lookedNanos.get();
    long now = System.nanoTime();
    if (now - last < LOOK_PAUSE.toNanos() || !lookedNanos.compareAndSet(last, now)) {
      return; // many calls meet the same fault at once
    }
    LOG.info("Looking for the master of {} again", this);
    if (client instanceof RedisClusterClient cluster) {
      cluster.refreshPartitionsAsync();
    }
    for (Channel channel : channels) {
      if ((dropsAll && !isCluster()) || Pulse.isUnanswered(channel, UNANSWERED)) {
        ChannelFuture unused = channel.close(); // the client reconnects and looks up the master
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    if (ownsTasks) {
      tasks.stopConnecting();
    }
    tried.complete(null);
    RedisClient reading = replicaClient;
    if (reading != null) {
      reading.shutdown(0, 1, TimeUnit.SECONDS);
    }
    client.shutdown(0, 1, TimeUnit.SECONDS);
    resources.shutdown(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
    if (ownsTasks) {
      tasks.close();
    }
  }

  /** The address of Redis, without its password. */
  @Override
  public String toString() {
    return uri.getSentinels().isEmpty()
        ? uri.getHost() + ":" + uri.getPort()
        : uri.getSentinelMasterId() + " at " + uri.getSentinels().size() + " Sentinels";
  }

  @SuppressWarnings("UnusedException") // its message contains the URI with the password
  private static RedisURI read(String text) {
    try {
      RedisURI uri = RedisURI.create(text);
      uri.setTimeout(CONNECT_TIMEOUT);
      uri.getSentinels().forEach(sentinel -> sentinel.setTimeout(CONNECT_TIMEOUT));
      return uri;
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          "store: not a URI that leads to Redis (expected: redis://, rediss://,"
              + " redis-sentinel://host:port,host:port#name or redis-cluster://host:port,host:port)");
    }
  }

  private static List<RedisURI> clusterNodes(Matcher uri) {
    String login = uri.group(2) == null ? "" : uri.group(2);
    List<RedisURI> nodes = new ArrayList<>();
    for (String node : uri.group(3).split(",", -1)) {
      nodes.add(read(uri.group(1) + "://" + login + node));
    }
    return nodes;
  }

  private static <B extends ClientOptions.Builder> B options(B builder) {
    builder
        .autoReconnect(true)
        .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(MOST_QUEUED)
        .publishOnScheduler(false)
        // The timers of the client cannot distinguish a pause of this process from a Redis that
        // does not answer.
        .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build())
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
                .enablePeriodicRefresh(Duration.ofMinutes(1))
                .adaptiveRefreshTriggersTimeout(Duration.ofMillis(200))
                .build())
        .build();
  }

  /** The answer of Redis behind an error, else its first cause. */
  private static Throwable root(Throwable error) {
    Throwable found = null;
    List<Throwable> parts = new ArrayList<>(List.of(error));
    for (int i = 0; i < parts.size() && i < MOST_CAUSES; i++) {
      Throwable part = parts.get(i);
      if (part instanceof RedisCommandExecutionException) {
        return part;
      }
      if (part.getCause() != null) {
        parts.add(part.getCause());
      }
      parts.addAll(List.of(part.getSuppressed())); // one for each Cluster node that was tried
      found = found == null && part.getCause() == null ? part : found;
    }
    return found == null ? error : found;
  }
}
