package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SharedKeysIT {
  private static final String KEY = "s2:receipt-keys";

  private RedisProcess redis;

  @BeforeEach
  void start() {
    redis = RedisProcess.start(RedisProcess.newest());
  }

  @AfterEach
  void stop() {
    redis.close();
  }

  /** The shared keys, the one that signs first; without the key of the process. */
  private static List<String> shared(SharedKeys keys) {
    List<String> all = keys.keys().stream().map(HexFormat.of()::formatHex).toList();
    return all.subList(0, all.size() - 1);
  }

  @Test
  void servicesThatStartAtOnceAgreeOnOneKey() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<SharedKeys> services = new ArrayList<>();
    try {
      Callable<SharedKeys> open = () -> SharedKeys.open(redis.uri());
      for (Future<SharedKeys> opened :
          threads.invokeAll(IntStream.range(0, 4).mapToObj(i -> open).toList())) {
        services.add(opened.get());
      }

      List<String> first = shared(services.get(0));
      assertThat(first).hasSize(1);
      assertThat(first.get(0)).hasSize(64).isEqualTo(redis.command("GET", KEY));
      assertThat(services).allSatisfy(keys -> assertThat(shared(keys)).isEqualTo(first));
      assertThat(redis.command("TTL", KEY)).isEqualTo("-1");
    } finally {
      threads.shutdownNow();
      services.forEach(SharedKeys::close);
    }
  }

  @Test
  void aNewKeySealsOnlyWhenEveryServiceKnowsIt() {
    try (SharedKeys one = SharedKeys.open(redis.uri());
        SharedKeys other = SharedKeys.open(redis.uri())) {
      String old = shared(one).get(0);

      one.rotate().toCompletableFuture().join();

      assertThat(shared(one)).hasSize(2).startsWith(old);
      RedisCluster.await(() -> !shared(one).get(0).equals(old));
      String young = shared(one).get(0);
      assertThat(shared(other)).contains(young, old);
      RedisCluster.await(() -> shared(other).equals(List.of(young, old)));
      assertThat(redis.command("GET", KEY)).isEqualTo(young + " " + old);
    }
  }

  @Test
  void theKeyBeforeTheLastIsForgotten() {
    try (SharedKeys keys = SharedKeys.open(redis.uri())) {
      String first = shared(keys).get(0);

      keys.rotate().toCompletableFuture().join();
      keys.rotate().toCompletableFuture().join();

      assertThat(shared(keys)).hasSize(2).doesNotContain(first);
    }
  }

  @Test
  void aKeyThatIsLostIsPutBackByWhoKnowsIt() {
    try (SharedKeys keys = SharedKeys.open(redis.uri())) {
      String known = shared(keys).get(0);

      redis.command("FLUSHALL");

      RedisCluster.await(() -> redis.command("GET", KEY).equals(known));
      assertThat(shared(keys)).containsExactly(known);
    }
  }

  @Test
  void untilRedisIsReachedAProcessHasAKeyOfItsOwn() {
    redis.kill();
    try (SharedKeys keys = SharedKeys.open(redis.uri())) {
      List<byte[]> own = keys.keys();
      assertThat(own).hasSize(1);
      assertThat(own.get(0)).hasSize(SharedKeys.BYTES);

      redis.restart();

      RedisCluster.await(() -> keys.keys().size() == 2);
      assertThat(keys.keys().get(1)).isEqualTo(own.get(0));
    }
  }

  @Test
  void anythingElseUnderTheKeyChangesNothingUntilTheNextRotation() {
    try (SharedKeys keys = SharedKeys.open(redis.uri())) {
      String known = shared(keys).get(0);

      redis.command("DEL", KEY);
      redis.command("LPUSH", KEY, "x");
      keys.rotate().toCompletableFuture().join();

      RedisCluster.await(() -> !shared(keys).contains(known));
      assertThat(shared(keys)).containsExactly(redis.command("GET", KEY));
    }
    redis.command("SET", KEY, "not a key");
    try (SharedKeys keys = SharedKeys.open(redis.uri())) {
      assertThat(shared(keys)).isEmpty();
    }
  }
}
