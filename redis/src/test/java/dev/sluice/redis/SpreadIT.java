package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.store.Store;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** How accounts are spread over a Cluster: by a secret that all nodes share and no caller knows. */
@ExtendWith(RedisServers.class)
class SpreadIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r")
              .by("member")
              .limit(Limit.fixedWindow(3, Duration.ofDays(1)))
              .onStoreFailure(OnStoreFailure.DENY)
              .build());

  private RedisCluster cluster;
  private RedisProcess keeper;

  @BeforeEach
  void empty() {
    cluster = RedisServers.cluster(RedisProcess.newest());
    keeper = cluster.ownerOf(SlotHash.getSlot(Keyspace.SPREAD_KEY));
    flush();
  }

  @AfterEach
  void spreadAsTestsKnow() {
    flush();
    cluster.spread();
  }

  private void flush() {
    cluster.masters().forEach(master -> master.command("FLUSHALL"));
  }

  private String secret() {
    return keeper.command("GET", Keyspace.SPREAD_KEY);
  }

  private Limiter open() {
    Store store = RedisStore.builder(cluster.uri()).deadline(Duration.ofSeconds(5)).build();
    return Limiter.owning(store, RULES);
  }

  @Test
  void nodesThatStartOnAnEmptyClusterAgree() {
    try (Limiter one = open();
        Limiter other = open()) {
      assertThat(secret()).matches("[0-9a-f]{16}");
      assertThat(one.decide("r", ANN).allowed()).isTrue();
      assertThat(other.decide("r", ANN).allowed()).isTrue();
      assertThat(one.decide("r", ANN).allowed()).isTrue();
      assertThat(other.decide("r", ANN).allowed()).isFalse();
    }
  }

  @Test
  void secretThatWasLostIsPutBackAndOneThatWasChangedIsTaken() {
    try (Limiter limiter = open()) {
      String first = secret();
      keeper.command("DEL", Keyspace.SPREAD_KEY);
      RedisCluster.await(() -> secret().equals(first));

      cluster.spread();
      String key = FixedSpread.KEYSPACE.key(new Account("r", ANN));
      RedisProcess home = cluster.ownerOf(SlotHash.getSlot(key));
      RedisCluster.await(
          () -> {
            Decision unused = limiter.decide("r", ANN);
            return home.command("EXISTS", key).equals("1");
          });
    }
  }

  @Test
  void untilTheSecretIsKnownEachRuleDecidesByItsPolicy() {
    keeper.command("SET", Keyspace.SPREAD_KEY, "not ours");
    try (Limiter limiter = open()) {
      Decision decision = limiter.decide("r", ANN);

      assertThat(decision).isInstanceOf(Decision.Unmetered.class);
      assertThat(decision.allowed()).isFalse();
      assertThat(((Decision.Unmetered) decision).reason()).contains("has not been read yet");

      cluster.spread();
      RedisCluster.await(() -> limiter.decide("r", ANN).allowed());
    }
  }

  /** 500 identities that lie in one partition by one secret lie in all by another. */
  @Test
  void whoDoesNotKnowTheSecretCannotChooseThePartition() {
    Keyspace guessed = Keyspace.keyed(42);
    List<Account> chosen =
        IntStream.iterate(0, i -> i + 1)
            .mapToObj(i -> new Account("r", Identity.of("member", "m" + i)))
            .filter(account -> guessed.partition(account) == 7)
            .limit(500)
            .toList();
    Set<Integer> found = new HashSet<>();
    chosen.forEach(account -> found.add(FixedSpread.KEYSPACE.partition(account)));

    assertThat(found).hasSize(Keyspace.PARTITIONS);
  }

  @Test
  void identitiesAreSpreadEvenlyByEverySecret() {
    for (long secret : new long[] {0, 1, 42, Long.MAX_VALUE, -1, 0x0123456789abcdefL}) {
      Keyspace keyspace = Keyspace.keyed(secret);
      int[] each = new int[Keyspace.PARTITIONS];
      for (int i = 0; i < 64_000; i++) {
        each[keyspace.partition(new Account("r", Identity.of("member", "m" + i)))]++;
      }
      assertThat(Arrays.stream(each))
          .as("secret %d", secret)
          .allMatch(many -> many > 800 && many < 1_200);
    }
  }
}
