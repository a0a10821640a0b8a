package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.LockPage;
import dev.sluice.OnStoreFailure;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.Crowd;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.store.Store;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Plans across slots, slots that move, masters that die. */
@ExtendWith(RedisServers.class)
class ClusterIT {
  private static final Duration LONG = Duration.ofDays(1);
  private static final List<Limit> KINDS =
      List.of(
          Limit.fixedWindow(50, LONG),
          Limit.slidingLog(50, LONG),
          Limit.slidingWindow(50, LONG),
          Limit.tokenBucket(50, 1, LONG));

  private static Rule rule(Limit limit) {
    return Rule.builder("r")
        .by("member", "ip")
        .limit(limit)
        .onStoreFailure(OnStoreFailure.DENY)
        .build();
  }

  private static int slot(String facet, String value, boolean colocated) {
    return SlotHash.getSlot(
        FixedSpread.KEYSPACE.key(new Account("r", Identity.of(facet, value), colocated)));
  }

  @Test
  void planAcrossSlotsIsTakenWholeOrRefunded() {
    RedisCluster cluster = RedisServers.cluster(newest());
    cluster.spread();
    for (Limit limit : KINDS) {
      cluster.masters().forEach(master -> master.command("FLUSHALL"));
      cluster.spread();
      try (Limiter limiter =
          Limiter.owning(RedisStore.builder(cluster.uri()).buildBare(), Rules.of(rule(limit)))) {
        // Ten members behind one address: the address runs dry, the members must not.
        List<Crowd.Answer> answers =
            Crowd.calling(
                8,
                400,
                i -> limiter.decide("r", Identity.of("member", "m" + i % 10, "ip", "10.0.0.1")));

        long passed = Crowd.allowed(answers);
        // A denial may see for an instant what another call is about to give back.
        for (int i = 0; passed < 50 && i < 50; i++) {
          passed +=
              limiter.decide("r", Identity.of("member", "m" + i % 10, "ip", "10.0.0.1")).allowed()
                  ? 1
                  : 0;
        }
        long membersUsed = 0;
        for (int i = 0; i < 10; i++) {
          Identity identity = Identity.of("member", "m" + i, "ip", "10.0.0.2");
          membersUsed +=
              50 - limiter.decide(Call.of("r", identity).peeking()).balances().get(0).remaining();
        }
        System.out.printf(
            "across slots, %s: %d calls, %d passed at once, %d at rest, members used %d%n",
            limit, answers.size(), Crowd.allowed(answers), passed, membersUsed);
        assertThat(passed).as("%s", limit).isEqualTo(50);
        assertThat(membersUsed).as("%s: all that was denied was given back", limit).isEqualTo(50);
      }
    }
  }

  @Test
  void colocatedRuleLivesInOneSlot() {
    RedisCluster cluster = RedisServers.cluster(newest());
    cluster.spread();
    Rule rule =
        Rule.builder("r").by("member", "ip").limit(Limit.fixedWindow(5, LONG)).colocate().build();
    assertThat(slot("member", "ann", true)).isEqualTo(slot("ip", "10.0.0.1", true));
    assertThat(slot("member", "ann", false)).isNotEqualTo(slot("ip", "10.0.0.1", false));
    long before = scriptCalls(cluster);
    try (Limiter limiter =
        Limiter.owning(RedisStore.builder(cluster.uri()).buildBare(), Rules.of(rule))) {
      for (int i = 0; i < 6; i++) {
        Decision decision = limiter.decide("r", Identity.of("member", "ann", "ip", "10.0.0.1"));
        assertThat(decision.allowed()).isEqualTo(i < 5);
      }
    }
    // One more, the first time, if the library is not there.
    assertThat(scriptCalls(cluster) - before).isBetween(6L, 7L);
  }

  private static long scriptCalls(RedisCluster cluster) {
    return cluster.masters().stream().mapToLong(RedisProcess::libraryCalls).sum();
  }

  @Test
  void slotMovedBackAndForthUnderLoadLosesNothing() {
    RedisCluster cluster = RedisServers.cluster(newest());
    cluster.spread();
    Identity ann = Identity.of("member", "ann");
    int slot = slot("member", "ann", false);
    RedisProcess home = cluster.ownerOf(slot);
    RedisProcess away =
        cluster.masters().stream().filter(master -> master != home).findFirst().orElseThrow();
    for (Limit limit :
        List.of(
            Limit.fixedWindow(2_000, LONG),
            Limit.slidingLog(2_000, LONG),
            Limit.slidingWindow(2_000, LONG),
            Limit.tokenBucket(2_000, 1, LONG))) {
      Rule rule = Rule.builder("r").by("member").limit(limit).build();
      AtomicInteger unanswered = new AtomicInteger();
      try (Store store = RedisStore.builder(cluster.uri()).buildBare();
          Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
        AtomicBoolean goesOn = new AtomicBoolean(true);
        CompletableFuture<List<Crowd.Answer>> calling =
            Crowd.calling(
                4,
                Duration.ofMillis(1),
                goesOn::get,
                () -> clearly(limiter, Call.of("r", ann), unanswered));
        for (int i = 0; i < 3; i++) {
          cluster.move(slot, home, away);
          cluster.move(slot, away, home);
        }
        goesOn.set(false);
        long passed = Crowd.allowed(calling.join());
        Decision seen = limiter.decide(Call.of("r", ann).peeking());
        long counted = 2_000 - seen.balances().get(0).remaining();
        passed +=
            Crowd.allowed(
                Crowd.calling(4, 2_100, i -> clearly(limiter, Call.of("r", ann), unanswered)));

        System.out.printf(
            "slot %d moved 6 times, %s: %d counted by then, %d passed of 2000, %d without answer%n",
            slot, limit, counted, passed, unanswered.get());
        assertThat(passed).as("%s", limit).isEqualTo(2_000);
      }
      home.command("FLUSHALL");
    }
  }

  @Test
  void callWithAnIdIsCountedOnceWhileItsSlotMoves() {
    RedisCluster cluster = RedisServers.cluster(newest());
    cluster.spread();
    Identity ann = Identity.of("member", "ann");
    int slot = slot("member", "ann", false);
    RedisProcess home = cluster.ownerOf(slot);
    RedisProcess away =
        cluster.masters().stream().filter(master -> master != home).findFirst().orElseThrow();
    Rule rule = Rule.builder("r").by("member").limit(Limit.slidingLog(100_000, LONG)).build();
    int calls = 200;
    AtomicInteger unanswered = new AtomicInteger();
    AtomicInteger sent = new AtomicInteger();
    try (Store store = RedisStore.builder(cluster.uri()).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
      for (int i = 0; i < calls; i++) {
        limiter.decide(Call.of("r", ann).withId("id" + i));
      }
      AtomicBoolean goesOn = new AtomicBoolean(true);
      CompletableFuture<List<Crowd.Answer>> calling =
          Crowd.calling(
              4,
              Duration.ofMillis(1),
              goesOn::get,
              () -> {
                String id = "id" + sent.getAndIncrement() % calls;
                return clearly(limiter, Call.of("r", ann).withId(id), unanswered);
              });
      for (int i = 0; i < 2; i++) {
        cluster.move(slot, home, away);
        cluster.move(slot, away, home);
      }
      goesOn.set(false);
      long passed = Crowd.allowed(calling.join());

      Decision seen = limiter.decide(Call.of("r", ann).peeking());
      System.out.printf(
          "slot %d moved 4 times: %d ids sent again %d times, %d passed, %d without answer%n",
          slot, calls, sent.get(), passed, unanswered.get());
      assertThat(100_000 - seen.balances().get(0).remaining()).isEqualTo(calls);
      assertThat(passed).isEqualTo((long) sent.get() - unanswered.get());
    }
    home.command("FLUSHALL");
  }

  /** A decision; if a slot on its way kept the call from being carried out, one by policy. */
  private static Decision clearly(Limiter limiter, Call call, AtomicInteger unanswered) {
    try {
      return limiter.decide(call);
    } catch (StoreFault fault) {
      assertThat(fault.unclear()).as("%s", fault.getMessage()).isFalse();
      unanswered.incrementAndGet();
      return new Decision.Unmetered(false, String.valueOf(fault.getMessage()));
    }
  }

  @Test
  void killedMasterIsReplacedByItsReplicaWithoutRestart() {
    try (RedisCluster cluster = RedisCluster.startWithQuickFailover(newest())) {
      Rules rules =
          Rules.of(
              Rule.builder("r")
                  .by("member")
                  .limit(Limit.fixedWindow(1_000_000, LONG))
                  .onStoreFailure(OnStoreFailure.DENY)
                  .build());
      Identity ann = Identity.of("member", "ann");
      RedisProcess master = cluster.ownerOf(slot("member", "ann", false));
      try (Store store = RedisStore.connect(cluster.uri());
          Limiter limiter = Limiter.owning(store, rules)) {
        RedisCluster.await(() -> limiter.decide("r", ann).allowed());
        List<Decision> meanwhile = new ArrayList<>();
        master.kill();
        long start = System.nanoTime();
        RedisCluster.await(
            () -> {
              Decision decision = limiter.decide("r", ann);
              meanwhile.add(decision);
              return decision instanceof Decision.Allowed;
            });
        double millis = (System.nanoTime() - start) / 1e6;

        System.out.printf(
            "Cluster master killed: %d calls by policy, metered again after %.0f ms%n",
            meanwhile.size() - 1, millis);
        assertThat(meanwhile.subList(0, meanwhile.size() - 1))
            .allMatch(Decision.Unmetered.class::isInstance);
        assertThat(millis).as("node timeout 2 s, election, look-up").isLessThan(20_000);
        RedisCluster.await(() -> store.trouble().isEmpty()); // the dead master has no slots now
      }
    }
  }

  @Test
  void locksSetWhileTheirSlotMovesAreListedOnceAndNoKeyIsInTheWay() {
    RedisCluster cluster = RedisServers.cluster(newest());
    cluster.masters().forEach(master -> master.command("FLUSHALL"));
    cluster.spread();
    List<Identity> members = membersOfOnePartition(200);
    int slot = SlotHash.getSlot(FixedSpread.KEYSPACE.key(new Account("r", members.get(0))));
    RedisProcess home = cluster.ownerOf(slot);
    RedisProcess away =
        cluster.masters().stream().filter(master -> master != home).findFirst().orElseThrow();
    Rule rule = Rule.builder("r").by("member").limit(Limit.fixedWindow(1, LONG)).lock(LONG).build();
    try (Store store = RedisStore.builder(cluster.uri()).buildBare();
        Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
      members.forEach(member -> assertThat(limiter.decide("r", member).allowed()).isTrue());
      AtomicBoolean goesOn = new AtomicBoolean(true);
      AtomicInteger unanswered = new AtomicInteger();
      AtomicInteger calls = new AtomicInteger();
      CompletableFuture<List<Crowd.Answer>> calling =
          Crowd.calling(
              2,
              Duration.ofMillis(5),
              goesOn::get,
              () -> {
                int call = calls.getAndIncrement();
                return clearly(
                    limiter, Call.of("r", members.get(call % members.size())), unanswered);
              });
      int moves = 0;
      while (moves < 4 || calls.get() < 2 * members.size()) {
        cluster.move(slot, home, away); // fails if a key is on both nodes
        cluster.move(slot, away, home);
        moves += 2;
      }
      goesOn.set(false);
      long passed = Crowd.allowed(calling.join());

      List<Account> locked = new ArrayList<>();
      for (Identity member : members) {
        if (limiter.decide(Call.of("r", member).peeking()).locked()) {
          locked.add(new Account("r", member));
        }
      }
      LockPage page = store.locks(null, 1_000, null).toCompletableFuture().join();
      System.out.printf(
          "slot %d moved %d times: %d calls, %d passed, %d locked, %d without answer%n",
          slot, moves, calls.get(), passed, locked.size(), unanswered.get());
      assertThat(passed).isZero();
      assertThat(locked).isNotEmpty();
      assertThat(page.locks().stream().map(Restriction::account))
          .containsExactlyInAnyOrderElementsOf(locked);
      assertThat(page.total()).isEqualTo(locked.size());
    }
  }

  private static List<Identity> membersOfOnePartition(int many) {
    int partition = FixedSpread.KEYSPACE.partition(new Account("r", Identity.of("member", "m0")));
    return IntStream.iterate(0, i -> i + 1)
        .mapToObj(i -> Identity.of("member", "m" + i))
        .filter(member -> FixedSpread.KEYSPACE.partition(new Account("r", member)) == partition)
        .limit(many)
        .toList();
  }

  @Test
  void locksAreListedWholeOrWithAnErrorWhenAMasterFails() {
    try (RedisCluster cluster = RedisCluster.startWithQuickFailover(newest());
        Store store = RedisStore.builder(cluster.uri()).buildBare()) {
      Set<Account> set = new HashSet<>();
      List<CompletableFuture<Restriction>> locks = new ArrayList<>();
      for (int i = 0; i < 500; i++) {
        Account account = new Account("r", Identity.of("member", "m" + i));
        set.add(account);
        locks.add(store.lock(account, LONG, "by hand").toCompletableFuture());
      }
      locks.forEach(CompletableFuture::join);
      assertThat(listed(store)).isEqualTo(set);
      RedisProcess master = cluster.masters().get(1);
      RedisProcess replica = cluster.all().get(4);
      RedisCluster.await(() -> replica.command("DBSIZE").equals(master.command("DBSIZE")));

      // Neither the master nor its replica answers: no list, and the error names who is missing.
      master.pause();
      replica.pause();
      assertThatThrownBy(() -> listed(store))
          .hasCauseInstanceOf(StoreFault.class)
          .hasMessageContaining("Locks cannot be listed")
          .hasMessageContaining(":locks");
      replica.resume();
      master.kill();

      RedisCluster.await(() -> replica.command("INFO", "replication").contains("role:master"));
      assertThat(cluster.masters().get(0).command("CLUSTER", "NODES"))
          .as("the dead master is still known")
          .contains(":" + master.port() + "@");
      RedisCluster.await( // until the masters that are left agree that the Cluster is whole
          () ->
              cluster.masters().get(0).command("CLUSTER", "INFO").contains("cluster_state:ok")
                  && cluster
                      .masters()
                      .get(2)
                      .command("CLUSTER", "INFO")
                      .contains("cluster_state:ok"));
      assertThat(listed(store)).isEqualTo(set);
    }
  }

  private static Set<Account> listed(Store store) {
    LockPage page = store.locks(null, 1_000, null).toCompletableFuture().join();
    assertThat(page.total()).isEqualTo(page.locks().size());
    return page.locks().stream().map(Restriction::account).collect(Collectors.toSet());
  }
}
