package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.LockPage;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.testing.Mutator;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Damaged values under our keys: each call is decided, whole or not at all. */
@ExtendWith(RedisServers.class)
class MutatedValuesIT {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final long SEED = Long.getLong("sluice.fuzz.seed", 1);
  private static final List<Rule> RULES =
      List.of(
          rule("quick").limit(Limit.tokenBucket(3, 3, HOUR)).build(),
          rule("packed")
              .limit(Limit.tokenBucket(3, 7, HOUR))
              .limit(Limit.fixedWindow(3, HOUR))
              .build(),
          rule("locking").limit(Limit.tokenBucket(3, 7, HOUR)).lock(HOUR).build(),
          rule("sliding")
              .limit(Limit.slidingWindow(3, HOUR))
              .limit(Limit.slidingLog(3, HOUR))
              .build(),
          rule("calendar")
              .limit(Limit.fixedWindow(3, Duration.ofDays(1)))
              .limit(Limit.slidingWindow(3, HOUR))
              .lock(HOUR)
              .build());

  private RedisProcess server;
  private RedisClient client;
  private RedisAsyncCommands<byte[], byte[]> raw;

  private static Rule.Builder rule(String name) {
    return Rule.builder(name).by("member", "ip");
  }

  @BeforeEach
  void open() {
    server = RedisServers.single(newest());
    server.command("FLUSHALL");
    client = RedisClient.create(server.uri());
    raw = client.connect(ByteArrayCodec.INSTANCE).async();
  }

  @AfterEach
  void close() {
    client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
    server.command("FLUSHALL");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Rule rule(int i) {
    return RULES.get(i % RULES.size());
  }

  private static Identity both(String name) {
    return Identity.of("member", name, "ip", name);
  }

  private static byte[] key(Rule rule, String facet, String value) {
    return bytes(Keyspace.UNKEYED.key(new Account(rule.name(), Identity.of(facet, value))));
  }

  /** What is under the keys of accounts that were used, used up and locked. */
  private List<byte[]> samples(Limiter limiter) throws Exception {
    List<byte[]> samples = new ArrayList<>();
    for (Rule rule : RULES) {
      for (int calls = 1; calls <= 4; calls++) {
        String who = "sample" + calls;
        for (int i = 0; i < calls; i++) {
          limiter.decide(rule.name(), both(who));
        }
        byte[] value = raw.get(key(rule, "member", who)).get();
        if (value != null) {
          samples.add(value);
        }
      }
      limiter.decide(Call.of(rule.name(), both("debt")).costing(5).recording());
      byte[] value = raw.get(key(rule, "member", "debt")).get();
      if (value != null) {
        samples.add(value);
      }
    }
    assertThat(samples).hasSizeGreaterThan(15);
    return samples;
  }

  @Test
  void damagedAccountsAreDecidedWholeOrNotAtAll() throws Exception {
    System.out.printf("Values of accounts, %d of them, seed %d%n", Mutator.INPUTS, SEED);
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(RULES))) {
      List<byte[]> samples = samples(limiter);
      List<RedisFuture<String>> written = new ArrayList<>();
      for (int i = 0; i < Mutator.INPUTS; i++) {
        byte[] value = new Mutator(SEED + i).bytes(samples);
        written.add(raw.set(key(rule(i), "member", "m" + i), value));
      }
      for (RedisFuture<String> each : written) {
        each.get();
      }
      List<CompletableFuture<Decision>> asked = new ArrayList<>();
      List<CompletableFuture<Decision>> looks = new ArrayList<>();
      for (int i = 0; i < Mutator.INPUTS; i++) {
        Call call = Call.of(rule(i).name(), both("m" + i));
        asked.add(limiter.decideAsync(call).toCompletableFuture());
        looks.add(asked.get(i).thenCompose(decided -> limiter.decideAsync(call.peeking())));
      }
      int denied = 0;
      for (int i = 0; i < asked.size(); i++) {
        Decision decision = asked.get(i).join();
        denied += decision.allowed() ? 0 : 1;
        long left = decision.allowed() ? 2 : 3;
        assertThat(looks.get(i).join().balances())
            .as("what input %d of seed %d left of the other account", i, SEED)
            .filteredOn(balance -> balance.account().identity().facet("ip") != null)
            .isNotEmpty()
            .allMatch(balance -> balance.remaining() == left);
      }
      System.out.printf("%d denied, %d not ours%n", denied, store.foreignValues());
      assertThat(denied).isBetween(100, Mutator.INPUTS / 2);
      assertThat(store.foreignValues()).isGreaterThan(1_000);
    }
  }

  @Test
  void damagedIndexesAndAnnouncementsOfLocksAreListedAsFarAsTheyAreOurs() throws Exception {
    List<byte[]> members =
        List.of(
            bytes("quick:member=ann"),
            bytes("locking:ip=10.0.0.1&member=a%20b"),
            bytes("r:ip=::1!"));
    List<byte[]> notices = List.of(bytes("1890000000000000 by+hand"), bytes("1890000000000000 -"));
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(RULES))) {
      for (int i = 0; i < 300; i++) {
        Account account = new Account("quick", Identity.of("member", "m" + i));
        store.lock(account, HOUR, "by hand").toCompletableFuture().join();
        raw.set(
                bytes(Keyspace.lockKey(Keyspace.UNKEYED.key(account))),
                new Mutator(SEED + i).bytes(notices))
            .get();
      }
      List<RedisFuture<Long>> added = new ArrayList<>();
      for (int i = 0; i < Mutator.INPUTS; i++) {
        byte[] index = bytes(Keyspace.locksKey(i % Keyspace.PARTITIONS));
        double end = 1_890_000_000_000_000.0 + (i % 3 == 0 ? i : 0) + (i % 7 == 0 ? 0.5 : 0);
        added.add(raw.zadd(index, end, new Mutator(SEED + i).bytes(members)));
      }
      for (RedisFuture<Long> each : added) {
        each.get();
      }
      Set<Account> listed = new HashSet<>();
      String next = null;
      do {
        LockPage page = store.locks(null, 100, next).toCompletableFuture().join();
        page.locks()
            .forEach(lock -> assertThat(listed.add(lock.account())).as("%s", lock).isTrue());
        next = page.next();
      } while (next != null);
      assertThat(listed)
          .filteredOn(account -> account.rule().equals("quick"))
          .hasSizeGreaterThan(299);
      assertThat(store.foreignValues()).isGreaterThan(100);
      assertThat(limiter.decide("quick", both("m1")).locked()).isTrue();
      assertThat(limiter.decide("quick", both("new")).allowed()).isTrue();
    }
  }
}
