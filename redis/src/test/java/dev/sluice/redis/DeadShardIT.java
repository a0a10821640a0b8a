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
import dev.sluice.redis.testing.Crowd;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** One shard of a Cluster is dead; the callers on the others must not notice. */
class DeadShardIT {
  private static final int LIMIT = 20;
  private static final Duration DEAD = Duration.ofSeconds(8);
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r")
              .by("member")
              .limit(Limit.fixedWindow(LIMIT, Duration.ofDays(1)))
              .build());

  private static Identity member(int number) {
    return Identity.of("member", "m" + number);
  }

  private static int slot(Identity identity) {
    return SlotHash.getSlot(FixedSpread.KEYSPACE.key(new Account("r", identity)));
  }

  /** A member whose account lies on another master. */
  private static Identity memberElsewhere(RedisCluster cluster, RedisProcess master) {
    return IntStream.range(0, 100)
        .mapToObj(DeadShardIT::member)
        .filter(member -> cluster.ownerOf(slot(member)) != master)
        .findFirst()
        .orElseThrow();
  }

  private static Limiter node(RedisCluster cluster) {
    return Limiter.owning(RedisStore.builder(cluster.uri()).nodes(2).build(), RULES);
  }

  @Test
  void callersOnLiveShardsAreCountedExactlyWhileAnotherShardIsDead() {
    try (RedisCluster cluster = RedisCluster.startWithQuickFailover(newest());
        Limiter here = node(cluster);
        Limiter there = node(cluster)) {
      RedisProcess dead = cluster.masters().get(1);
      List<Integer> all = IntStream.range(0, 90).boxed().toList();
      List<Integer> onDead =
          all.stream().filter(i -> cluster.ownerOf(slot(member(i))) == dead).toList();
      List<Integer> onLive = all.stream().filter(i -> !onDead.contains(i)).toList();
      int resetOne = onLive.get(0);
      for (Limiter node : List.of(here, there)) {
        RedisCluster.await(
            () ->
                all.stream()
                    .allMatch(
                        i -> Crowd.isCounted(node.decide(Call.of("r", member(i)).peeking()))));
      }
      Map<Integer, AtomicInteger> passed = new ConcurrentHashMap<>();
      Map<Integer, AtomicInteger> uncounted = new ConcurrentHashMap<>();
      AtomicBoolean goesOn = new AtomicBoolean(true);
      List<CompletableFuture<List<Crowd.Answer>>> calling = new ArrayList<>();
      cluster.pauseShard(dead);
      for (Limiter node : List.of(here, there)) {
        calling.add(
            Crowd.calling(
                4, Duration.ofMillis(1), goesOn::get, () -> decide(node, passed, uncounted)));
      }
      long deadUntil = System.nanoTime() + DEAD.toNanos();
      RedisCluster.await(() -> onLive.stream().allMatch(i -> count(passed, i) == LIMIT));
      here.reset("r", member(resetOne));
      long reset = System.nanoTime();
      RedisCluster.await(() -> there.decide("r", member(resetOne)).allowed());
      double noticed = (System.nanoTime() - reset) / 1e6;
      LockSupport.parkNanos(deadUntil - System.nanoTime()); // the shard is dead in real time
      int liveUncounted = onLive.stream().mapToInt(i -> count(uncounted, i)).sum();
      cluster.resumeShard(dead);
      for (Limiter node : List.of(here, there)) {
        RedisCluster.await(() -> Crowd.isCounted(node.decide("r", member(onDead.get(0)))));
      }
      RedisCluster.await(() -> count(passed, resetOne) == 2 * LIMIT - 1); // and the one above
      goesOn.set(false);
      int calls = calling.stream().mapToInt(each -> each.join().size()).sum();

      int mostOnDead = onDead.stream().mapToInt(i -> count(passed, i)).max().orElse(0);
      System.out.printf(
          "one of three shards dead for %d s: %d calls by two nodes; on live shards %d identities,"
              + " %d calls uncounted; on the dead one %d identities, at most %d of %d passed%n",
          DEAD.toSeconds(), calls, onLive.size(), liveUncounted, onDead.size(), mostOnDead, LIMIT);
      System.out.printf(
          "a reset by one node meanwhile: obeyed by the other after %.0f ms%n", noticed);
      assertThat(liveUncounted).isZero();
      assertThat(noticed).isLessThan(2_000);
      for (int i : onLive) {
        assertThat(count(passed, i)).as("m%d", i).isEqualTo(i == resetOne ? 2 * LIMIT - 1 : LIMIT);
      }
      assertThat(mostOnDead)
          .as("what Redis counts and a share for each node")
          .isBetween(1, 2 * LIMIT);
    }
  }

  private static Decision decide(
      Limiter node, Map<Integer, AtomicInteger> passed, Map<Integer, AtomicInteger> uncounted) {
    int number = ThreadLocalRandom.current().nextInt(90);
    Decision decision = node.decide("r", member(number));
    if (decision.allowed()) {
      passed.computeIfAbsent(number, none -> new AtomicInteger()).incrementAndGet();
    }
    if (!Crowd.isCounted(decision)) {
      uncounted.computeIfAbsent(number, none -> new AtomicInteger()).incrementAndGet();
    }
    return decision;
  }

  private static int count(Map<Integer, AtomicInteger> counts, int number) {
    AtomicInteger found = counts.get(number);
    return found == null ? 0 : found.get();
  }

  @Test
  void callOverSeveralSlotsThatWasAnsweredByPolicyIsNotCarriedOutLater() {
    Rule rule =
        Rule.builder("r")
            .by("member", "ip")
            .limit(Limit.fixedWindow(1_000, Duration.ofDays(1)))
            .onStoreFailure(OnStoreFailure.DENY)
            .build();
    try (RedisCluster cluster = RedisCluster.start(newest());
        Limiter limiter = Limiter.owning(RedisStore.connect(cluster.uri()), Rules.of(rule))) {
      Identity ip = Identity.of("ip", "10.0.0.1");
      RedisProcess master = cluster.ownerOf(slot(ip));
      Identity both = memberElsewhere(cluster, master).with("ip", "10.0.0.1");
      RedisCluster.await(() -> limiter.decide(Call.of("r", both).peeking()).allowed());
      master.kill();
      List<Crowd.Answer> answers = Crowd.calling(20, 60, i -> limiter.decide("r", both));
      master.restart();
      RedisCluster.await(() -> master.command("CLUSTER", "INFO").contains("cluster_state:ok"));
      LockSupport.parkNanos(Duration.ofSeconds(4).toNanos()); // longer than anything is tried again
      RedisCluster.await(() -> Crowd.isCounted(limiter.decide(Call.of("r", both).peeking())));

      assertThat(answers).noneMatch(answer -> answer.decision().allowed());
      assertThat(limiter.decide(Call.of("r", both).peeking()).balances())
          .allMatch(balance -> balance.remaining() == 1_000);
    }
  }

  @Test
  void twoCallsThatDenyEachOtherOverTwoSlotsLockNobody() {
    Rule rule =
        Rule.builder("r")
            .by("member", "ip")
            .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
            .lock(Duration.ofHours(1))
            .build();
    try (RedisCluster cluster = RedisCluster.start(newest());
        Limiter here =
            Limiter.owning(RedisStore.builder(cluster.uri()).buildBare(), Rules.of(rule));
        Limiter there =
            Limiter.owning(RedisStore.builder(cluster.uri()).buildBare(), Rules.of(rule))) {
      int nobody = 0;
      int lockedOut = 0;
      int pairs = 0;
      while (pairs < 300 || (nobody == 0 && pairs < 3_000)) {
        Identity both =
            member(pairs)
                .with("ip", "10." + pairs / 62_500 + "." + pairs / 250 + "." + pairs % 250);
        List<CompletableFuture<Decision>> pair =
            List.of(
                here.decideAsync(Call.of("r", both)).toCompletableFuture(),
                there.decideAsync(Call.of("r", both)).toCompletableFuture());
        boolean admitted = pair.stream().anyMatch(each -> each.join().allowed());
        if (!admitted) {
          nobody++;
          lockedOut += here.decide(Call.of("r", both).peeking()).locked() ? 1 : 0;
        }
        pairs++;
      }
      System.out.printf(
          "%d pairs of calls over two slots: %d times nobody was let in, %d of them locked%n",
          pairs, nobody, lockedOut);
      assertThat(nobody).as("calls that denied each other").isPositive();
      assertThat(lockedOut).isZero();
    }
  }

  @Test
  void callThatALimitDeniesInOneOfTwoSlotsStillLocksThere() {
    Rule rule =
        Rule.builder("r")
            .by("member", "ip")
            .limit(Limit.fixedWindow(2, Duration.ofDays(1)))
            .lock(Duration.ofHours(1))
            .build();
    try (RedisCluster cluster = RedisCluster.start(newest());
        Limiter limiter =
            Limiter.owning(RedisStore.builder(cluster.uri()).buildBare(), Rules.of(rule))) {
      limiter.decide("r", member(1).with("ip", "10.0.0.1"));
      limiter.decide("r", member(1).with("ip", "10.0.0.2"));

      Decision third = limiter.decide("r", member(1).with("ip", "10.0.0.3"));

      assertThat(third.allowed()).isFalse();
      assertThat(third.locked()).isTrue();
      assertThat(limiter.decide("r", member(2).with("ip", "10.0.0.3")).allowed())
          .as("only the member was locked")
          .isTrue();
    }
  }

  @Test
  void callWithAnIdOverTwoSlotsOfADeadShardIsCountedInBoth() {
    Rule rule =
        Rule.builder("r")
            .by("member", "ip")
            .limit(Limit.fixedWindow(2, Duration.ofDays(1)))
            .build();
    try (RedisCluster cluster = RedisCluster.start(newest());
        Limiter limiter = Limiter.owning(RedisStore.connect(cluster.uri()), Rules.of(rule))) {
      Identity ip = Identity.of("ip", "10.0.0.1");
      RedisProcess master = cluster.ownerOf(slot(ip));
      List<Integer> beside =
          IntStream.range(0, 300)
              .filter(i -> cluster.ownerOf(slot(member(i))) == master)
              .filter(i -> slot(member(i)) != slot(ip))
              .boxed()
              .limit(3)
              .toList();
      RedisCluster.await(
          () -> Crowd.isCounted(limiter.decide(Call.of("r", member(0).with("ip", "x")).peeking())));
      master.pause();
      for (int i = 0; i < 2; i++) {
        Identity both = member(beside.get(i)).with("ip", "10.0.0.1");
        Decision first = limiter.decide(Call.of("r", both).withId("call"));
        assertThat(first.countedBy()).isEqualTo(Decision.CountedBy.LOCAL);
        assertThat(first.allowed()).isTrue();
        assertThat(limiter.decide(Call.of("r", both).withId("call")).allowed()).isTrue();
      }

      Identity third = member(beside.get(2)).with("ip", "10.0.0.1");
      Decision denied = limiter.decide(Call.of("r", third).withId("call"));
      master.resume();

      assertThat(denied.allowed()).as("the address is used up").isFalse();
    }
  }

  @Test
  void receiptOfACallCountedHalfByRedisAndHalfByThisNodeRefundsBoth() {
    Rule rule =
        Rule.builder("r").by("member", "ip").limit(Limit.slidingLog(3, Duration.ofDays(1))).build();
    try (RedisCluster cluster = RedisCluster.start(newest());
        Limiter limiter = Limiter.owning(RedisStore.connect(cluster.uri()), Rules.of(rule))) {
      Identity ip = Identity.of("ip", "10.0.0.1");
      RedisProcess master = cluster.ownerOf(slot(ip));
      Identity both = memberElsewhere(cluster, master).with("ip", "10.0.0.1");
      RedisCluster.await(() -> limiter.decide(Call.of("r", both).peeking()).allowed());
      master.pause();
      Decision.Allowed half = (Decision.Allowed) limiter.decide("r", both);

      boolean settled = limiter.refund(half.receipt());
      Decision after = limiter.decide(Call.of("r", both).peeking());
      boolean again = limiter.refund(half.receipt());
      master.resume();

      assertThat(half.countedBy()).isEqualTo(Decision.CountedBy.LOCAL);
      assertThat(settled).isTrue();
      assertThat(again).isFalse();
      assertThat(after.balances()).allMatch(balance -> balance.remaining() == 3);
    }
  }

  @Test
  void idThatALiveShardDeniedIsCountedWhenItComesAgainAlsoOnTheDeadOne() {
    Rule perIp = Rule.builder("r").by("ip").limit(Limit.fixedWindow(3, Duration.ofDays(1))).build();
    Rule perMember =
        Rule.builder("s").by("member").limit(Limit.fixedWindow(1, Duration.ofDays(1))).build();
    try (RedisCluster cluster = RedisCluster.start(newest());
        Limiter limiter =
            Limiter.owning(RedisStore.connect(cluster.uri()), Rules.of(perIp, perMember))) {
      RedisProcess master = cluster.ownerOf(slot(Identity.of("ip", "10.0.0.1")));
      Identity both = memberElsewhere(cluster, master).with("ip", "10.0.0.1");
      RedisCluster.await(() -> Crowd.isCounted(limiter.decide("s", both)));
      master.pause();
      for (int i = 0; i < 6; i++) {
        Call call = Call.of(List.of("r", "s"), both).withId("job-" + i);
        assertThat(limiter.decide(call).allowed()).as("the member is used up").isFalse();
      }
      limiter.reset("s", both);
      int passed = 0;
      for (int i = 0; i < 6; i++) {
        Call call = Call.of("r", both).withId("job-" + i + "-again");
        passed += limiter.decide(call).allowed() ? 1 : 0;
      }
      assertThat(passed).as("nothing of the denied calls was left").isEqualTo(3);
      Decision again = limiter.decide(Call.of(List.of("r", "s"), both).withId("job-0"));
      master.resume();

      assertThat(again.allowed()).as("the address is used up by now").isFalse();
    }
  }
}
