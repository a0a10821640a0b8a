package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.OnStoreFailure;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The least rights that a user of Redis needs, as docs/redis.md lists them. */
@ExtendWith(RedisServers.class)
class AclIT {
  /** The rights in the order of docs/redis.md. */
  static final String RIGHTS =
      "resetkeys ~s2:* resetchannels &s2:* -@all"
          + " +evalsha +eval +time +get +mget +set +setrange +del +unlink +exists +pexpire +pttl +rename"
          + " +zadd +zcount +zlexcount +zscore +zrange +zrangebyscore +zrem +zremrangebyrank"
          + " +getrange +publish +subscribe +ping +info"
          + " +type +zcard +hset +hget +hgetall +hdel +hexists +hlen +xadd +xrevrange";

  /** What comes to them on Redis 7 and newer. */
  static final String FUNCTIONS = " +fcall +fcall_ro +function|load";

  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("all")
              .by("member")
              .limit(Limit.tokenBucket(3, 3, Duration.ofHours(1)))
              .limit(Limit.fixedWindow(3, Duration.ofDays(1)))
              .limit(Limit.slidingWindow(3, Duration.ofHours(1)))
              .limit(Limit.slidingLog(3, Duration.ofHours(1)))
              .lock(Duration.ofMinutes(1))
              .onStoreFailure(OnStoreFailure.DENY)
              .build(),
          Rule.builder("plain")
              .by("member")
              .limit(Limit.tokenBucket(3, 3, Duration.ofHours(1)))
              .limit(Limit.fixedWindow(3, Duration.ofDays(1)))
              .onStoreFailure(OnStoreFailure.DENY)
              .build(),
          Rule.builder("log")
              .by("member")
              .limit(Limit.slidingLog(9, Duration.ofHours(1)))
              .onStoreFailure(OnStoreFailure.DENY)
              .build(),
          Rule.builder("quick")
              .by("member")
              .limit(Limit.tokenBucket(3, 3, Duration.ofHours(1)))
              .onStoreFailure(OnStoreFailure.DENY)
              .build());

  private static String login(RedisProcess server, String... withdrawn) {
    server.command("FLUSHALL");
    server.command("ACL", "LOG", "RESET");
    List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "sluice", "reset", "on"));
    words.add(">geheim");
    boolean hasFunctions = !server.command("FUNCTION", "LIST").startsWith("-");
    String rights = hasFunctions ? RIGHTS + FUNCTIONS : RIGHTS;
    words.addAll(Arrays.asList(rights.split(" ", -1)));
    words.addAll(Arrays.asList(withdrawn));
    assertThat(server.command(words.toArray(new String[0]))).isEqualTo("OK");
    return "redis://sluice:geheim@127.0.0.1:" + server.port();
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void receiptKeysAreSharedAndRotatedWithTheLeastRights(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    try (SharedKeys keys = SharedKeys.open(login(server))) {
      assertThat(keys.keys()).hasSize(2);

      keys.rotate().toCompletableFuture().join();

      assertThat(keys.keys()).hasSize(3);
    } finally {
      server.command("FLUSHALL"); // they have no TTL
    }
    server.command("DEL", Keyspace.RECEIPT_KEYS); // it has no TTL, and others use this server
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void everythingWorksWithTheLeastRights(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    List<StoreException> faults = new CopyOnWriteArrayList<>();
    long now = System.currentTimeMillis() * 1_000;
    long[] clock = {now};
    Duration patient = Duration.ofSeconds(5);
    try (Store store =
            RedisStore.builder(login(server))
                .deadline(patient)
                .onFault(faults::add)
                .testClock(() -> clock[0])
                .build();
        Limiter limiter = Limiter.owning(store, RULES)) {
      RedisCluster.await(() -> server.command("PUBSUB", "NUMSUB", Keyspace.REFUNDS).endsWith("1"));
      Receipt receipt = ((Decision.Allowed) limiter.decide("all", ANN)).receipt();
      assertThat(limiter.decide(Call.of("all", ANN).withId("id")).allowed()).isTrue();
      assertThat(limiter.decide(Call.of("all", ANN).recording()).allowed()).isTrue();
      assertThat(limiter.decide("all", ANN).locked()).isTrue();
      assertThat(limiter.decide(Call.of("all", ANN).peeking()).allowed()).isFalse();
      assertThat(limiter.locks(null, 1_000, null).locks()).hasSize(1);
      assertThat(limiter.lift("all", ANN)).isTrue();
      assertThat(limiter.refund(receipt)).isTrue();
      clock[0] =
          now - Duration.ofDays(3).toMillis() * 1_000; // far behind what the account has seen
      limiter.decide("all", ANN);
      clock[0] = now; // and there again
      assertThat(limiter.decide(Call.of("all", ANN).withId("id2")).allowed()).isTrue();
      limiter.lock("all", ANN, Duration.ofHours(1), "by hand");
      assertThat(limiter.reset("all", ANN)).isTrue();
      assertThat(limiter.decide(Call.of("log", ANN).costing(2)).allowed()).isTrue();
      assertThat(limiter.decide(Call.of("log", ANN).costing(3)).allowed()).isTrue();
      assertThat(limiter.decide(Call.of("log", ANN).costing(9)).allowed()).isFalse();
      for (String rule : List.of("quick", "plain")) {
        assertThat(limiter.decide(rule, ANN).allowed()).isTrue();
        assertThat(limiter.decide(rule, ANN).allowed()).isTrue();
        assertThat(limiter.decide(rule, ANN).allowed()).isTrue();
      }
    }
    assertThat(faults).isEmpty();
    assertThat(server.command("ACL", "LOG"))
        .as("no script went on without a right")
        .doesNotContain("publish", Keyspace.REFUNDS, "\nlua\n");
  }

  @Test
  void publishedRulesWorkWithTheLeastRights() {
    RedisProcess server = RedisServers.single(RedisProcess.newest());
    try (RedisRules node = RedisRules.watch(login(server))) {
      node.publish("rules:\n  SignIn:\n    by: [login]\n    limit: 3 per 1h\n");
      RedisCluster.await(() -> node.rules().find("SignIn") != null && node.failure().isEmpty());
      server.command("DEL", Keyspace.RULES);
      RedisCluster.await(() -> server.command("EXISTS", Keyspace.RULES).equals("1"));
    } finally {
      server.command("DEL", Keyspace.RULES);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void missingRightIsNamed(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    for (String right : List.of("-mget", "-zadd", "-set", "-time")) {
      List<StoreException> faults = new CopyOnWriteArrayList<>();
      String uri = login(server, right);
      try (Store store =
              RedisStore.builder(uri).deadline(Duration.ofSeconds(5)).onFault(faults::add).build();
          Limiter limiter = Limiter.owning(store, RULES)) {
        // Of two accounts, because the value of one is read by GET.
        Decision decision = limiter.decide(Call.of(List.of("all", "quick"), ANN));

        assertThat(decision).as(right).isInstanceOf(Decision.Unmetered.class);
        RedisCluster.await(() -> !faults.isEmpty());
        assertThat(faults).as(right).extracting(StoreException::kind).containsOnly("noperm");
        assertThat(((Decision.Unmetered) decision).reason())
            .as(right)
            .containsAnyOf("permission", "can't run this command");
      }
    }
  }

  @Test
  void withoutTheChannelNoDenialIsCachedButEverythingElseGoesOn() {
    RedisProcess server = RedisServers.single(RedisProcess.newest());
    long others = server.info("clients", "connected_clients");
    try (Store store =
            RedisStore.builder(login(server, "resetchannels"))
                .deadline(Duration.ofSeconds(5))
                .build();
        Limiter limiter = Limiter.owning(store, RULES)) {
      for (int i = 0; i < 3; i++) {
        assertThat(limiter.decide("quick", ANN).allowed()).isTrue();
      }
      long before = server.libraryCalls();
      assertThat(limiter.decide("quick", ANN).allowed()).isFalse();
      assertThat(limiter.decide("quick", ANN).allowed()).isFalse();
      assertThat(server.libraryCalls() - before).isGreaterThanOrEqualTo(2);
      long connected = server.info("clients", "connected_clients");
      assertThat(connected - others).as("no connection is left over by each try").isLessThan(8);
    }
  }

  @Test
  void wrongPasswordIsAnsweredForByPolicyAndNeverPrinted() {
    RedisProcess server = RedisServers.single(RedisProcess.newest());
    String uri = login(server).replace("geheim", "falsch");
    try (Limiter limiter = Limiter.owning(RedisStore.connect(uri), RULES)) {
      Decision decision = limiter.decide("all", ANN);

      assertThat(decision).isInstanceOf(Decision.Unmetered.class);
      assertThat(decision.toString()).doesNotContain("falsch");
    }
    assertThatThrownBy(() -> RedisStore.connect("redis://sluice:geheim@ho st:1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("expected: redis://")
        .hasMessageNotContaining("geheim")
        .hasNoCause();
  }
}
