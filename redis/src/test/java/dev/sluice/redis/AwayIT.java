package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a store reports about a Redis that does not count calls, and when it stops. */
class AwayIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r")
              .by("member")
              .limit(Limit.fixedWindow(1_000_000, Duration.ofDays(1)))
              .onStoreFailure(OnStoreFailure.ALLOW)
              .build());

  private final List<StoreException> faults = new CopyOnWriteArrayList<>();
  private RedisProcess server;

  @BeforeEach
  void start() {
    server = RedisProcess.start(newest());
  }

  @AfterEach
  void end() {
    server.close();
  }

  private Store open(String uri) {
    return RedisStore.builder(uri).onFault(faults::add).build();
  }

  private static Decision decide(Store store) {
    return store.decide(RULES.plan(Call.of("r", ANN), InstantSource.system()));
  }

  private static void awaitCounting(Store store) {
    RedisCluster.await(() -> decide(store).countedBy() == Decision.CountedBy.STORE);
  }

  @Test
  void troubleBeginsWithTheFirstUncountedCallAndEndsWithoutACall() {
    try (Store store = open(server.uri())) {
      awaitCounting(store);
      assertThat(store.trouble()).isEmpty();
      server.kill();

      assertThat(decide(store)).isInstanceOf(Decision.Unmetered.class);
      assertThat(store.trouble()).get().asString().contains("Redis");

      server.restart();
      RedisCluster.await(() -> store.trouble().isEmpty());
      assertThat(decide(store).countedBy()).isEqualTo(Decision.CountedBy.STORE);
    }
  }

  @Test
  void troubleOfAStoppedRedisEndsWithoutACall() {
    try (Store store = open(server.uri())) {
      awaitCounting(store);
      server.pause();

      assertThat(decide(store)).isInstanceOf(Decision.Unmetered.class);
      assertThat(store.trouble()).isPresent();

      server.resume();
      RedisCluster.await(() -> store.trouble().isEmpty());
    }
  }

  @Test
  void redisThatAnswersButCannotWriteIsInTroubleUntilItCan() {
    try (Store store = open(server.uri())) {
      awaitCounting(store);
      server.command("CONFIG", "SET", "maxmemory", "1");

      assertThat(decide(store)).isInstanceOf(Decision.Unmetered.class);
      long asked = server.libraryCalls();
      RedisCluster.await(() -> server.libraryCalls() >= asked + 4); // probes, and their refusals
      assertThat(store.trouble()).get().asString().contains("OOM");

      server.command("CONFIG", "SET", "maxmemory", "0");
      RedisCluster.await(() -> store.trouble().isEmpty());
    }
    assertThat(faults).as("only the caller's own").hasSize(1);
  }

  @Test
  void redisThatIsAwayFromTheStartIsInTroubleBeforeAnyCallUntilItIsThere() {
    server.kill();
    try (Store store = open(server.uri())) {
      assertThat(store.trouble())
          .get()
          .asString()
          .startsWith("Redis at 127.0.0.1:" + server.port() + " cannot be reached: ");

      server.restart();
      RedisCluster.await(() -> store.trouble().isEmpty());
      assertThat(decide(store).countedBy()).isEqualTo(Decision.CountedBy.STORE);
    }
  }

  @Test
  void whatRedisHasAgainstAPasswordIsNamed() {
    server.command("CONFIG", "SET", "requirepass", "geheim");
    refuses(server.uri(), "noauth", "NOAUTH");
    refuses("redis://:falsch@127.0.0.1:" + server.port(), "wrongpass", "WRONGPASS");
  }

  private void refuses(String uri, String kind, String name) {
    faults.clear();
    try (Store store = open(uri)) {
      Decision decision = decide(store);

      assertThat(((Decision.Unmetered) decision).reason()).contains(name).doesNotContain("falsch");
      assertThat(store.trouble()).get().asString().contains("answered " + name);
      RedisCluster.await(() -> !faults.isEmpty());
      assertThat(faults).extracting(StoreException::kind).containsOnly(kind);
      assertThatThrownBy(() -> store.locks(null, 10, null).toCompletableFuture().get())
          .isInstanceOf(ExecutionException.class)
          .hasMessageContaining(name);
    }
  }

  @Test
  void whatAClusterHasAgainstAPasswordIsNamed() {
    try (RedisCluster cluster = RedisCluster.start(newest())) {
      cluster.masters().forEach(node -> node.command("CONFIG", "SET", "requirepass", "geheim"));
      refuses(cluster.uri(), "noauth", "NOAUTH");
    }
  }

  @Test
  void requiredStoreIsOpenedOnlyIfRedisCountsACall() {
    try (Store store = RedisStore.builder(server.uri()).requireStore(true).build()) {
      assertThat(decide(store).countedBy()).isEqualTo(Decision.CountedBy.STORE);
    }
    server.command("CONFIG", "SET", "maxmemory", "1");
    failsToOpen("OOM");
    server.kill();
    failsToOpen("cannot be reached");
  }

  private void failsToOpen(String why) {
    assertThatThrownBy(() -> RedisStore.builder(server.uri()).requireStore(true).build())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(why);
  }

  @Test
  void operatorsSeeThatRedisIsDown() {
    try (Store store = open(server.uri());
        Limiter limiter = Limiter.owning(store, RULES)) {
      awaitCounting(store);
      server.kill();

      assertThatThrownBy(() -> limiter.locksAsync(null, 10, null).toCompletableFuture().get())
          .hasCauseInstanceOf(StoreException.class)
          .hasMessageContaining("Redis");
      assertThatThrownBy(() -> limiter.inspectAsync(Call.of("r", ANN)).toCompletableFuture().get())
          .hasCauseInstanceOf(StoreException.class)
          .hasMessageContaining("Redis");
    }
  }
}
