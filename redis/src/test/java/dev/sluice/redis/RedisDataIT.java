package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.contract.SharedDataContract;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

class RedisDataIT {
  /** The contract, with an empty Redis for each test. */
  @TestInstance(TestInstance.Lifecycle.PER_CLASS)
  abstract static class OnRedis implements SharedDataContract {
    private final List<RedisProcess> masters;
    private final AutoCloseable servers;
    private final String uri;
    private Store store;

    OnRedis(List<RedisProcess> masters, AutoCloseable servers, String uri) {
      this.masters = masters;
      this.servers = servers;
      this.uri = uri;
    }

    @BeforeEach
    void open() {
      masters.forEach(master -> master.command("FLUSHALL"));
      store = RedisStore.connect(uri);
    }

    @AfterEach
    void close() {
      store.close();
    }

    @AfterAll
    void stop() throws Exception {
      servers.close();
    }

    @Override
    public SharedData data() {
      return store.sharedData();
    }

    /** Redis ends TTLs by its own clock, which no test can move. */
    @Override
    public void pass(Duration time) {
      try {
        Thread.sleep(time.toMillis());
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  abstract static class OnOne extends OnRedis {
    OnOne(RedisProcess redis) {
      super(List.of(redis), redis, redis.uri());
    }
  }

  @Nested
  class Newest extends OnOne {
    Newest() {
      super(RedisProcess.start(RedisProcess.newest()));
    }
  }

  @Nested
  class Redis62 extends OnOne {
    Redis62() {
      super(RedisProcess.start(Binary.ARTIFACT));
    }
  }

  abstract static class OnCluster extends OnRedis {
    OnCluster(RedisCluster cluster) {
      super(cluster.masters(), cluster, cluster.uri());
    }
  }

  @Nested
  class Cluster extends OnCluster {
    Cluster() {
      super(RedisCluster.start(RedisProcess.newest()));
    }
  }

  @Test
  void valuesThatAreNotOursAreReplaced() {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Store store = RedisStore.connect(redis.uri())) {
      SharedData data = store.sharedData();
      for (String name : List.of("value", "lease", "map", "group", "log")) {
        redis.command("SADD", "s2:data:{" + name + "}", "x");
      }
      redis.command("SADD", "s2:data:{group}!until", "x");

      assertThat(data.get("value").toCompletableFuture().join()).isEmpty();
      assertThat(data.entries("map").toCompletableFuture().join().values()).isEmpty();
      assertThat(data.version("map").toCompletableFuture().join()).isZero();
      assertThat(data.members("group").toCompletableFuture().join()).isEmpty();
      assertThat(data.newest("log", 1, null).toCompletableFuture().join()).isEmpty();

      Duration minute = Duration.ofMinutes(1);
      data.put("value", "1", minute).toCompletableFuture().join();
      assertThat(data.lease("lease", "a", minute).toCompletableFuture().join()).isTrue();
      assertThat(data.putEntry("map", "a", "1", 9).toCompletableFuture().join()).isTrue();
      assertThat(data.announce("group", "a", "1", minute).toCompletableFuture().join()).isTrue();
      data.append("log", List.of("1"), 9, minute).toCompletableFuture().join();
      assertThat(data.get("value").toCompletableFuture().join()).contains("1");
      assertThat(data.entries("map").toCompletableFuture().join().values())
          .isEqualTo(Map.of("a", "1"));
      assertThat(data.members("group").toCompletableFuture().join()).isEqualTo(Map.of("a", "1"));
      assertThat(data.newest("log", 1, null).toCompletableFuture().join()).hasSize(1);
    }
  }

  @Test
  void aClockThatWasSetBackRaisesTheVersionOfAMapAllTheSame() {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Store store = RedisStore.connect(redis.uri())) {
      SharedData data = store.sharedData();
      String future = "4000000000000000"; // in 2096
      redis.command("HSET", "s2:data:{map}", "", future);

      data.putEntry("map", "a", "1", 9).toCompletableFuture().join();
      long put = data.version("map").toCompletableFuture().join();
      data.removeEntry("map", "a").toCompletableFuture().join();
      long removed = data.version("map").toCompletableFuture().join();

      assertThat(put).isEqualTo(Long.parseLong(future) + 1);
      assertThat(removed).isEqualTo(Long.parseLong(future) + 2);
    }
  }

  @Test
  void aVersionThatSluiceNeverWritesIsNone() {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Store store = RedisStore.connect(redis.uri())) {
      SharedData data = store.sharedData();
      for (String foreign : List.of("9007199254740992", "9999999999999999", "99999999999999999")) {
        redis.command("HSET", "s2:data:{map}", "", foreign);

        assertThat(data.version("map").toCompletableFuture().join()).as(foreign).isZero();
        data.putEntry("map", "a", foreign, 9).toCompletableFuture().join();

        long version = data.version("map").toCompletableFuture().join();
        assertThat(version).as(foreign).isBetween(1L, (1L << 53) - 1);
        data.putEntry("map", "a", foreign, 9).toCompletableFuture().join();
        assertThat(data.version("map").toCompletableFuture().join()).isGreaterThan(version);
      }
    }
  }

  @Test
  void hugeIdsAndValuesOfOthersHurtNobody() {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Store store = RedisStore.connect(redis.uri())) {
      SharedData data = store.sharedData();
      Duration minute = Duration.ofMinutes(1);
      data.append("log", List.of("ours"), 9, minute).toCompletableFuture().join();
      redis.command("XADD", "s2:data:{log}", "18446744073709551615-1", "t", "x");
      data.announce("group", "a", "ours", minute).toCompletableFuture().join();
      redis.command("HSET", "s2:data:{group}", "big", "x".repeat(2 << 20));
      redis.command("ZADD", "s2:data:{group}!until", "+inf", "big");

      List<SharedData.Entry> log = data.newest("log", 9, null).toCompletableFuture().join();

      assertThat(log).extracting(SharedData.Entry::text).containsExactly("", "ours");
      assertThat(log.get(1).isAfter(log.get(0).id())).isFalse();
      assertThat(data.members("group").toCompletableFuture().join()).isEqualTo(Map.of("a", "ours"));
    }
  }

  @Test
  void everythingButMapsHasATtl() {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Store store = RedisStore.connect(redis.uri())) {
      SharedData data = store.sharedData();
      Duration minute = Duration.ofMinutes(1);
      data.put("value", "1", minute).toCompletableFuture().join();
      data.lease("lease", "a", minute).toCompletableFuture().join();
      data.announce("group", "a", "1", minute).toCompletableFuture().join();
      data.append("log", List.of("1"), 9, minute).toCompletableFuture().join();

      for (String key : List.of("{value}", "{lease}", "{group}", "{group}!until", "{log}")) {
        assertThat(Long.parseLong(redis.command("PTTL", "s2:data:" + key)))
            .as(key)
            .isBetween(50_000L, 60_000L);
      }
    }
  }
}
