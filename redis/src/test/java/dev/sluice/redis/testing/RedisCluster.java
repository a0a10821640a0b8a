package dev.sluice.redis.testing;

import io.lettuce.core.cluster.SlotHash;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/** A Cluster of three masters, each with a replica. */
public final class RedisCluster implements AutoCloseable {
  /** The secret by which accounts are spread. */
  public static final String SPREAD = "0123456789abcdef";

  private static final int SLOTS = 16_384;
  private final List<RedisProcess> masters = new ArrayList<>();
  private final List<RedisProcess> replicas = new ArrayList<>();

  private RedisCluster(RedisProcess.Binary binary, int nodeTimeoutMillis, String... settings) {
    for (int i = 0; i < 3; i++) {
      masters.add(node(binary, nodeTimeoutMillis, settings));
      replicas.add(node(binary, nodeTimeoutMillis, settings));
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
    // Without full coverage the state is "ok" also for a node that knows the owner of no slot yet.
    // A client that takes its topology from such a node does not find the slots.
    awaitAll("cluster_slots_ok:" + SLOTS);
    awaitAll("cluster_state:ok");
    await(
        () -> masters.stream().allMatch(node -> node.info("replication", "connected_slaves") == 1));
    spread();
  }

  /** Has stores that are opened from now on spread accounts as tests know. */
  public void spread() {
    String key = "s2:spread-key";
    ownerOf(SlotHash.getSlot(key)).command("SET", key, SPREAD);
  }

  /** A Cluster whose masters are not given up, however busy the machine is. */
  public static RedisCluster start(RedisProcess.Binary binary) {
    return new RedisCluster(binary, 60_000);
  }

  /** A Cluster of nodes with more settings. */
  public static RedisCluster start(
      RedisProcess.Binary binary, int nodeTimeoutMillis, String... settings) {
    return new RedisCluster(binary, nodeTimeoutMillis, settings);
  }

  /** A Cluster in which a dead master is soon replaced by its replica. */
  public static RedisCluster startWithQuickFailover(RedisProcess.Binary binary) {
    return new RedisCluster(binary, 2_000);
  }

  private static RedisProcess node(
      RedisProcess.Binary binary, int nodeTimeoutMillis, String... settings) {
    List<String> all =
        new ArrayList<>(
            List.of(
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                Integer.toString(nodeTimeoutMillis),
                "--cluster-require-full-coverage",
                "no",
                "--repl-diskless-sync-delay",
                "0"));
    all.addAll(List.of(settings));
    return RedisProcess.start(binary, all.toArray(new String[0]));
  }

  public String uri() {
    return "redis-cluster://"
        + masters.stream().map(node -> "127.0.0.1:" + node.port()).collect(Collectors.joining(","));
  }

  /** The masters of the beginning. */
  public List<RedisProcess> masters() {
    return masters;
  }

  /** The masters of now, of those nodes that run. */
  public List<RedisProcess> mastersNow() {
    return all().stream().filter(RedisProcess::isMaster).toList();
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

  /** Moves a slot with its keys from one master to another, as an operator would. */
  public void move(int slot, RedisProcess from, RedisProcess to) {
    String number = Integer.toString(slot);
    String owner = to.command("CLUSTER", "MYID");
    to.command("CLUSTER", "SETSLOT", number, "IMPORTING", from.command("CLUSTER", "MYID"));
    from.command("CLUSTER", "SETSLOT", number, "MIGRATING", owner);
    while (true) {
      String keys = from.command("CLUSTER", "GETKEYSINSLOT", number, "10");
      if (keys.isEmpty()) {
        break;
      }
      // One by one, so that an account and its log are apart for a while.
      for (String key : keys.split("\n", -1)) {
        String port = Integer.toString(to.port());
        String answer = from.command("MIGRATE", "127.0.0.1", port, key, "0", "5000");
        if (!answer.equals("OK") && !answer.equals("NOKEY")) {
          throw new IllegalStateException("MIGRATE of a key in slot " + slot + ": " + answer);
        }
      }
    }
    to.command("CLUSTER", "SETSLOT", number, "NODE", owner);
    from.command("CLUSTER", "SETSLOT", number, "NODE", owner);
    mastersNow().forEach(each -> each.command("CLUSTER", "SETSLOT", number, "NODE", owner));
    // A node that moves the slot on before it has heard of this epoch may choose one that is no
    // later, lose the dispute over the slot, and delete the keys in it: so operators wait, too.
    await(() -> all().stream().allMatch(node -> epoch(node, owner) == epoch(to, owner)));
  }

  /** The configuration epoch of a node, as another one knows it. */
  private static long epoch(RedisProcess node, String id) {
    return node.command("CLUSTER", "NODES")
        .lines()
        .filter(line -> line.startsWith(id))
        .mapToLong(line -> Long.parseLong(line.split(" ", -1)[6]))
        .findFirst()
        .orElse(-1);
  }

  /** Stops a master and its replica, so that no node serves its slots. */
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
  public static void await(BooleanSupplier fact) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
    while (!isSo(fact)) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException("it did not come about within two minutes");
      }
      RedisProcess.pauseBriefly();
    }
  }

  /** On a busy machine a server may take its time to answer: then nothing is known yet. */
  private static boolean isSo(BooleanSupplier fact) {
    try {
      return fact.getAsBoolean();
    } catch (UncheckedIOException e) {
      return false;
    }
  }

  @Override
  public void close() {
    all().forEach(RedisProcess::close);
  }
}
