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
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Two nodes that remember denials, and the gifts each tells the other of. */
@ExtendWith(RedisServers.class)
class DenialCacheIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rule RULE =
      Rule.named("r").by("member").limit(Limit.fixed(3, Duration.ofDays(1))).build();
  private static final Rule LOCKING =
      Rule.named("locking")
          .by("member")
          .limit(Limit.bucket(3, 3, Duration.ofHours(1)))
          .lock(Duration.ofHours(2))
          .build();
  private static final Rule COUNTING =
      Rule.named("counting")
          .by("member")
          .limit(Limit.sliding(3, Duration.ofHours(1)))
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
    here = Limiter.of(RedisStore.connect(server.uri()), RULES);
    there = Limiter.of(RedisStore.connect(server.uri()), RULES);
    RedisCluster.await(() -> server.command("PUBSUB", "NUMSUB", Keyspace.GIFTS).endsWith("2"));
  }

  @AfterEach
  void close() {
    here.close();
    there.close();
  }

  private long scriptCalls() {
    return server.info("commandstats", "cmdstat_evalsha")
        + server.info("commandstats", "cmdstat_eval");
  }

  /** Uses a rule up at both nodes, so that both know of the denial. */
  private void useUp(Rule rule) {
    while (here.decide(rule.name(), ANN).allowed()) {
      // until it is used up
    }
    assertThat(there.decide(rule.name(), ANN).allowed()).isFalse();
    long before = scriptCalls();
    assertThat(here.decide(rule.name(), ANN).allowed()).isFalse();
    assertThat(there.decide(rule.name(), ANN).allowed()).isFalse();
    assertThat(scriptCalls()).as("both know").isEqualTo(before);
  }

  private void giftArrives(String what, Rule rule, Function<Limiter, CompletionStage<?>> gift) {
    long start = System.nanoTime();
    gift.apply(there).toCompletableFuture().join();
    RedisCluster.await(() -> here.decide(rule.name(), ANN).allowed());
    double millis = (System.nanoTime() - start) / 1e6;

    System.out.printf("%s at another node: noticed within %.0f ms%n", what, millis);
    assertThat(millis).isLessThan(1_000);
  }

  @Test
  void resetByAnotherNodeIsNoticed() {
    useUp(RULE);

    giftArrives("reset", RULE, node -> node.reset("r", ANN));
  }

  @Test
  void giveBackByAnotherNodeIsNoticed() {
    Receipt receipt = ((Decision.Allowed) there.decide("r", ANN)).receipt();
    useUp(RULE);

    giftArrives("give back", RULE, node -> node.giveBack(receipt));
  }

  @Test
  void settlementByAnotherNodeIsNoticed() {
    Decision two = there.decide(Call.of("r", ANN).costing(2));
    useUp(RULE);

    giftArrives("settle", RULE, node -> node.settle(((Decision.Allowed) two).receipt(), 1));
  }

  @Test
  void liftByAnotherNodeIsNoticed() {
    useUp(LOCKING);
    there.reset("locking", ANN).toCompletableFuture().join();
    RedisCluster.await(() -> here.decide("locking", ANN).allowed());
    there.lock("locking", ANN, Duration.ofHours(1), "by hand").toCompletableFuture().join();
    RedisCluster.await(() -> !here.decide("locking", ANN).allowed());

    giftArrives("lift", LOCKING, node -> node.lift("locking", ANN));
  }

  @Test
  void raisedLimitAppliesAtOnce() {
    useUp(RULE);
    Rule raised = Rule.named("r").by("member").limit(Limit.fixed(4, Duration.ofDays(1))).build();
    var store = RedisStore.connect(server.uri());
    try (Limiter before = Limiter.of(store, RULES);
        Limiter after = Limiter.of(store, Rules.of(raised))) {
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
  void denialEndsWhenTheStoreWouldAllow() {
    Limit limit = Limit.bucket(1, 1, Duration.ofMillis(200));
    Rules rules = Rules.of(Rule.named("fast").by("member").limit(limit).build());
    try (Limiter cached = Limiter.of(RedisStore.connect(server.uri()), rules);
        Limiter bare = Limiter.of(RedisStore.at(server.uri()).openBare(), rules)) {
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
  void nothingIsRememberedWhileAnnouncementsCannotBeHeard() {
    useUp(RULE);
    server.command("CLIENT", "KILL", "TYPE", "pubsub");
    RedisCluster.await(
        () -> {
          long before = scriptCalls();
          here.decide("r", ANN);
          return scriptCalls() > before;
        });
    RedisCluster.await(() -> server.command("PUBSUB", "NUMSUB", Keyspace.GIFTS).endsWith("2"));
    RedisCluster.await(
        () -> {
          here.decide("r", ANN);
          long before = scriptCalls();
          here.decide("r", ANN);
          return scriptCalls() == before;
        });
  }
}
