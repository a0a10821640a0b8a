package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import io.lettuce.core.RedisClient;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Calls with an id on Redis: over several slots of a Cluster, and under values of others. */
@ExtendWith(RedisServers.class)
class CallIdsIT {
  private static final Duration MONTH = Duration.ofDays(30);
  private static final Identity ANN = Identity.of("member", "ann", "ip", "10.0.0.1");
  private static final Rule MEMBERS =
      Rule.builder("members").by("member").limit(Limit.slidingLog(5, MONTH)).build();
  private static final Rule ADDRESSES =
      Rule.builder("addresses")
          .by("ip")
          .limit(Limit.fixedWindow(2, Duration.ofSeconds(10)))
          .build();
  private static final Call BOTH = Call.of(List.of("members", "addresses"), ANN);

  private final long[] now = {1_790_000_000_000_000L};
  private RedisCluster cluster;

  @BeforeEach
  void empty() {
    cluster = RedisServers.cluster(newest());
    cluster.masters().forEach(master -> master.command("FLUSHALL"));
    cluster.spread();
    assertThat(slot("members", "member")).isNotEqualTo(slot("addresses", "ip"));
  }

  private static int slot(String rule, String facet) {
    Identity part = Identity.of(facet, ANN.facet(facet));
    return SlotHash.getSlot(FixedSpread.KEYSPACE.key(new Account(rule, part)));
  }

  private Limiter limiter(Rule... rules) {
    return Limiter.owning(
        RedisStore.builder(cluster.uri()).testClock(() -> now[0]).buildBare(), Rules.of(rules));
  }

  private void pass(Duration time) {
    now[0] += time.toNanos() / 1_000;
  }

  private static long left(Limiter limiter, String rule) {
    return limiter.decide(Call.of(rule, ANN).peeking()).balances().get(0).remaining();
  }

  private static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  /** Every key of the Cluster with the milliseconds that it has left. */
  private Map<String, Long> keys() {
    Map<String, Long> keys = new TreeMap<>();
    for (RedisProcess master : cluster.masters()) {
      for (String key : master.command("KEYS", "*").split("\n", -1)) {
        if (!key.isEmpty()) {
          keys.put(key, Long.parseLong(master.command("PTTL", key)));
        }
      }
    }
    return keys;
  }

  @Test
  void callWithAnIdThatAnotherSlotDeniesIsDeniedAgainAndLaterJudgedAfresh() {
    try (Limiter limiter = limiter(MEMBERS, ADDRESSES)) {
      limiter.decide(Call.of("addresses", ANN).costing(2));
      Call call = BOTH.withId("a,b");

      assertThat(limiter.decide(call).allowed()).isFalse();
      assertThat(left(limiter, "members")).isEqualTo(5);
      pass(Duration.ofSeconds(1));
      assertThat(limiter.decide(call).allowed()).as("sent again").isFalse();
      assertThat(left(limiter, "members")).isEqualTo(5);
      pass(Duration.ofSeconds(9));

      assertThat(limiter.decide(call).allowed()).as("after retryAfter").isTrue();
      assertThat(left(limiter, "members")).isEqualTo(4);
      assertThat(limiter.decide(call).allowed()).isTrue();
      assertThat(left(limiter, "members")).isEqualTo(4);
      assertThat(left(limiter, "addresses")).isEqualTo(1);
    }
  }

  @Test
  void deniedCallOverTwoSlotsLeavesNothingThatLasts() {
    for (Limit limit :
        List.of(
            Limit.slidingLog(5, MONTH),
            Limit.fixedWindow(5, MONTH),
            Limit.slidingWindow(5, MONTH),
            Limit.tokenBucket(5, 5, MONTH))) {
      cluster.masters().forEach(master -> master.command("FLUSHALL"));
      cluster.spread();
      Rule members = Rule.builder("members").by("member").limit(limit).build();
      try (Limiter limiter = limiter(members, ADDRESSES)) {
        limiter.decide(Call.of("addresses", ANN).costing(2));
        Map<String, Long> before = keys();
        for (int i = 0; i < 20; i++) {
          Call call = Call.of(BOTH.rules(), ANN.with("member", "m" + i));
          assertThat(limiter.decide(i % 2 == 0 ? call : call.withId("id" + i)).allowed()).isFalse();
          pass(Duration.ofMillis(1));
        }
        Map<String, Long> left = keys();
        left.keySet().removeAll(before.keySet());

        assertThat(left.values()).as("%s: %s", limit, left).allMatch(millis -> millis <= 60_000);
      }
    }
  }

  /** By Redis' own clock, which each slot reads for itself. */
  @Test
  void callOverTwoSlotsThatWasRefundedIsCountedInBothWhenItComesAgain() {
    Rule members = Rule.builder("members").by("member").limit(Limit.fixedWindow(5, MONTH)).build();
    Rule addresses =
        Rule.builder("addresses").by("ip").limit(Limit.tokenBucket(5, 1, MONTH)).build();
    try (Limiter limiter =
        Limiter.owning(
            RedisStore.builder(cluster.uri()).buildBare(), Rules.of(members, addresses))) {
      for (int i = 0; i < 20; i++) {
        cluster.masters().forEach(master -> master.command("FLUSHALL"));
        cluster.spread();
        Call call = BOTH.withId("again");
        for (int round = 0; round < 3; round++) {
          Receipt receipt = ((Decision.Allowed) limiter.decide(call)).receipt();
          assertThat(left(limiter, "members")).isEqualTo(4);
          assertThat(left(limiter, "addresses")).isEqualTo(4);
          assertThat(join(limiter.refundAsync(receipt))).isTrue();
          assertThat(left(limiter, "members")).isEqualTo(5);
          assertThat(left(limiter, "addresses")).isEqualTo(5);
        }
      }
    }
  }

  @Test
  void receiptOverTwoSlotsIsRefundedInBothOnce() {
    try (Limiter limiter = limiter(MEMBERS, ADDRESSES)) {
      for (Call call : List.of(BOTH, BOTH.withId("a,b"))) {
        Receipt receipt = ((Decision.Allowed) limiter.decide(call)).receipt();
        assertThat(left(limiter, "members")).isEqualTo(4);
        assertThat(left(limiter, "addresses")).isEqualTo(1);

        assertThat(join(limiter.refundAsync(receipt))).isTrue();
        assertThat(join(limiter.refundAsync(receipt))).isFalse();
        assertThat(left(limiter, "members")).isEqualTo(5);
        assertThat(left(limiter, "addresses")).isEqualTo(2);
      }
    }
  }

  @Test
  void idIsRememberedInEverySlotAsLongAsTheLongestLimitOfItsCall() {
    try (Limiter limiter = limiter(MEMBERS, ADDRESSES)) {
      Call call = BOTH.withId("x");
      limiter.decide(call);
      pass(Duration.ofMinutes(10));

      assertThat(limiter.decide(call).allowed()).isTrue();
      assertThat(left(limiter, "members")).isEqualTo(4);
      assertThat(left(limiter, "addresses")).isEqualTo(2);
    }
  }

  @Test
  void idThatOneSlotKnowsForAnotherCallCountsNothingInTheOthers() {
    try (Limiter limiter = limiter(MEMBERS, ADDRESSES)) {
      limiter.decide(Call.of("members", ANN).withId("x"));

      for (int i = 0; i < 3; i++) {
        pass(Duration.ofMillis(1));
        assertThatThrownBy(() -> limiter.decide(BOTH.withId("x")))
            .isInstanceOf(IdReusedException.class);
        assertThat(left(limiter, "members")).isEqualTo(4);
        assertThat(left(limiter, "addresses")).isEqualTo(2);
      }
    }
  }

  @Test
  void whatAShadowRuleDidNotTakeInAnotherSlotIsRefundedOnceHoweverOftenTheCallComes() {
    Rule shadow =
        Rule.builder("shadow")
            .by("member", "ip")
            .limit(Limit.fixedWindow(3, MONTH))
            .shadow()
            .build();
    try (Limiter limiter = limiter(shadow)) {
      limiter.decide(
          Call.of("shadow", Identity.of("ip", ANN.facet("ip"), "member", "x")).costing(3));
      limiter.decide(Call.of("shadow", Identity.of("ip", "10.9.9.9", "member", "ann")));
      Call call = Call.of("shadow", ANN).withId("x");

      for (int i = 0; i < 4; i++) {
        Decision decision = limiter.decide(call);
        assertThat(decision.allowed()).isTrue();
        assertThat(decision.shadowDenials()).containsExactly("shadow");
        assertThat(left(limiter, "shadow")).as("of the member, sent %d times", i).isEqualTo(2);
        pass(Duration.ofSeconds(14));
      }
    }
  }

  @Test
  void whateverLiesUnderTheKeyOfACallItIsAnsweredOrRefused() {
    RedisProcess server = RedisServers.single(newest());
    server.command("FLUSHALL");
    SplittableRandom random = new SplittableRandom(15);
    try (LettuceStore store = RedisStore.builder(server.uri()).testClock(() -> now[0]).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(MEMBERS, ADDRESSES));
        RedisClient client = RedisClient.create(server.uri());
        StatefulRedisConnection<byte[], byte[]> connection =
            client.connect(ByteArrayCodec.INSTANCE)) {
      RedisCommands<byte[], byte[]> redis = connection.sync();
      Call call = BOTH.withId("x");
      limiter.decide(call);
      byte[] key = onlyKey(redis, "s2:*!call:*");
      byte[] written = redis.get(key);
      int reused = 0;
      for (int i = 0; i < 6_000; i++) {
        redis.set(key, mutated(written, random), SetArgs.Builder.ex(100));
        pass(Duration.ofMillis(1));
        try {
          Decision decision = limiter.decide(call);
          assertThat(decision.balances()).hasSize(2);
        } catch (IdReusedException e) {
          reused++;
        }
      }
      redis.del(key);
      redis.rpush(key, "not ours".getBytes(StandardCharsets.UTF_8));
      limiter.decide(call);
      assertThat(redis.get(key)).as("replaced").isNotEmpty();
      System.out.printf(
          "6,000 values under the key of a call: %d replaced, %d of another question%n",
          store.foreignValues(), reused);
      assertThat(store.foreignValues()).isGreaterThan(1_000);
    }
  }

  @Test
  void whateverLiesUnderTheKeyOfASettledReceiptItIsSettledOrNot() {
    RedisProcess server = RedisServers.single(newest());
    server.command("FLUSHALL");
    SplittableRandom random = new SplittableRandom(16);
    try (LettuceStore store = RedisStore.builder(server.uri()).testClock(() -> now[0]).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(MEMBERS, ADDRESSES));
        RedisClient client = RedisClient.create(server.uri());
        StatefulRedisConnection<byte[], byte[]> connection =
            client.connect(ByteArrayCodec.INSTANCE)) {
      RedisCommands<byte[], byte[]> redis = connection.sync();
      Receipt receipt = ((Decision.Allowed) limiter.decide(BOTH)).receipt();
      assertThat(join(limiter.refundAsync(receipt))).isTrue();
      byte[] key = onlyKey(redis, "s2:*!done");
      assertThat(redis.zcard(key)).isEqualTo(1);
      byte[] written = redis.zrange(key, 0, 0).get(0);
      for (int i = 0; i < 200; i++) {
        byte[] other = new byte[random.nextInt(200)];
        random.nextBytes(other);
        redis.del(key);
        if (random.nextBoolean()) {
          redis.set(key, other, SetArgs.Builder.ex(100));
        } else {
          redis.rpush(key, other);
        }
        assertThat(join(limiter.refundAsync(receipt))).isTrue();
        assertThat(redis.zrange(key, 0, 0).get(0)).as("replaced").isEqualTo(written);
        assertThat(join(limiter.refundAsync(receipt))).isFalse();
      }
      assertThat(store.foreignValues()).isEqualTo(200);
      redis.zadd(key, Double.POSITIVE_INFINITY, "not ours".getBytes(StandardCharsets.UTF_8));
      assertThat(join(limiter.refundAsync(receipt))).isFalse();
    }
  }

  private static byte[] onlyKey(RedisCommands<byte[], byte[]> redis, String pattern) {
    List<byte[]> found = redis.keys(pattern);
    assertThat(found).hasSize(1);
    return found.get(0);
  }

  /** A value with a few bytes changed, left out or put in; now and then one of random bytes. */
  private static byte[] mutated(byte[] value, SplittableRandom random) {
    if (random.nextInt(20) == 0) {
      byte[] other = new byte[random.nextInt(200)];
      random.nextBytes(other);
      return other;
    }
    List<Byte> bytes = new ArrayList<>();
    for (byte each : value) {
      bytes.add(each);
    }
    String likely = "0123456789 -+.exnaif|;#\0\n";
    for (int i = 1 + random.nextInt(4); i > 0; i--) {
      int at = random.nextInt(bytes.size() + 1);
      byte one =
          random.nextBoolean()
              ? (byte) likely.charAt(random.nextInt(likely.length()))
              : (byte) random.nextInt(256);
      int what = random.nextInt(4);
      if (what == 0 || at == bytes.size()) {
        bytes.add(at, one);
      } else if (what == 1) {
        bytes.set(at, one);
      } else if (what == 2) {
        bytes.remove(at);
      } else {
        bytes.subList(at, Math.min(bytes.size(), at + 1 + random.nextInt(40))).clear();
      }
    }
    byte[] changed = new byte[bytes.size()];
    for (int i = 0; i < changed.length; i++) {
      changed[i] = bytes.get(i);
    }
    return changed;
  }
}
