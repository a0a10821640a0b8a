package dev.sluice.redis.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Real servers that all tests of a run share: started when first asked for, emptied after each
 * class, ended with the run. After each class no key may be without a TTL.
 */
public final class RedisServers implements BeforeAllCallback, AfterAllCallback {
  private static final Map<RedisProcess.Binary, RedisProcess> SINGLES = new ConcurrentHashMap<>();
  private static final Map<RedisProcess.Binary, RedisCluster> CLUSTERS = new ConcurrentHashMap<>();

  public static RedisProcess single(RedisProcess.Binary binary) {
    return SINGLES.computeIfAbsent(binary, RedisProcess::start);
  }

  public static RedisCluster cluster(RedisProcess.Binary binary) {
    return CLUSTERS.computeIfAbsent(binary, RedisCluster::start);
  }

  /** Fails if a server holds a key that would never go away by itself. */
  public static void assertEveryKeyHasTtl(RedisProcess server) {
    assertThat(server.keysWithoutTtl()).as("keys without TTL at port %d", server.port()).isEmpty();
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    context
        .getRoot()
        .getStore(ExtensionContext.Namespace.GLOBAL)
        .getOrComputeIfAbsent("redis servers", key -> (AutoCloseable) RedisServers::closeAll);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    for (RedisProcess server : masters()) {
      assertEveryKeyHasTtl(server);
      server.command("FLUSHALL");
    }
  }

  private static List<RedisProcess> masters() {
    List<RedisProcess> masters = new ArrayList<>(SINGLES.values());
    CLUSTERS.values().forEach(cluster -> masters.addAll(cluster.masters()));
    return masters;
  }

  private static void closeAll() {
    SINGLES.values().forEach(RedisProcess::close);
    CLUSTERS.values().forEach(RedisCluster::close);
    SINGLES.clear();
    CLUSTERS.clear();
  }
}
