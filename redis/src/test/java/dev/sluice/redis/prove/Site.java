package dev.sluice.redis.prove;

import static dev.sluice.redis.testing.RedisCluster.await;

import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisSentinels;
import java.util.List;

/** Redis servers that a run decides on, and what an operator or an accident can do to them. */
abstract sealed class Site implements AutoCloseable {
  /*
   * Redis replicates asynchronously: a master that dies may take its last answers with it, and no
   * client can know. Such a loss would look like a limit that Sluice broke, so a run leaves no room
   * for it. What is in flight when a master goes may be lost; what was answered is not:
   *
   * - Killed and restarted: every node writes to an append-only file before it answers. It need not
   *   sync the file: the process dies, not the machine.
   * - Killed and replaced: writes are held back (CLIENT PAUSE), the replica catches up, then the
   *   master is killed with the calls that wait on it.
   * - Failed over alive: a Cluster hands over by itself (CLUSTER FAILOVER). Sentinels do not; so
   *   writes are held back, the replica catches up and is promoted, and the old master becomes a
   *   replica before it accepts a write again.
   *
   * Nodes are given up only when the run says so: a failover that nobody ordered could lose writes.
   */
  private static final String HELD_BACK_MILLIS = "300000"; // longer than anything here waits
  private static final int NODE_TIMEOUT_MILLIS = 5_000; // much longer than any pause
  private static final String[] SETTINGS = {"--appendonly", "yes", "--appendfsync", "no"};

  static Site single() {
    return new Single(RedisSentinels.startPatient(RedisProcess.newest(), SETTINGS));
  }

  static Site cluster() {
    return new Cluster(RedisCluster.start(RedisProcess.newest(), NODE_TIMEOUT_MILLIS, SETTINGS));
  }

  abstract String title();

  abstract String uri();

  /** Every server that keeps accounts. */
  abstract List<RedisProcess> nodes();

  abstract boolean isCluster();

  /** Hands over from a master that lives to its replica. */
  abstract void failOver(RedisProcess master);

  /** Has a replica whose master is dead take its place; the dead one comes back as a replica. */
  abstract void replace(RedisProcess dead, RedisProcess replica);

  @Override
  public abstract void close();

  /** The masters of now. */
  List<RedisProcess> masters() {
    return nodes().stream().filter(RedisProcess::isMaster).toList();
  }

  String version() {
    return nodes()
        .get(0)
        .command("INFO", "server")
        .lines()
        .filter(line -> line.startsWith("redis_version:"))
        .map(line -> line.substring("redis_version:".length()))
        .findFirst()
        .orElse("?");
  }

  void killAndRestart(RedisProcess master) {
    // After a synchronisation a node writes its file anew; until that is done it has none.
    await(() -> fileIsWhole(master));
    RedisProcess replica = replicaOf(master);
    master.kill();
    master.restart();
    awaitLink(replica, master);
  }

  private static boolean fileIsWhole(RedisProcess node) {
    String info = node.command("INFO", "persistence");
    return info.contains("aof_enabled:1")
        && info.contains("aof_rewrite_in_progress:0")
        && info.contains("aof_rewrite_scheduled:0")
        && info.contains("aof_last_bgrewrite_status:ok");
  }

  void killAndFailOver(RedisProcess master) {
    RedisProcess replica = replicaOf(master);
    holdBackWrites(master, replica);
    master.kill();
    replace(master, replica);
  }

  /** Holds writes back until the replica has everything that was answered. */
  static void holdBackWrites(RedisProcess master, RedisProcess replica) {
    await(() -> master.command("CLIENT", "PAUSE", HELD_BACK_MILLIS, "WRITE").equals("OK"));
    await(
        () ->
            master.info("replication", "master_repl_offset")
                == replica.info("replication", "slave_repl_offset"));
  }

  RedisProcess replicaOf(RedisProcess master) {
    return nodes().stream()
        .filter(RedisProcess::isAlive)
        .filter(node -> node != master && node.info("replication", "master_port") == master.port())
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no replica of " + master.port()));
  }

  /** Waits until a replica has everything of its new master and follows it. */
  static void awaitLink(RedisProcess follower, RedisProcess followed) {
    String port = "master_port:" + followed.port();
    await(
        () -> {
          String info = follower.command("INFO", "replication");
          return info.contains(port) && info.contains("master_link_status:up");
        });
  }

  /** A master and a replica under three Sentinels. */
  static final class Single extends Site {
    private final RedisSentinels sentinels;

    Single(RedisSentinels sentinels) {
      this.sentinels = sentinels;
    }

    @Override
    String title() {
      return "One Redis with a replica, under three Sentinels";
    }

    @Override
    String uri() {
      return sentinels.uri();
    }

    @Override
    List<RedisProcess> nodes() {
      return List.of(sentinels.master(), sentinels.replica());
    }

    @Override
    boolean isCluster() {
      return false;
    }

    @Override
    void failOver(RedisProcess master) {
      RedisProcess replica = replicaOf(master);
      holdBackWrites(master, replica);
      sentinels.promote(replica);
      String port = Integer.toString(replica.port());
      await(() -> master.command("REPLICAOF", "127.0.0.1", port).startsWith("OK"));
      master.command("CLIENT", "UNPAUSE");
      awaitLink(master, replica);
    }

    @Override
    void replace(RedisProcess dead, RedisProcess replica) {
      sentinels.promote(replica);
      dead.restart("--replicaof", "127.0.0.1", Integer.toString(replica.port()));
      awaitLink(dead, replica);
    }

    @Override
    public void close() {
      sentinels.close();
    }
  }

  /** Three masters, each with a replica. */
  static final class Cluster extends Site {
    private final RedisCluster cluster;

    Cluster(RedisCluster cluster) {
      this.cluster = cluster;
    }

    @Override
    String title() {
      return "A Cluster of three masters, each with a replica";
    }

    @Override
    String uri() {
      return cluster.uri();
    }

    @Override
    List<RedisProcess> nodes() {
      return cluster.all();
    }

    @Override
    boolean isCluster() {
      return true;
    }

    @Override
    void failOver(RedisProcess master) {
      RedisProcess replica = replicaOf(master);
      // An attempt ends by itself after five seconds; an error says that one is under way.
      await(
          () -> {
            replica.command("CLUSTER", "FAILOVER");
            return turnsMaster(replica);
          });
      awaitLink(master, replica);
      awaitAgreement();
    }

    private static boolean turnsMaster(RedisProcess replica) {
      for (int i = 0; i < 500 && !replica.isMaster(); i++) {
        Faults.let(10);
      }
      return replica.isMaster();
    }

    @Override
    void replace(RedisProcess dead, RedisProcess replica) {
      await(() -> replica.command("CLUSTER", "FAILOVER", "TAKEOVER").equals("OK"));
      await(replica::isMaster);
      dead.restart();
      awaitLink(dead, replica);
      awaitAgreement();
    }

    @Override
    void killAndRestart(RedisProcess master) {
      super.killAndRestart(master);
      awaitAgreement();
    }

    /** Moves one slot that holds keys to another master. */
    void moveSlot(RedisProcess from, RedisProcess to) {
      String key = from.command("RANDOMKEY");
      if (!key.equals("$-1")) {
        cluster.move(Integer.parseInt(from.command("CLUSTER", "KEYSLOT", key)), from, to);
      }
    }

    /** Waits until every node sees the same three masters, and all slots served. */
    private void awaitAgreement() {
      await(
          () ->
              cluster.all().stream()
                      .map(node -> node.command("CLUSTER", "INFO"))
                      .allMatch(
                          info ->
                              info.contains("cluster_state:ok")
                                  && info.contains("cluster_slots_ok:16384")
                                  && info.contains("cluster_size:3"))
                  && cluster.all().stream().map(Cluster::owners).distinct().count() == 1);
    }

    /** Who has which slots, as a node knows it. */
    private static List<String> owners(RedisProcess node) {
      return node.command("CLUSTER", "NODES")
          .lines()
          .map(line -> line.split(" ", -1))
          .filter(words -> words[2].contains("master"))
          .map(words -> words[0] + " " + words[6] + " " + slots(words))
          .sorted()
          .toList();
    }

    private static String slots(String[] words) {
      return String.join(" ", List.of(words).subList(8, words.length)).replaceAll(" *\\[.*", "");
    }

    @Override
    public void close() {
      cluster.close();
    }
  }
}
