package dev.sluice.redis.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** A master, a replica, and three Sentinels that watch over them. */
public final class RedisSentinels implements AutoCloseable {
  private static final String NAME = "sluice";

  private final RedisProcess master;
  private final RedisProcess replica;
  private final List<RedisProcess> sentinels = new ArrayList<>();

  private RedisSentinels(RedisProcess.Binary binary) {
    master = RedisProcess.start(binary, "--repl-diskless-sync-delay", "0");
    String port = Integer.toString(master.port());
    replica = RedisProcess.start(binary, "--replicaof", "127.0.0.1 " + port);
    RedisCluster.await(() -> master.info("replication", "connected_slaves") == 1);
    String settings =
        """
        sentinel monitor %1$s 127.0.0.1 %2$s 2
        sentinel down-after-milliseconds %1$s 1000
        sentinel failover-timeout %1$s 3000
        """
            .formatted(NAME, port);
    for (int i = 0; i < 3; i++) {
      sentinels.add(RedisProcess.startWithFile(binary, settings, "--sentinel"));
    }
    RedisCluster.await(() -> sentinels.stream().allMatch(RedisSentinels::knowsAll));
  }

  public static RedisSentinels start(RedisProcess.Binary binary) {
    return new RedisSentinels(binary);
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
