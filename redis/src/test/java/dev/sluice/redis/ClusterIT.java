package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Store;
import dev.sluice.redis.testing.Crowd;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Plans across slots, slots that move, masters that die. */
@ExtendWith(RedisServers.class)
class ClusterIT {
  private static final Duration LONG = Duration.ofDays(1);
  private static final List<Limit> KINDS =
      List.of(
          Limit.fixed(50, LONG),
          Limit.log(50, LONG),
          Limit.sliding(50, LONG),
          Limit.bucket(50, 1, LONG));

  private static Rule rule(Limit limit) {
    return Rule.named("r")
        .by("member", "ip")
        .limit(limit)
        .onStoreFailure(OnStoreFailure.DENY)
        .build();
  }

  private static int slot(String facet, String value, boolean colocated) {
    return SlotHash.getSlot(Keyspace.key(new Account("r", Identity.of(facet, value), colocated)));
  }

  @Test
  void planAcrossSlotsIsTakenWholeOrGivenBack() {
    RedisCluster cluster = RedisServers.cluster(newest());
    for (Limit limit : KINDS) {
      cluster.masters().forEach(master -> master.command("FLUSHALL"));
      try (Limiter limiter =
          Limiter.of(RedisStore.at(cluster.uri()).openBare(), Rules.of(rule(limit)))) {
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
    Rule rule = Rule.named("r").by("member", "ip").limit(Limit.fixed(5, LONG)).colocate().build();
    assertThat(slot("member", "ann", true)).isEqualTo(slot("ip", "10.0.0.1", true));
    assertThat(slot("member", "ann", false)).isNotEqualTo(slot("ip", "10.0.0.1", false));
    long before = scriptCalls(cluster);
    try (Limiter limiter = Limiter.of(RedisStore.at(cluster.uri()).openBare(), Rules.of(rule))) {
      for (int i = 0; i < 6; i++) {
        Decision decision = limiter.decide("r", Identity.of("member", "ann", "ip", "10.0.0.1"));
        assertThat(decision.allowed()).isEqualTo(i < 5);
      }
    }
    // NOSCRIPT makes one EVAL more, the first time.
    assertThat(scriptCalls(cluster) - before).isBetween(6L, 7L);
  }

  private static long scriptCalls(RedisCluster cluster) {
    return cluster.masters().stream()
        .mapToLong(
            master ->
                master.info("commandstats", "cmdstat_evalsha")
                    + master.info("commandstats", "cmdstat_eval"))
        .sum();
  }

  @Test
  void slotMovedBackAndForthUnderLoadLosesNothing() {
    RedisCluster cluster = RedisServers.cluster(newest());
    Identity ann = Identity.of("member", "ann");
    int slot = slot("member", "ann", false);
    RedisProcess home = cluster.ownerOf(slot);
    RedisProcess away =
        cluster.masters().stream().filter(master -> master != home).findFirst().orElseThrow();
    for (Limit limit :
        List.of(
            Limit.fixed(2_000, LONG),
            Limit.log(2_000, LONG),
            Limit.sliding(2_000, LONG),
            Limit.bucket(2_000, 1, LONG))) {
      Rule rule = Rule.named("r").by("member").limit(limit).build();
      AtomicInteger unanswered = new AtomicInteger();
      try (Store store = RedisStore.at(cluster.uri()).openBare();
          Limiter limiter = Limiter.of(store, Rules.of(rule))) {
        AtomicBoolean goesOn = new AtomicBoolean(true);
        CompletableFuture<List<Crowd.Answer>> calling =
            Crowd.calling(
                4, Duration.ofMillis(1), goesOn::get, () -> clearly(limiter, ann, unanswered));
        for (int i = 0; i < 3; i++) {
          move(cluster, slot, home, away);
          move(cluster, slot, away, home);
        }
        goesOn.set(false);
        long passed = Crowd.allowed(calling.join());
        Decision seen = limiter.decide(Call.of("r", ann).peeking());
        long counted = 2_000 - seen.balances().get(0).remaining();
        passed += Crowd.allowed(Crowd.calling(4, 2_100, i -> clearly(limiter, ann, unanswered)));

        System.out.printf(
            "slot %d moved 6 times, %s: %d counted by then, %d passed of 2000, %d without answer%n",
            slot, limit, counted, passed, unanswered.get());
        assertThat(passed).as("%s", limit).isEqualTo(2_000);
      }
      home.command("FLUSHALL");
    }
  }

  /** A decision; if a slot on its way kept the call from being carried out, one by policy. */
  private static Decision clearly(Limiter limiter, Identity identity, AtomicInteger unanswered) {
    try {
      return limiter.decide("r", identity);
    } catch (StoreFault fault) {
      assertThat(fault.unclear()).as("%s", fault.getMessage()).isFalse();
      unanswered.incrementAndGet();
      return new Decision.Unmetered(false, List.of(), String.valueOf(fault.getMessage()));
    }
  }

  private static void move(RedisCluster cluster, int slot, RedisProcess from, RedisProcess to) {
    String number = Integer.toString(slot);
    to.command("CLUSTER", "SETSLOT", number, "IMPORTING", from.command("CLUSTER", "MYID"));
    from.command("CLUSTER", "SETSLOT", number, "MIGRATING", to.command("CLUSTER", "MYID"));
    while (true) {
      String keys = from.command("CLUSTER", "GETKEYSINSLOT", number, "10");
      if (keys.isEmpty()) {
        break;
      }
      // One by one, so that an account and its log are apart for a while.
      for (String key : keys.split("\n", -1)) {
        assertThat(
                from.command("MIGRATE", "127.0.0.1", Integer.toString(to.port()), key, "0", "5000"))
            .isIn("OK", "NOKEY");
      }
    }
    String owner = to.command("CLUSTER", "MYID");
    to.command("CLUSTER", "SETSLOT", number, "NODE", owner);
    from.command("CLUSTER", "SETSLOT", number, "NODE", owner);
    cluster.masters().forEach(each -> each.command("CLUSTER", "SETSLOT", number, "NODE", owner));
    // A node that moves the slot on before it has heard of this epoch may choose one that is no
    // later, lose the dispute over the slot, and delete the keys in it: so operators wait, too.
    RedisCluster.await(
        () -> cluster.all().stream().allMatch(node -> epoch(node, owner) == epoch(to, owner)));
  }

  /** The configuration epoch of a node, as another one knows it. */
  private static long epoch(RedisProcess node, String id) {
    return node.command("CLUSTER", "NODES")
        .lines()
        .filter(line -> line.startsWith(id))
        .mapToLong(line -> Long.parseLong(line.split(" ", -1)[6]))
        .findFirst()
        .orElse(-1);
  }

  @Test
  void killedMasterIsReplacedByItsReplicaWithoutRestart() {
    try (RedisCluster cluster = RedisCluster.startWithQuickFailover(newest())) {
      Rules rules =
          Rules.of(
              Rule.named("r")
                  .by("member")
                  .limit(Limit.fixed(1_000_000, LONG))
                  .onStoreFailure(OnStoreFailure.DENY)
                  .build());
      Identity ann = Identity.of("member", "ann");
      RedisProcess master = cluster.ownerOf(slot("member", "ann", false));
      try (Limiter limiter = Limiter.of(RedisStore.connect(cluster.uri()), rules)) {
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
      }
    }
  }
}
