package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.testing.RespProxy;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Two nodes with denial caches, and the refunds that each announces to the other. */
@ExtendWith(RedisServers.class)
class DenialCacheIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rule RULE =
      Rule.builder("r").by("member").limit(Limit.fixedWindow(3, Duration.ofDays(1))).build();
  private static final Rule LOCKING =
      Rule.builder("locking")
          .by("member")
          .limit(Limit.tokenBucket(3, 3, Duration.ofHours(1)))
          .lock(Duration.ofHours(2))
          .build();
  private static final Rule COUNTING =
      Rule.builder("counting")
          .by("member")
          .limit(Limit.slidingWindow(3, Duration.ofHours(1)))
          .countDenied()
          .build();
  private static final Rules RULES = Rules.of(RULE, LOCKING, COUNTING);

  private RedisProcess server;
  private Limiter here;
  private Limiter there;

  @BeforeEach
  void open() {
    server = RedisServers.single(newest());
    server.command("FLUSHALL");
    // So long that only an announcement ends a cached denial.
    here = Limiter.owning(remembering(Duration.ofHours(1)), RULES);
    there = Limiter.owning(remembering(Duration.ofHours(1)), RULES);
    RedisCluster.await(() -> server.command("PUBSUB", "NUMSUB", Keyspace.REFUNDS).endsWith("2"));
  }

  private Store remembering(Duration longest) {
    return RedisStoreBuilder.caching(
        RedisStore.builder(server.uri()).open(Runnable::run, null), longest);
  }

  @AfterEach
  void close() {
    here.close();
    there.close();
  }

  private long scriptCalls() {
    return server.libraryCalls();
  }

  /** Uses a rule up at both nodes, so that both know of the denial. */
  private void useUp(Rule rule) {
    while (here.decide(rule.name(), ANN).allowed()) {
      // until it is used up
    }
    RedisCluster.await(() -> knows(here, rule) && knows(there, rule));
  }

  private static boolean knows(Limiter node, Rule rule) {
    return node.decide(rule.name(), ANN).countedBy() == Decision.CountedBy.CACHE;
  }

  private void refundArrives(String what, Rule rule, Function<Limiter, CompletionStage<?>> refund) {
    long start = System.nanoTime();
    refund.apply(there).toCompletableFuture().join();
    RedisCluster.await(() -> here.decide(rule.name(), ANN).allowed());
    double millis = (System.nanoTime() - start) / 1e6;

    System.out.printf("%s at another node: noticed within %.0f ms%n", what, millis);
    assertThat(millis).isLessThan(5_000);
  }

  @Test
  void resetByAnotherNodeIsNoticed() {
    useUp(RULE);

    refundArrives("reset", RULE, node -> node.resetAsync("r", ANN));
  }

  @Test
  void refundByAnotherNodeIsNoticed() {
    Receipt receipt = ((Decision.Allowed) there.decide("r", ANN)).receipt();
    useUp(RULE);

    refundArrives("refund", RULE, node -> node.refundAsync(receipt));
  }

  @Test
  void settlementByAnotherNodeIsNoticed() {
    Decision two = there.decide(Call.of("r", ANN).costing(2));
    useUp(RULE);

    refundArrives("settle", RULE, node -> node.settleAsync(((Decision.Allowed) two).receipt(), 1));
  }

  @Test
  void liftByAnotherNodeIsNoticed() {
    useUp(LOCKING);
    there.reset("locking", ANN);
    RedisCluster.await(() -> here.decide("locking", ANN).allowed());
    there.lock("locking", ANN, Duration.ofHours(1), "by hand");
    RedisCluster.await(() -> !here.decide("locking", ANN).allowed());

    refundArrives("lift", LOCKING, node -> node.liftAsync("locking", ANN));
  }

  @Test
  void raisedLimitAppliesAtOnce() {
    useUp(RULE);
    Rule raised =
        Rule.builder("r").by("member").limit(Limit.fixedWindow(4, Duration.ofDays(1))).build();
    var store = RedisStore.connect(server.uri());
    try (Limiter before = Limiter.owning(store, RULES);
        Limiter after = Limiter.owning(store, Rules.of(raised))) {
      RedisCluster.await(() -> !before.decide("r", ANN).allowed());

      assertThat(after.decide("r", ANN).allowed()).isTrue();
    }
  }

  @Test
  void rulesThatCountDenialsAndCallsWithIdsAlwaysAsk() {
    while (here.decide("counting", ANN).allowed()) {
      // until it is used up
    }
    long before = scriptCalls();
    for (int i = 0; i < 10; i++) {
      here.decide("counting", ANN);
    }
    assertThat(scriptCalls() - before).isEqualTo(10);
    useUp(RULE);
    before = scriptCalls();
    for (int i = 0; i < 10; i++) {
      here.decide(Call.of("r", ANN).withId("id" + i));
    }
    assertThat(scriptCalls() - before).isEqualTo(10);
  }

  @Test
  void smallerCostIsNotDeniedBecauseALargerOneWas() {
    assertThat(here.decide(Call.of("r", ANN).costing(2)).allowed()).isTrue();
    assertThat(here.decide(Call.of("r", ANN).costing(2)).allowed()).isFalse();

    assertThat(here.decide("r", ANN).allowed()).isTrue();
  }

  @Test
  void largerCostHasItsOwnRetryAfter() {
    Rule rule =
        Rule.builder("slow")
            .by("member")
            .limit(Limit.tokenBucket(10, 1, Duration.ofSeconds(1)))
            .build();
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), Rules.of(rule))) {
      while (limiter.decide("slow", ANN).allowed()) {
        // until it is used up
      }
      Decision one = limiter.decide("slow", ANN);
      Decision ten = limiter.decide(Call.of("slow", ANN).costing(10));

      assertThat(one.countedBy()).isEqualTo(Decision.CountedBy.CACHE);
      assertThat(one.retryAfter().orElseThrow()).isLessThan(Duration.ofSeconds(1));
      assertThat(ten.retryAfter().orElseThrow()).isGreaterThan(Duration.ofSeconds(8));
    }
  }

  @Test
  void callOverSeveralAccountsHasTheLongestRetryAfterOfAll() {
    Rule quick =
        Rule.builder("quick")
            .by("member")
            .limit(Limit.tokenBucket(1, 1, Duration.ofSeconds(2)))
            .build();
    Rule slow =
        Rule.builder("slow").by("ip").limit(Limit.tokenBucket(1, 1, Duration.ofHours(1))).build();
    Identity both = ANN.with("ip", "10.0.0.1");
    try (Limiter limiter =
        Limiter.owning(RedisStore.connect(server.uri()), Rules.of(quick, slow))) {
      limiter.decide("quick", both);
      assertThat(limiter.decide("quick", both).allowed()).as("and this is known now").isFalse();
      limiter.decide("slow", both);
      for (int i = 0; i < 3; i++) {
        Decision decision = limiter.decide(Call.of(List.of("quick", "slow"), both));

        assertThat(decision.retryAfter().orElseThrow()).isGreaterThan(Duration.ofMinutes(59));
        assertThat(decision.balances()).hasSize(2);
      }
    }
  }

  @Test
  void ruleThatCountsDenialsCountsAlsoWhereTheDenialOfAnotherRuleIsKnown() {
    useUp(RULE);
    for (int i = 0; i < 3; i++) {
      here.decide(Call.of(List.of("r", "counting"), ANN));
    }

    assertThat(here.decide("counting", ANN).allowed()).isFalse();
  }

  @Test
  void flushedRedisIsNoticedWithinASecond() {
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), RULES)) {
      RedisCluster.await(() -> knows(limiter, RULE));
      server.command("FLUSHALL");
      long start = System.nanoTime();
      RedisCluster.await(() -> limiter.decide("r", ANN).allowed());
      double millis = (System.nanoTime() - start) / 1e6;

      System.out.printf("FLUSHALL: denials forgotten after %.0f ms%n", millis);
      assertThat(millis).isLessThan(1_000);
    }
  }

  @Test
  void refundWhoseReplyIsLostReachesAllNodes() {
    Receipt receipt = ((Decision.Allowed) here.decide("r", ANN)).receipt();
    useUp(RULE);
    try (RespProxy proxy = RespProxy.before(server);
        Limiter cut = Limiter.owning(RedisStore.connect(proxy.uri()), RULES)) {
      cut.decide("locking", ANN);
      proxy.harming(
          command ->
              command.isScript()
                  ? RespProxy.Fault.of(RespProxy.Fault.Kind.CUT_RST)
                  : RespProxy.Fault.NONE);
      CompletableFuture<Boolean> settled = cut.refundAsync(receipt).toCompletableFuture();
      RedisCluster.await(() -> here.decide("r", ANN).allowed());
      proxy.harming(command -> RespProxy.Fault.NONE);

      assertThat(settled.handle((value, error) -> "ended").join()).isEqualTo("ended");
    }
  }

  @Test
  void denialEndsWhenTheStoreWouldAllow() {
    Limit limit = Limit.tokenBucket(1, 1, Duration.ofMillis(200));
    Rules rules = Rules.of(Rule.builder("fast").by("member").limit(limit).build());
    try (Limiter cached = Limiter.owning(RedisStore.connect(server.uri()), rules);
        Limiter bare = Limiter.owning(RedisStore.builder(server.uri()).buildBare(), rules)) {
      for (int round = 0; round < 5; round++) {
        RedisCluster.await(() -> cached.decide("fast", ANN).allowed());
        assertThat(cached.decide("fast", ANN).allowed()).isFalse();
        // As soon as the store itself would allow, the cache must not be in the way.
        RedisCluster.await(() -> bare.decide(Call.of("fast", ANN).peeking()).allowed());

        assertThat(cached.decide("fast", ANN).allowed()).isTrue();
      }
    }
  }

  @Test
  void nothingIsCachedWhileAnnouncementsCannotArrive() {
    useUp(RULE);
    server.command("CLIENT", "KILL", "TYPE", "pubsub");
    RedisCluster.await(
        () -> {
          long before = scriptCalls();
          here.decide("r", ANN);
          return scriptCalls() > before;
        });
    RedisCluster.await(() -> server.command("PUBSUB", "NUMSUB", Keyspace.REFUNDS).endsWith("2"));
    RedisCluster.await(
        () -> {
          here.decide("r", ANN);
          long before = scriptCalls();
          here.decide("r", ANN);
          return scriptCalls() == before;
        });
  }

  @Test
  void channelThatHangsIsReplacedWhileDenialsAreCached() {
    try (RespProxy proxy = RespProxy.before(server);
        Limiter limiter = Limiter.owning(RedisStore.connect(proxy.uri()), RULES)) {
      RedisCluster.await(() -> knows(limiter, RULE));
      int before = proxy.connections();
      proxy.harming(
          command ->
              command.name().equals("PING")
                  ? RespProxy.Fault.delay(Duration.ofSeconds(5))
                  : RespProxy.Fault.NONE);
      long start = System.nanoTime();
      RedisCluster.await(
          () -> {
            knows(limiter, RULE);
            return proxy.connections() > before;
          });
      double millis = (System.nanoTime() - start) / 1e6;

      System.out.printf("hanging channel: another one opened after %.0f ms%n", millis);
      assertThat(millis).isLessThan(3_000);
    }
  }
}
