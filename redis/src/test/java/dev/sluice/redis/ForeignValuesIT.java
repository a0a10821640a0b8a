package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.LockPage;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Values under our keys that Sluice did not write: each is replaced and counted, and no call fails.
 */
@ExtendWith(RedisServers.class)
class ForeignValuesIT {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Identity ANN = Identity.of("member", "ann");

  private RedisProcess server;

  @BeforeEach
  void empty() {
    server = RedisServers.single(newest());
    server.command("FLUSHALL");
  }

  @AfterEach
  void everyKeyHasTtl() {
    RedisServers.assertEveryKeyHasTtl(server);
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void foreignValuesUnderOurKeysAreReplacedAndCounted(Binary binary) {
    server = RedisServers.single(binary);
    for (Limit limit :
        List.of(
            Limit.tokenBucket(5, 5, HOUR),
            Limit.fixedWindow(5, Duration.ofDays(1)),
            Limit.slidingLog(5, HOUR))) {
      for (String suffix : List.of("", "!log1", "!lock")) {
        for (boolean isList : new boolean[] {true, false}) {
          replacesForeign(limit, suffix, isList);
        }
      }
    }
  }

  /** The value is a piece of Lua; {@code raw} is what Sluice wrote. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "''",
        "'not ours'",
        "'22774800000000'",
        "raw .. 'x'",
        "raw:sub(1, -2)",
        "raw:sub(1, 20)",
        "raw .. raw",
        "'\\0'",
        "'\\255\\255\\255' .. raw",
        "'\\255' .. struct.pack('<I2', 3) .. 'abc'",
        "string.char(#raw) .. raw", // a shape that is longer than what follows
        "raw:sub(1, -8) .. ('\\255'):rep(7)", // more than any limit counts to
        "('\\1\\9') .. raw:sub(3)", // a kind that there is none of
      })
  void valueThatLooksLikeOursIsReplacedAndCounted(String value) {
    Rule rule =
        Rule.builder("r")
            .by("member")
            .limit(Limit.tokenBucket(5, 5, HOUR))
            .limit(Limit.fixedWindow(5, Duration.ofDays(1)))
            .build();
    replaces(
        key ->
            assertThat(
                    server.command(
                        "EVAL",
                        "local raw = redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], "
                            + value
                            + ") return 1",
                        "1",
                        key))
                .isEqualTo("1"),
        rule);
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void everyRedisReportsForeignValues(Binary binary) {
    server = RedisServers.single(binary);
    Rule rule = Rule.builder("r").by("member").limit(Limit.tokenBucket(5, 5, HOUR)).build();
    List<Consumer<String>> writers =
        List.of(
            key -> {
              server.command("DEL", key);
              server.command("RPUSH", key, "not ours");
            },
            key -> server.command("SET", key, "not ours"));
    for (Consumer<String> writer : writers) {
      server.command("FLUSHALL");
      replaces(writer, rule);
    }
  }

  @Test
  void oneAmongOthersStopsNone() {
    List<Identity> all =
        IntStream.range(0, 40).mapToObj(i -> Identity.of("member", "m" + i)).toList();
    Rule few = Rule.builder("few").by("member").limit(Limit.tokenBucket(5, 5, HOUR)).build();
    Rule many = Rule.builder("many").by("member").limit(Limit.tokenBucket(50, 50, HOUR)).build();
    long now = 1_790_000_000_000_000L;
    try (LettuceStore store = RedisStore.builder(server.uri()).testClock(() -> now).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(few, many))) {
      for (int left = 4; left >= 0; left--) {
        if (left == 3) {
          server.command(
              "SET", Keyspace.UNKEYED.key(new Account("few", all.get(7))), "not a number 0727");
          server.command("SET", Keyspace.UNKEYED.key(new Account("few", all.get(23))), "1e130727");
        }
        List<CompletableFuture<Decision>> asked = new ArrayList<>();
        for (Identity each : all) {
          asked.add(limiter.decideAsync(Call.of("few", each)).toCompletableFuture());
          asked.add(limiter.decideAsync(Call.of("many", each)).toCompletableFuture());
        }
        for (int i = 0; i < asked.size(); i++) {
          boolean replaced = (i == 14 || i == 46) && left < 4;
          assertThat(asked.get(i).join().balances().get(0).remaining())
              .as("answer %d", i)
              .isEqualTo(i % 2 == 0 ? left + (replaced ? 1 : 0) : 45 + left);
        }
      }
      assertThat(store.foreignValues()).isEqualTo(2);
    }
  }

  private void replaces(Consumer<String> writer, Rule rule) {
    String key = Keyspace.UNKEYED.key(new Account("r", ANN));
    long[] now = {1_790_000_000_000_000L};
    try (LettuceStore store = RedisStore.builder(server.uri()).testClock(() -> now[0]).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
      limiter.decide("r", ANN);
      writer.accept(key);
      for (int left = 4; left >= 0; left--) {
        assertThat(limiter.decide("r", ANN).balances())
            .extracting(Balance::remaining)
            .containsOnly((long) left);
      }
      assertThat(limiter.decide("r", ANN).allowed()).isFalse();
      assertThat(store.foreignValues()).isEqualTo(1);
    }
    assertThat(server.keysWithoutTtl()).isEmpty();
  }

  private void replacesForeign(Limit limit, String suffix, boolean isList) {
    server.command("FLUSHALL");
    Rule rule = Rule.builder("r").by("member").limit(limit).lock(Duration.ofMinutes(1)).build();
    String key = Keyspace.UNKEYED.key(new Account("r", ANN)) + suffix;
    server.command(isList ? "RPUSH" : "SET", key, "not ours");
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
      for (int i = 1; i <= 5; i++) {
        Decision decision = limiter.decide(Call.of("r", ANN).withId(i == 1 ? "x" : "x" + i));
        assertThat(decision.balances().get(0).remaining())
            .as("%s, %s", limit, key)
            .isEqualTo(5 - i);
      }
      assertThat(limiter.decide("r", ANN).allowed()).isFalse();
      assertThat(limiter.locks(null, 1_000, null).locks()).hasSize(1);
      if (suffix.isEmpty()) {
        assertThat(store.foreignValues()).as("%s, %s", limit, key).isEqualTo(1);
      }
    }
    boolean isUsed = !suffix.equals("!log1") || limit instanceof Limit.SlidingLog;
    if (!isUsed) {
      server.command("DEL", key);
    }
    assertThat(server.keysWithoutTtl()).as("%s, %s", limit, key).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void indexOfLocksThatIsNoneIsReplacedAndStopsNobody(Binary binary) {
    server = RedisServers.single(binary);
    Rule rule =
        Rule.builder("r").by("member").limit(Limit.tokenBucket(1, 1, HOUR)).lock(HOUR).build();
    Account ann = new Account("r", ANN);
    String index = Keyspace.locksKey(Keyspace.UNKEYED.partition(ann));
    List<List<String>> strangers =
        List.of(
            List.of("SET", index, "not ours"),
            List.of("RPUSH", index, "not ours"),
            List.of("HSET", index, "not", "ours"));
    for (List<String> stranger : strangers) {
      server.command("FLUSHALL");
      try (LettuceStore store = RedisStore.builder(server.uri()).buildBare();
          Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
        server.command(stranger.toArray(new String[0]));
        assertThat(listed(store)).isEmpty();
        assertThat(store.foreignValues()).isEqualTo(1);

        assertThat(limiter.decide("r", ANN).allowed()).isTrue();
        assertThat(limiter.decide("r", ANN).locked()).isTrue();
        assertThat(listed(store)).containsExactly(ann);
        assertThat(store.foreignValues()).isEqualTo(2);

        server.command("DEL", index);
        server.command(stranger.toArray(new String[0]));
        assertThat(limiter.lift("r", ANN)).isTrue();
        server.command(stranger.toArray(new String[0]));
        assertThat(limiter.reset("r", ANN)).as("nothing is left to forget").isFalse();
        assertThat(listed(store)).isEmpty();
      }
    }
  }

  private static List<Account> listed(Store store) {
    LockPage page = store.locks(null, 1_000, null).toCompletableFuture().join();
    assertThat(page.total()).isEqualTo(page.locks().size());
    return page.locks().stream().map(Restriction::account).toList();
  }

  @Test
  void entriesOfTheIndexThatNameNoAccountAreSkippedCountedAndRemoved() {
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare()) {
      Account ann = new Account("r", ANN);
      String index = Keyspace.locksKey(Keyspace.UNKEYED.partition(ann));
      store.lock(ann, HOUR, "fraud").toCompletableFuture().join();
      Account elsewhere =
          IntStream.iterate(0, i -> i + 1)
              .mapToObj(i -> new Account("r", Identity.of("member", "m" + i)))
              .filter(each -> Keyspace.UNKEYED.partition(each) != Keyspace.UNKEYED.partition(ann))
              .findFirst()
              .orElseThrow();
      List<String> strangers =
          List.of("", "no account", "r:", "r:member=%zz", "r:member=ann!x", elsewhere.toString());
      for (String stranger : strangers) {
        server.command("ZADD", index, "9000000000000000", stranger);
      }
      server.command("ZADD", index, "inf", "r:member=bob", "1.5", "r:member=eve");
      server.command("ZADD", index, "9000000000000000.5", ann + "0");

      LockPage page = store.locks(null, 1_000, null).toCompletableFuture().join();
      assertThat(page.locks()).extracting(Restriction::account).containsExactly(ann);
      assertThat(page.total()).isEqualTo(1);
      assertThat(store.foreignValues()).isEqualTo(strangers.size() + 2);
      RedisCluster.await(() -> server.command("ZCARD", index).equals("2")); // one has ended
      assertThat(listed(store)).containsExactly(ann);
      assertThat(store.foreignValues()).isEqualTo(strangers.size() + 2);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "x",
        "99",
        "99 ",
        "99 %",
        "99 %zz",
        "-1 fraud",
        "9999999999999999999 fraud",
        "99  "
      })
  void announcementThatIsNoneLeavesTheReasonEmpty(String notice) {
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare()) {
      Account ann = new Account("r", ANN);
      Restriction lock = store.lock(ann, HOUR, "fraud").toCompletableFuture().join();
      String key = Keyspace.lockKey(Keyspace.UNKEYED.key(ann));
      server.command("SET", key, notice, "PX", "100000");
      assertThat(store.locks(null, 10, null).toCompletableFuture().join().locks())
          .containsExactly(new Restriction(ann, null, lock.until(), ""));
      server.command("DEL", key);
      server.command("RPUSH", key, notice);
      assertThat(store.locks(null, 10, null).toCompletableFuture().join().locks())
          .containsExactly(new Restriction(ann, null, lock.until(), ""));
      assertThat(store.lift(ann, false).toCompletableFuture().join()).isTrue();
    }
  }
}
