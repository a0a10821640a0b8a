package dev.sluice.redis.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** A Cluster of three masters, each with a replica. */
public final class RedisCluster implements AutoCloseable {
  private static final int SLOTS = 16_384;
  private final List<RedisProcess> masters = new ArrayList<>();
  private final List<RedisProcess> replicas = new ArrayList<>();

  private RedisCluster(RedisProcess.Binary binary, int nodeTimeoutMillis) {
    for (int i = 0; i < 3; i++) {
      masters.add(node(binary, nodeTimeoutMillis));
      replicas.add(node(binary, nodeTimeoutMillis));
    }
    // An epoch for each, as redis-cli gives them out. Masters that all begin with 0 choose others,
    // and a replica that has not heard of its master's last one gets no votes.
    int epoch = 1;
    for (RedisProcess node : all()) {
      String own = Integer.toString(epoch++);
      await(() -> node.command("CLUSTER", "SET-CONFIG-EPOCH", own).equals("OK"));
    }
    for (RedisProcess node : all()) {
      node.command("CLUSTER", "MEET", "127.0.0.1", Integer.toString(masters.get(0).port()));
    }
    for (int i = 0; i < 3; i++) {
      List<String> words = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
      for (int slot = i * SLOTS / 3; slot < (i + 1) * SLOTS / 3; slot++) {
        words.add(Integer.toString(slot));
      }
      masters.get(i).command(words.toArray(new String[0]));
    }
    awaitAll("cluster_known_nodes:6");
    for (int i = 0; i < 3; i++) {
      String master = masters.get(i).command("CLUSTER", "MYID");
      RedisProcess replica = replicas.get(i);
      await(() -> replica.command("CLUSTER", "REPLICATE", master).equals("OK"));
    }
    awaitAll("cluster_state:ok");
    await(
        () -> masters.stream().allMatch(node -> node.info("replication", "connected_slaves") == 1));
  }

  /** A Cluster whose masters are not given up, however busy the machine is. */
  public static RedisCluster start(RedisProcess.Binary binary) {
    return new RedisCluster(binary, 60_000);
  }

  /** A Cluster in which a dead master is soon replaced by its replica. */
  public static RedisCluster startWithQuickFailover(RedisProcess.Binary binary) {
    return new RedisCluster(binary, 2_000);
  }

  private static RedisProcess node(RedisProcess.Binary binary, int nodeTimeoutMillis) {
    return RedisProcess.start(
        binary,
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        Integer.toString(nodeTimeoutMillis),
        "--cluster-require-full-coverage",
        "no",
        "--repl-diskless-sync-delay",
        "0");
  }

  public String uri() {
    return "redis-cluster://"
        + masters.stream().map(node -> "127.0.0.1:" + node.port()).collect(Collectors.joining(","));
  }

  public List<RedisProcess> masters() {
    return masters;
  }

  public List<RedisProcess> all() {
    List<RedisProcess> all = new ArrayList<>(masters);
    all.addAll(replicas);
    return all;
  }

  /** The master that has a slot. */
  public RedisProcess ownerOf(int slot) {
    return masters.get(Math.min(2, (slot * 3 + 2) / SLOTS));
  }

  /** Stops a master and its replica, so that nobody serves its slots. */
  public void pauseShard(RedisProcess master) {
    master.pause();
    replicas.get(masters.indexOf(master)).pause();
  }

  public void resumeShard(RedisProcess master) {
    master.resume();
    replicas.get(masters.indexOf(master)).resume();
  }

  private void awaitAll(String fact) {
    await(() -> all().stream().allMatch(node -> node.command("CLUSTER", "INFO").contains(fact)));
  }

  /** Waits for something that other processes bring about. */
  public static void await(java.util.function.BooleanSupplier fact) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!fact.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException("it did not come about within 60 seconds");
      }
      RedisProcess.pauseBriefly();
    }
  }

  @Override
  public void close() {
    all().forEach(RedisProcess::close);
  }
}
