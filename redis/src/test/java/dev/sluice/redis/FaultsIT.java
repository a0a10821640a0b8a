package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Lock;
import dev.sluice.OnStoreFailure;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Settlement;
import dev.sluice.redis.testing.Crowd;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Faults of a Redis, and what a caller sees of them. */
class FaultsIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Limit PLENTY = Limit.tokenBucket(1_000_000, 1, Duration.ofSeconds(1));
  private static final int CALLS = 2_000;
  private static final Limit FIXED = Limit.fixedWindow(1_000_000, Duration.ofDays(1));

  private RedisProcess server;

  @BeforeEach
  void start() {
    server = RedisProcess.start(newest());
  }

  @AfterEach
  void end() {
    try {
      RedisServers.assertEveryKeyHasTtl(server);
    } finally {
      server.close();
    }
  }

  private static Rule rule(Limit limit, OnStoreFailure policy) {
    return Rule.builder("r").by("member").limit(limit).onStoreFailure(policy).build();
  }

  private Limiter limiter(Limit limit, OnStoreFailure policy) {
    return Limiter.owning(RedisStore.connect(server.uri()), Rules.of(rule(limit, policy)));
  }

  /** Waits in real time, for other processes. */
  private static void let(Duration pass) {
    LockSupport.parkNanos(pass.toNanos());
  }

  private static CompletableFuture<List<Crowd.Answer>> callers(
      Limiter limiter, AtomicBoolean goesOn) {
    return Crowd.calling(4, Duration.ofMillis(2), goesOn::get, () -> limiter.decide("r", ANN));
  }

  private static void awaitMetered(Limiter limiter) {
    RedisCluster.await(() -> Crowd.isCounted(limiter.decide("r", ANN)));
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void scriptsFlushedEvery20MillisAreNeverNoticed(Binary binary) {
    server.close();
    server = RedisProcess.start(binary);
    for (Limit limit : List.of(PLENTY, FIXED)) {
      // Bare: no policy could hide an error.
      try (Store store = RedisStore.builder(server.uri()).buildBare();
          Limiter limiter = Limiter.owning(store, Rules.of(rule(limit, OnStoreFailure.DENY)))) {
        AtomicBoolean goesOn = new AtomicBoolean(true);
        CompletableFuture<List<Crowd.Answer>> calling =
            Crowd.calling(8, Duration.ZERO, goesOn::get, () -> limiter.decide("r", ANN));
        for (int i = 0; i < 50; i++) {
          server.command("SCRIPT", "FLUSH");
          let(Duration.ofMillis(20));
        }
        goesOn.set(false);
        List<Crowd.Answer> answers = calling.join();

        System.out.printf(
            "SCRIPT FLUSH every 20 ms, %s, %s: %d calls, 0 errors%n",
            binary, limit, answers.size());
        assertThat(Crowd.allowed(answers)).isEqualTo(answers.size());
        assertThat(answers).hasSizeGreaterThan(500);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(OnStoreFailure.class)
  void stoppedRedisIsAnsweredForByPolicyWithinTheDeadline(OnStoreFailure policy) {
    Limit limit = Limit.fixedWindow(1_000_000, Duration.ofDays(1));
    try (Limiter limiter = limiter(limit, policy)) {
      awaitMetered(limiter);
      let(Duration.ofMillis(300));
      server.pause();
      AtomicBoolean goesOn = new AtomicBoolean(true);
      CompletableFuture<List<Crowd.Answer>> calling = callers(limiter, goesOn);
      let(Duration.ofSeconds(2));
      goesOn.set(false);
      List<Crowd.Answer> answers = calling.join();
      server.resume();
      long start = System.nanoTime();
      awaitMetered(limiter);
      double recovery = (System.nanoTime() - start) / 1e6;

      double p99 = Crowd.millis(answers, 990);
      double worst = Crowd.millis(answers, 1_000);
      System.out.printf(
          "SIGSTOP for 2 s, %s, deadline 500 ms: %d calls, 99 %% within %.1f ms, all within %.1f ms,"
              + " metered again after %.0f ms%n",
          policy, answers.size(), p99, worst, recovery);
      assertThat(Crowd.byPolicy(answers)).isEqualTo(answers.size());
      boolean denies = policy == OnStoreFailure.DENY;
      assertThat(answers).allMatch(answer -> answer.decision().allowed() != denies);
      assertThat(p99).as("after the first deadline answers come at once").isLessThan(250);
      assertThat(worst).isLessThan(500 + 1_000);
    }
  }

  @Test
  void localPolicyCountsByItselfAtItsShare() {
    Rules rules = Rules.of(rule(Limit.fixedWindow(10, Duration.ofDays(1)), OnStoreFailure.LOCAL));
    server.pause();
    try (Store store = RedisStore.builder(server.uri()).nodes(2).build();
        Limiter limiter = Limiter.owning(store, rules)) {
      List<Crowd.Answer> answers = Crowd.calling(1, 20, i -> limiter.decide("r", ANN));

      assertThat(Crowd.byPolicy(answers)).isEqualTo(20);
      assertThat(answers.stream().filter(answer -> answer.decision().allowed())).hasSize(5);
    } finally {
      server.resume();
    }
  }

  @Test
  void outageLetsNoNodeThroughMoreThanItsShareBesideWhatWasCountedBefore() {
    Rules rules = Rules.of(rule(Limit.fixedWindow(100, Duration.ofDays(1)), OnStoreFailure.LOCAL));
    try (Limiter here = Limiter.owning(RedisStore.builder(server.uri()).nodes(2).build(), rules);
        Limiter there = Limiter.owning(RedisStore.builder(server.uri()).nodes(2).build(), rules)) {
      for (int i = 0; i < 20; i++) {
        assertThat(here.decide("r", ANN).countedBy()).isEqualTo(Decision.CountedBy.STORE);
      }
      server.pause();
      for (Limiter node : List.of(here, there)) {
        List<Crowd.Answer> answers = Crowd.calling(4, 500, i -> node.decide("r", ANN));

        assertThat(answers)
            .allMatch(answer -> answer.decision().countedBy() == Decision.CountedBy.LOCAL);
        assertThat(answers.stream().filter(answer -> answer.decision().allowed())).hasSize(50);
        assertThat(Crowd.millis(answers, 1_000)).isLessThan(500 + 1_000);
      }
      server.resume();
      awaitMetered(here);
    }
  }

  @Test
  void locallyCountedCallCanBeRefundedByItsOwnNodeOnly() {
    Rules rules = Rules.of(rule(Limit.fixedWindow(3, Duration.ofDays(1)), OnStoreFailure.LOCAL));
    try (Limiter here = Limiter.owning(RedisStore.connect(server.uri()), rules);
        Limiter there = Limiter.owning(RedisStore.connect(server.uri()), rules)) {
      server.pause();
      Receipt receipt = ((Decision.Allowed) here.decide("r", ANN)).receipt();
      assertThat(here.decide("r", ANN).balances().get(0).remaining()).isEqualTo(1);

      assertThatThrownBy(() -> there.refund(receipt))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("expected: settle it there");
      assertThat(here.refund(receipt)).isTrue();
      assertThat(here.refund(receipt)).isFalse();
      assertThat(here.decide("r", ANN).balances().get(0).remaining()).isEqualTo(1);
      server.resume();
    }
  }

  @Test
  void lockThatANodeKnowsOfStaysThroughAnOutage() {
    Rule locking =
        Rule.builder("r")
            .by("member")
            .limit(Limit.fixedWindow(3, Duration.ofDays(1)))
            .lock(Duration.ofHours(1))
            .build();
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), Rules.of(locking))) {
      limiter.decide(Call.of("r", ANN).costing(3));
      Instant until = limiter.decide("r", ANN).restrictedUntil().orElseThrow();
      server.pause();
      Decision first = limiter.decide(Call.of("r", ANN).costing(2));
      server.resume();

      assertThat(first.countedBy()).isEqualTo(Decision.CountedBy.LOCAL);
      assertThat(first.allowed()).isFalse();
      assertThat(first.restrictedUntil().orElseThrow())
          .isBetween(until.minusSeconds(1), until.plusSeconds(1));
    }
  }

  @Test
  void lockThatASettlementBeganStaysThroughAnOutage() {
    Rule locking =
        Rule.builder("r")
            .by("member")
            .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
            .lock(Lock.of(Duration.ofHours(1)).onLimit())
            .build();
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), Rules.of(locking))) {
      Decision failed = limiter.decide(Call.of("r", ANN).reserving());
      Receipt receipt = ((Decision.Allowed) failed).receipt();
      limiter.settle(receipt, Settlement.CONFIRMED);
      server.pause();
      Decision next = limiter.decide(Call.of("r", ANN).reserving());
      server.resume();

      assertThat(next.countedBy()).isEqualTo(Decision.CountedBy.LOCAL);
      assertThat(next.allowed()).isFalse();
      assertThat(next.locked()).isTrue();
    }
  }

  @Test
  void costAboveTheShareIsNotNever() {
    Rules rules = Rules.of(rule(Limit.fixedWindow(10, Duration.ofDays(1)), OnStoreFailure.LOCAL));
    server.pause();
    try (Limiter limiter =
        Limiter.owning(RedisStore.builder(server.uri()).nodes(4).build(), rules)) {
      Decision seven = limiter.decide(Call.of("r", ANN).costing(7));
      Decision eleven = limiter.decide(Call.of("r", ANN).costing(11));

      assertThat(seven.allowed()).isFalse();
      assertThat(seven.retryAfter()).isPresent();
      assertThat(eleven.retryAfter()).isEmpty();
    } finally {
      server.resume();
    }
  }

  @Test
  void callsThatGaveUpBeforeTheyWereSentAreNotCountedLater() {
    AtomicInteger faults = new AtomicInteger();
    Rules rules = Rules.of(rule(FIXED, OnStoreFailure.DENY));
    try (Store store =
            RedisStore.builder(server.uri()).onFault(fault -> faults.incrementAndGet()).build();
        Limiter limiter = Limiter.owning(store, rules)) {
      awaitMetered(limiter);
      long before = counted(rules);
      server.pause();
      List<CompletableFuture<Decision>> asked = new ArrayList<>();
      for (int i = 0; i < CALLS; i++) {
        asked.add(limiter.decideAsync(Call.of("r", ANN)).toCompletableFuture());
      }
      asked.forEach(CompletableFuture::join);
      server.resume();
      awaitMetered(limiter);

      long counted = counted(rules) - before - 1; // the call that found Redis awake again
      System.out.printf("%d calls while stopped: %d counted afterwards%n", CALLS, counted);
      assertThat(asked).allMatch(call -> call.join() instanceof Decision.Unmetered);
      RedisCluster.await(() -> faults.get() == CALLS); // all of them waited
      assertThat(counted)
          .as("three calls of one were under way, then three of 128")
          .isLessThanOrEqualTo(3 + 3 * 128);
    }
  }

  private long counted(Rules rules) {
    try (Limiter direct = Limiter.owning(RedisStore.builder(server.uri()).buildBare(), rules)) {
      Decision seen = direct.decide(Call.of("r", ANN).peeking());
      return FIXED.quota() - seen.balances().get(0).remaining();
    }
  }

  @Test
  void restartIsSurvivedAndOnlyPolicyDecidesMeanwhile() {
    try (Limiter limiter = limiter(PLENTY, OnStoreFailure.ALLOW)) {
      awaitMetered(limiter);
      AtomicBoolean goesOn = new AtomicBoolean(true);
      CompletableFuture<List<Crowd.Answer>> calling = callers(limiter, goesOn);
      let(Duration.ofMillis(200));
      server.kill();
      let(Duration.ofMillis(300));
      server.restart();
      long start = System.nanoTime();
      awaitMetered(limiter);
      double recovery = (System.nanoTime() - start) / 1e6;
      let(Duration.ofMillis(200));
      goesOn.set(false);
      List<Crowd.Answer> answers = calling.join();

      System.out.printf(
          "restart: %d calls, %d by policy, metered again after %.0f ms%n",
          answers.size(), Crowd.byPolicy(answers), recovery);
      assertThat(Crowd.byPolicy(answers)).isPositive();
      assertThat(Crowd.allowed(answers) + Crowd.byPolicy(answers)).isEqualTo(answers.size());
      assertThat(recovery).isLessThan(1_000);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void fullMemoryIsAnsweredForAtOnceAndNothingIsHalfDone(Binary binary) {
    server.close();
    server = RedisProcess.start(binary);
    Rule.Builder builder =
        Rule.builder("r")
            .by("member", "ip")
            .limit(Limit.fixedWindow(100, Duration.ofDays(1)))
            .onStoreFailure(OnStoreFailure.DENY);
    fillsUp(builder.build());
    Limit bucket = Limit.tokenBucket(100, 100, Duration.ofDays(1));
    fillsUp(
        Rule.builder("r").by("member").limit(bucket).onStoreFailure(OnStoreFailure.DENY).build());
    fillsUp(builder.limit(Limit.slidingLog(100, Duration.ofHours(1))).build());
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void onAFullRedisDeniedStaysDeniedAndOnlyWhatWouldPassFallsToThePolicy(Binary binary) {
    server.close();
    server = RedisProcess.start(binary);
    Identity bob = Identity.of("member", "bob");
    for (Limit limit :
        List.of(
            Limit.tokenBucket(2, 1, Duration.ofDays(1)),
            Limit.fixedWindow(2, Duration.ofDays(1)),
            Limit.slidingWindow(2, Duration.ofDays(1)),
            Limit.slidingLog(2, Duration.ofDays(1)))) {
      server.command("FLUSHALL");
      Rule rule =
          Rule.builder("r").by("member").limit(limit).onStoreFailure(OnStoreFailure.ALLOW).build();
      try (Store store =
              RedisStore.builder(server.uri())
                  .deadline(Duration.ofSeconds(1))
                  .cacheDenials(false)
                  .build();
          Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
        assertThat(limiter.decide(Call.of("r", ANN).costing(2)).allowed()).isTrue();
        server.command("CONFIG", "SET", "maxmemory", "1");

        for (int i = 0; i < 3; i++) {
          Decision denied = limiter.decide("r", ANN);
          assertThat(denied).as("%s", limit).isInstanceOf(Decision.Denied.class);
          assertThat(denied.countedBy()).isEqualTo(Decision.CountedBy.STORE);
          assertThat(limiter.decide("r", bob)).isInstanceOf(Decision.Unmetered.class);
        }
        server.command("CONFIG", "SET", "maxmemory", "0");
        assertThat(limiter.decide("r", bob).balances().get(0).remaining()).isEqualTo(1);
      }
    }
  }

  private void fillsUp(Rule rule) {
    server.command("FLUSHALL");
    Identity both = ANN.with("ip", "10.0.0.1");
    AtomicInteger oom = new AtomicInteger();
    try (Store store =
            RedisStore.builder(server.uri())
                .deadline(Duration.ofSeconds(1))
                .onFault(fault -> oom.addAndGet(fault.kind().equals("oom") ? 1 : 0))
                .build();
        Limiter limiter = Limiter.owning(store, Rules.of(rule))) {
      assertThat(limiter.decide("r", both).allowed()).isTrue();
      server.command("CONFIG", "SET", "maxmemory", "1");
      List<Crowd.Answer> answers = Crowd.calling(1, 20, i -> limiter.decide("r", both));
      server.command("CONFIG", "SET", "maxmemory", "0");
      assertThat(limiter.decide("r", both)).isInstanceOf(Decision.Allowed.class);

      assertThat(Crowd.byPolicy(answers)).isEqualTo(20);
      RedisCluster.await(() -> oom.get() == 20);
      assertThat(Crowd.millis(answers, 500)).as("no waiting for the deadline").isLessThan(200);
      Decision after = limiter.decide(Call.of("r", both).peeking());
      long taken = 2 + Crowd.allowed(answers);
      assertThat(after.balances()).allMatch(balance -> balance.remaining() == 100 - taken);
    }
  }

  @Test
  void redisThatIsDownAtTheStartIsTakenUpWhenItComes() {
    server.kill();
    long start = System.nanoTime();
    try (Limiter limiter = limiter(PLENTY, OnStoreFailure.DENY)) {
      Decision first = limiter.decide("r", ANN);
      double millis = (System.nanoTime() - start) / 1e6;
      assertThat(first).isInstanceOf(Decision.Unmetered.class);
      assertThatThrownBy(
              () ->
                  limiter
                      .locksAsync(null, 1_000, null)
                      .toCompletableFuture()
                      .get(1, TimeUnit.SECONDS))
          .hasMessageContaining("Redis at 127.0.0.1:" + server.port() + " cannot be reached: ");

      server.restart();
      long up = System.nanoTime();
      awaitMetered(limiter);
      double recovery = (System.nanoTime() - up) / 1e6;

      System.out.printf(
          "down at the start: opened and answered within %.0f ms, metered %.0f ms after it came%n",
          millis, recovery);
      assertThat(recovery).isLessThan(2_000);
    }
  }
}
