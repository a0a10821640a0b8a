package dev.sluice.bench.servers;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A Redis Cluster for the bench: masters that share the slots evenly, without replicas. */
public final class RedisCluster implements Usage, AutoCloseable {
  private static final int SLOTS = 16_384;
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final List<RedisServer> masters = new ArrayList<>();

  private RedisCluster() {}

  public static RedisCluster start(int count) throws IOException {
    RedisCluster cluster = new RedisCluster();
    try {
      for (int i = 0; i < count; i++) {
        cluster.masters.add(RedisServer.startInCluster());
      }
      cluster.meet();
      cluster.awaitAll("cluster_known_nodes:" + count);
      cluster.awaitAll("cluster_slots_ok:" + SLOTS);
      cluster.awaitAll("cluster_state:ok");
      return cluster;
    } catch (RuntimeException | IOException e) {
      cluster.close();
      throw e;
    }
  }

  /** Gives each node its own epoch, as redis-cli does; nodes with equal epochs would conflict. */
  private void meet() {
    int count = masters.size();
    for (int i = 0; i < count; i++) {
      RedisServer master = masters.get(i);
      master.commands().clusterSetConfigEpoch(i + 1L);
      int[] slots = IntStream.range(i * SLOTS / count, (i + 1) * SLOTS / count).toArray();
      master.commands().clusterAddSlots(slots);
    }
    for (RedisServer master : masters.subList(1, count)) {
      master.commands().clusterMeet("127.0.0.1", masters.get(0).port());
    }
  }

  private void awaitAll(String fact) {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!masters.stream().allMatch(each -> each.commands().clusterInfo().contains(fact))) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException("the Cluster's masters do not agree on " + fact);
      }
      // The masters are other processes: there is no clock to pass in.
      LockSupport.parkNanos(20_000_000);
    }
  }

  public String uri() {
    return masters.stream()
        .map(each -> "127.0.0.1:" + each.port())
        .collect(Collectors.joining(",", "redis-cluster://", ""));
  }

  @Override
  public double cpuMicros() {
    return masters.stream().mapToDouble(RedisServer::cpuMicros).sum();
  }

  @Override
  public long calls(String prefix) {
    return masters.stream().mapToLong(each -> each.calls(prefix)).sum();
  }

  @Override
  public void close() {
    masters.forEach(RedisServer::close);
  }
}
