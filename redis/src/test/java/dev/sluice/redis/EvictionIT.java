package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.store.Store;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A Redis that evicts keys is warned of, also when it begins to while Sluice runs. */
@ExtendWith(RedisServers.class)
class EvictionIT {
  private static final Duration PAUSE = Duration.ofMillis(50);

  private RedisProcess server;
  private int ownLooks;

  @BeforeEach
  void start() {
    server = RedisProcess.start(RedisProcess.newest());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private void evict(String policy, String maxmemory) {
    server.command("CONFIG", "SET", "maxmemory", maxmemory);
    server.command("CONFIG", "SET", "maxmemory-policy", policy);
  }

  private String address() {
    return "127.0.0.1:" + server.port();
  }

  @Test
  void policyThatIsChangedOnARunningRedisIsNoticedAndSoIsItsRepair() {
    try (Topology topology = Topology.connect(server.uri(), false)) {
      EvictionWatch watch = new EvictionWatch(topology, topology, PAUSE);
      assertThat(watch.warnings()).isEmpty();

      evict("allkeys-lru", "100mb");
      RedisCluster.await(() -> !watch.warnings().isEmpty());
      assertThat(watch.warnings())
          .singleElement()
          .asString()
          .contains(address(), "maxmemory-policy is allkeys-lru (expected: noeviction)");

      evict("noeviction", "100mb");
      RedisCluster.await(() -> watch.warnings().isEmpty());
      evict("allkeys-lru", "0");
      assertThat(watch.warnings()).as("without a bound nothing is evicted").isEmpty();
    }
  }

  @Test
  void evictedKeysAreCounted() {
    server.command("EVAL", "for i = 1, 2000 do redis.call('SET', i, ('x'):rep(1000)) end", "0");
    try (Topology topology = Topology.connect(server.uri(), false)) {
      EvictionWatch watch = new EvictionWatch(topology, topology, PAUSE);
      evict("allkeys-lru", "100mb");
      RedisCluster.await(() -> !watch.warnings().isEmpty()); // so it knows the count of before
      evict("allkeys-lru", "2mb");
      server.command("SET", "one", "more");
      RedisCluster.await(() -> server.info("stats", "evicted_keys") > 0);
      evict("noeviction", "0");

      RedisCluster.await(
          () ->
              watch.warnings().stream()
                  .anyMatch(
                      warning ->
                          warning.contains(
                              "has evicted " + server.info("stats", "evicted_keys") + " keys")));
      assertThat(watch.warnings()).singleElement().asString().contains(address());
    }
  }

  @Test
  void redisThatIsAwayIsLookedAtWhenItIsThere() {
    server.kill();
    try (Topology topology = Topology.connect(server.uri(), false)) {
      EvictionWatch watch = new EvictionWatch(topology, topology, PAUSE);
      server.restart("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu");

      RedisCluster.await(() -> !watch.warnings().isEmpty());

      assertThat(watch.warnings()).singleElement().asString().contains("allkeys-lfu");
    }
  }

  @Test
  void storeListsItsWarnings() {
    evict("volatile-ttl", "100mb");
    try (Store store = RedisStore.connect(server.uri())) {
      RedisCluster.await(() -> !store.warnings().isEmpty());
      assertThat(store.warnings()).singleElement().asString().contains("volatile-ttl");
      assertThat(store.trouble()).isEmpty();
    }
  }

  @Test
  void storeLooksWhenItConnectsAndAfterACallThatRedisDidNotDecide() {
    Rules rules =
        Rules.of(
            Rule.builder("r").by("member").limit(Limit.fixedWindow(9, Duration.ofDays(1))).build());
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), rules)) {
      RedisCluster.await(() -> looks() == 2); // at the memory and at the statistics
      server.command("CONFIG", "SET", "maxmemory", "1");

      Decision decision = limiter.decide("r", Identity.of("member", "ann"));

      assertThat(decision.countedBy()).isEqualTo(Decision.CountedBy.LOCAL);
      RedisCluster.await(() -> looks() == 4);
    }
  }

  /** How often Redis was asked for INFO, without this test. */
  private long looks() {
    return server.info("commandstats", "cmdstat_info") - ownLooks++;
  }

  @Test
  void everyMasterOfAClusterIsLookedAt() {
    RedisCluster cluster = RedisServers.cluster(RedisProcess.newest());
    RedisProcess last = cluster.masters().get(2);
    try (Topology topology = Topology.connect(cluster.uri(), false)) {
      EvictionWatch watch = new EvictionWatch(topology, topology, PAUSE);
      last.command("CONFIG", "SET", "maxmemory", "100mb");
      last.command("CONFIG", "SET", "maxmemory-policy", "allkeys-random");
      RedisCluster.await(() -> !watch.warnings().isEmpty());
      assertThat(watch.warnings())
          .singleElement()
          .asString()
          .contains("127.0.0.1:" + last.port(), "allkeys-random");
    } finally {
      last.command("CONFIG", "SET", "maxmemory", "0");
      last.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
    }
  }

  @Test
  void redisThatHidesItsSettingsIsAWarningToo() {
    server.command("ACL", "SETUSER", "quiet", "on", ">geheim", "~*", "&*", "+@all", "-info");
    try (Topology topology = Topology.connect("redis://quiet:geheim@" + address(), false)) {
      EvictionWatch watch = new EvictionWatch(topology, topology, PAUSE);
      RedisCluster.await(() -> !watch.warnings().isEmpty());
      assertThat(watch.warnings())
          .singleElement()
          .asString()
          .contains("It is not known whether Redis at " + address() + " evicts keys", "NOPERM");
    }
  }
}
