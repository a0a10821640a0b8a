package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.RedisLibraries.Found;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisSentinels;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.Library;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.testing.Needs;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Libraries of functions that no running version of Sluice uses. */
@Needs("redis-server")
class LibrariesIT {
  private static final Duration AGE = Duration.ofMinutes(10);
  private static final String OTHER = Library.PREFIX + "0123456789abcdef";
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r")
              .by("member")
              .limit(Limit.fixedWindow(1_000, Duration.ofDays(1)))
              .build());

  /** Loads the library of another version: the same text with one more line. */
  private static void loadOther(RedisProcess server, String name) {
    String text =
        Library.TEXT
            .replace(Library.NAME, name)
            .replace("\nredis.register", "\n--\nredis.register");
    assertThat(server.command("FUNCTION", "LOAD", text)).isEqualTo(name);
  }

  private static void used(RedisProcess server, String name, Duration ago) {
    long seconds = Long.parseLong(server.command("TIME").lines().findFirst().orElseThrow());
    server.command("ZADD", Keyspace.LIBRARIES, Long.toString(seconds - ago.toSeconds()), name);
  }

  private static void noteUse(String uri, RedisProcess server) {
    Topology topology = Topology.connect(uri, false);
    try {
      LibraryUse.start(topology, () -> true, Duration.ZERO, Duration.ofHours(1));
      RedisCluster.await(
          () -> server.command("ZSCORE", Keyspace.LIBRARIES, Library.NAME).matches("\\d+"));
    } finally {
      topology.close();
    }
  }

  private static List<String> names(List<Found> libraries) {
    return libraries.stream().map(Found::name).toList();
  }

  @Test
  void onlyTheLibraryThatNobodyUsesIsRemoved() {
    try (RedisProcess server = RedisProcess.start(Binary.SYSTEM);
        Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), RULES);
        RedisLibraries libraries = RedisLibraries.at(server.uri())) {
      limiter.decide("r", ANN);
      String young = Library.PREFIX + "00000000000000aa";
      String foreign = Library.PREFIX + "billing";
      loadOther(server, OTHER);
      loadOther(server, young);
      loadOther(server, foreign);
      noteUse(server.uri(), server);
      used(server, OTHER, Duration.ofHours(3));
      used(server, young, Duration.ofMinutes(9));

      assertThat(names(libraries.list())).containsExactlyInAnyOrder(OTHER, young, Library.NAME);
      RedisLibraries.Pruned pruned = libraries.prune(AGE);

      assertThat(names(pruned.removed())).containsExactly(OTHER);
      assertThat(pruned.removed().get(0).unused().orElseThrow()).isGreaterThan(AGE);
      assertThat(names(pruned.kept())).containsExactlyInAnyOrder(young, Library.NAME);
      assertThat(server.command("FUNCTION", "LIST"))
          .contains(foreign, young, Library.NAME)
          .doesNotContain(OTHER);
      assertThat(libraries.prune(AGE).removed()).isEmpty();
    }
  }

  @Test
  void nodeWhoseLibraryWasRemovedLoadsItAgain() {
    try (RedisProcess server = RedisProcess.start(Binary.SYSTEM);
        Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), RULES);
        RedisLibraries libraries = RedisLibraries.at(server.uri())) {
      limiter.decide("r", ANN);
      assertThat(libraries.list()).containsExactly(new Found(Library.NAME, 1, Optional.empty()));

      assertThat(names(libraries.prune(AGE).removed())).containsExactly(Library.NAME);

      Decision decision = limiter.decide(Call.of("r", ANN).costing(2));
      assertThat(decision.countedBy()).isEqualTo(Decision.CountedBy.STORE);
      assertThat(decision.balances().get(0).remaining()).isEqualTo(997);
      assertThat(names(libraries.list())).containsExactly(Library.NAME);
    }
  }

  @Test
  void useIsWrittenDownWithATtlAndReplacesWhatIsNotOurs() {
    try (RedisProcess server = RedisProcess.start(Binary.SYSTEM)) {
      server.command("SET", Keyspace.LIBRARIES, "something else");

      noteUse(server.uri(), server);

      assertThat(Long.parseLong(server.command("PTTL", Keyspace.LIBRARIES))).isPositive();
      for (int i = 0; i < 200; i++) {
        used(server, "old" + i, Duration.ofDays(1));
      }
      server.command("ZREM", Keyspace.LIBRARIES, Library.NAME);
      noteUse(server.uri(), server);
      RedisCluster.await(() -> server.command("ZCARD", Keyspace.LIBRARIES).equals("100"));
    }
  }

  @Test
  void useIsWrittenDownWithTheLeastRightsOfANode() {
    try (RedisProcess server = RedisProcess.start(Binary.SYSTEM)) {
      List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "sluice", "on", ">geheim"));
      words.addAll(Arrays.asList((AclIT.RIGHTS + AclIT.FUNCTIONS).split(" ", -1)));
      assertThat(server.command(words.toArray(new String[0]))).isEqualTo("OK");
      server.command("SET", Keyspace.LIBRARIES, "something else");

      noteUse("redis://sluice:geheim@127.0.0.1:" + server.port(), server);
    }
  }

  @Test
  void nodeThatUsesTheScriptWritesDownNothing() {
    try (RedisProcess server = RedisProcess.start(Binary.SYSTEM)) {
      AtomicBoolean asked = new AtomicBoolean();
      Topology topology = Topology.connect(server.uri(), false);
      LibraryUse.start(
          topology,
          () -> {
            asked.set(true);
            return false;
          },
          Duration.ZERO,
          Duration.ofMillis(1));
      RedisCluster.await(asked::get);
      topology.close();

      assertThat(server.command("EXISTS", Keyspace.LIBRARIES)).isEqualTo("0");
    }
  }

  @Test
  void clusterIsPrunedOnEveryMaster() {
    try (RedisCluster cluster = RedisCluster.start(Binary.SYSTEM);
        Limiter limiter = Limiter.owning(RedisStore.connect(cluster.uri()), RULES);
        RedisLibraries libraries = RedisLibraries.at(cluster.uri())) {
      limiter.decide("r", ANN);
      cluster.masters().forEach(master -> loadOther(master, OTHER));
      String partly = Library.PREFIX + "00000000000000bb";
      loadOther(cluster.masters().get(2), partly);
      RedisProcess owner = cluster.ownerOf(SlotHash.getSlot(Keyspace.LIBRARIES));
      noteUse(cluster.uri(), owner);
      used(owner, OTHER, Duration.ofHours(1));

      RedisLibraries.Pruned pruned = libraries.prune(AGE);

      assertThat(pruned.removed())
          .extracting(Found::name, Found::masters)
          .containsExactlyInAnyOrder(tuple(OTHER, 3), tuple(partly, 1));
      assertThat(names(pruned.kept())).containsExactly(Library.NAME);
      assertThat(libraries.masters()).isEqualTo(3);
      for (RedisProcess master : cluster.masters()) {
        assertThat(master.command("FUNCTION", "LIST"))
            .contains(Library.NAME)
            .doesNotContain(OTHER, partly);
      }
    }
  }

  @Test
  void masterOfSentinelsIsPruned() {
    try (RedisSentinels sentinels = RedisSentinels.start(Binary.SYSTEM);
        RedisLibraries libraries = RedisLibraries.at(sentinels.uri())) {
      loadOther(sentinels.master(), OTHER);

      assertThat(names(libraries.prune(AGE).removed())).containsExactly(OTHER);
      assertThat(sentinels.master().command("FUNCTION", "LIST")).doesNotContain(OTHER);
    }
  }

  @Test
  void redisWithoutFunctionsSaysSo() {
    try (RedisProcess server = RedisProcess.start(Binary.ARTIFACT);
        RedisLibraries libraries = RedisLibraries.at(server.uri())) {
      assertThatThrownBy(libraries::list)
          .isInstanceOf(StoreFault.class)
          .hasMessage(
              "Redis at 127.0.0.1:%d has no functions (expected: Redis 7 or newer): there is nothing to remove",
              server.port());
    }
  }

  @Test
  void missingRightsAreNamed() {
    try (RedisProcess server = RedisProcess.start(Binary.SYSTEM)) {
      server.command("ACL", "SETUSER", "some", "on", ">geheim", "~s2:*", "-@all", "+ping");
      String uri = "redis://some:geheim@127.0.0.1:" + server.port();
      try (RedisLibraries libraries = RedisLibraries.at(uri)) {
        assertThatThrownBy(libraries::list)
            .isInstanceOf(StoreFault.class)
            .hasMessageContaining("NOPERM")
            .hasMessageContaining("(needed: +function|list +function|delete +zrange +time)");
        server.command(
            "ACL", "SETUSER", "some", "+function|list", "+function|delete", "+zrange", "+time");
        loadOther(server, OTHER);

        assertThat(names(libraries.prune(AGE).removed())).containsExactly(OTHER);
      }
    }
  }

  @Test
  void redisThatIsAwayIsNamed() {
    RedisProcess server = RedisProcess.start(Binary.SYSTEM);
    server.close();

    assertThatThrownBy(() -> RedisLibraries.at(server.uri()))
        .isInstanceOf(StoreFault.class)
        .hasMessageContaining("Redis at 127.0.0.1:%d cannot be reached", server.port());
  }
}
