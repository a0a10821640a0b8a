package dev.sluice.redis.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/** A master, a replica, and three Sentinels that watch over them. */
public final class RedisSentinels implements AutoCloseable {
  private static final String NAME = "sluice";

  private final RedisProcess master;
  private final RedisProcess replica;
  private final List<RedisProcess> sentinels = new ArrayList<>();

  private RedisSentinels(RedisProcess.Binary binary, int downAfterMillis, List<String> more) {
    List<String> all = new ArrayList<>(List.of("--repl-diskless-sync-delay", "0"));
    all.addAll(more);
    master = RedisProcess.start(binary, all.toArray(new String[0]));
    replica = RedisProcess.start(binary, all.toArray(new String[0]));
    String port = Integer.toString(master.port());
    replica.command("REPLICAOF", "127.0.0.1", port);
    RedisCluster.await(() -> master.info("replication", "connected_slaves") == 1);
    String settings =
        """
        sentinel monitor %1$s 127.0.0.1 %2$s 2
        sentinel down-after-milliseconds %1$s %3$d
        sentinel failover-timeout %1$s %4$d
        """
            .formatted(NAME, port, downAfterMillis, Math.min(3 * downAfterMillis, 10_000));
    for (int i = 0; i < 3; i++) {
      sentinels.add(RedisProcess.startWithFile(binary, settings, "--sentinel"));
    }
    RedisCluster.await(() -> sentinels.stream().allMatch(RedisSentinels::knowsAll));
  }

  public static RedisSentinels start(RedisProcess.Binary binary) {
    return new RedisSentinels(binary, 1_000, List.of());
  }

  /** Sentinels that fail over only when asked to, however busy the machine is. */
  public static RedisSentinels startPatient(RedisProcess.Binary binary, String... settings) {
    RedisSentinels patient = new RedisSentinels(binary, 20_000, List.of(settings));
    // A Sentinel that was delayed for two seconds distrusts its clock and does nothing for thirty,
    // which is frequent on a busy machine. From Redis 7 on this can be turned off.
    patient.sentinels.forEach(
        it -> it.command("SENTINEL", "DEBUG", "TILT-TRIGGER", "60000", "TILT-PERIOD", "1000"));
    return patient;
  }

  /** Has the replica of now promoted; returns when every Sentinel names it as the master. */
  public void promote(RedisProcess chosen) {
    RedisProcess asked = sentinels.get(0);
    AtomicLong askAgainNanos = new AtomicLong(System.nanoTime());
    RedisCluster.await(
        () -> {
          // An attempt that meets anything slow is given up; another may be asked for.
          if (!names(asked, chosen) && System.nanoTime() >= askAgainNanos.get()) {
            asked.command("SENTINEL", "FAILOVER", NAME);
            askAgainNanos.set(System.nanoTime() + TimeUnit.SECONDS.toNanos(5));
          }
          return sentinels.stream().allMatch(sentinel -> names(sentinel, chosen));
        });
  }

  private static boolean names(RedisProcess sentinel, RedisProcess master) {
    return sentinel
        .command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        .endsWith("\n" + master.port());
  }

  private static boolean knowsAll(RedisProcess sentinel) {
    String info = sentinel.command("INFO", "sentinel");
    return info.contains("status=ok") && info.contains("slaves=1,sentinels=3");
  }

  public String uri() {
    return "redis-sentinel://"
        + sentinels.stream()
            .map(sentinel -> "127.0.0.1:" + sentinel.port())
            .collect(Collectors.joining(","))
        + "#"
        + NAME;
  }

  /** The master of the beginning. */
  public RedisProcess master() {
    return master;
  }

  /** The replica of the beginning. */
  public RedisProcess replica() {
    return replica;
  }

  @Override
  public void close() {
    sentinels.forEach(RedisProcess::close);
    replica.close();
    master.close();
  }
}
