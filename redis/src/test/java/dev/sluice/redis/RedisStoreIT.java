package dev.sluice.redis;

import dev.sluice.contract.MovableClock;
import dev.sluice.contract.StoreContract;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.testing.SharedStore;
import dev.sluice.store.Store;
import dev.sluice.testing.Needs;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.extension.ExtendWith;

/** The store keeps the contract on one Redis and on a Cluster, on 6.2 and on 7. */
@ExtendWith(RedisServers.class)
class RedisStoreIT {
  @Nested
  class OnRedis6 extends OnRedis {
    OnRedis6() {
      super(Binary.ARTIFACT);
    }
  }

  @Nested
  @Needs("redis-server")
  class OnRedis7 extends OnRedis {
    OnRedis7() {
      super(Binary.SYSTEM);
    }
  }

  @Nested
  class OnCluster6 extends OnCluster {
    OnCluster6() {
      super(Binary.ARTIFACT);
    }
  }

  @Nested
  @Needs("redis-server")
  class OnCluster7 extends OnCluster {
    OnCluster7() {
      super(Binary.SYSTEM);
    }
  }

  private abstract static class OnRedis extends OnServers {
    private final Binary binary;

    OnRedis(Binary binary) {
      this.binary = binary;
    }

    @Override
    String uri() {
      return RedisServers.single(binary).uri();
    }

    @Override
    List<RedisProcess> servers() {
      return List.of(RedisServers.single(binary));
    }
  }

  private abstract static class OnCluster extends OnServers {
    private final Binary binary;

    OnCluster(Binary binary) {
      this.binary = binary;
    }

    @Override
    String uri() {
      return cluster().uri();
    }

    @Override
    List<RedisProcess> servers() {
      return cluster().masters();
    }

    private RedisCluster cluster() {
      return RedisServers.cluster(binary);
    }
  }

  /** One connection for all tests of a class; the clock is that of the test at hand. */
  @TestInstance(Lifecycle.PER_CLASS)
  private abstract static class OnServers extends StoreContract {
    private final AtomicReference<MovableClock> clock = new AtomicReference<>();
    private Store store;

    abstract String uri();

    abstract List<RedisProcess> servers();

    @Override
    protected Store open(MovableClock moved) {
      clock.set(moved);
      if (store == null) {
        store = RedisStore.builder(uri()).testClock(() -> clock.get().micros()).buildBare();
      }
      servers().forEach(server -> server.command("FLUSHALL"));
      return new SharedStore(store);
    }

    @AfterAll
    void close() {
      servers().forEach(RedisServers::assertEveryKeyHasTtl);
      if (store != null) {
        store.close();
      }
    }
  }
}
