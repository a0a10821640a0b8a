package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

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
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.testing.RespProxy;
import dev.sluice.redis.testing.RespProxy.Fault;
import dev.sluice.redis.testing.RespProxy.Fault.Kind;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Replies that are lost, late or false: nothing is counted twice, and what has an id, once. */
@ExtendWith(RedisServers.class)
class CutIT {
  private static final Identity ANN = Identity.of("member", "ann");
  private static final long MUCH = 1_000;
  private static final List<Limit> KINDS =
      List.of(
          Limit.fixedWindow(MUCH, Duration.ofDays(1)),
          Limit.slidingLog(MUCH, Duration.ofHours(1)),
          Limit.slidingWindow(MUCH, Duration.ofHours(1)),
          Limit.tokenBucket(MUCH, 1, Duration.ofHours(1)));

  private RedisProcess server;
  private RespProxy proxy;

  @BeforeEach
  void standBetween() {
    server = RedisServers.single(newest());
    server.command("FLUSHALL");
    proxy = RespProxy.before(server);
  }

  @AfterEach
  void stepAside() {
    proxy.close();
    RedisServers.assertEveryKeyHasTtl(server);
  }

  /** A limiter through the proxy; the deadline leaves time to connect again. */
  private Limiter through(Limit limit, Duration deadline) {
    Rule rule =
        Rule.builder("r").by("member").limit(limit).onStoreFailure(OnStoreFailure.DENY).build();
    return Limiter.owning(
        RedisStore.builder(proxy.uri()).deadline(deadline).cacheDenials(false).build(),
        Rules.of(rule));
  }

  private long counted(Limit limit) {
    Rule rule = Rule.builder("r").by("member").limit(limit).build();
    try (Limiter direct =
        Limiter.owning(RedisStore.builder(server.uri()).buildBare(), Rules.of(rule))) {
      return MUCH - direct.decide(Call.of("r", ANN).peeking()).balances().get(0).remaining();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Kind.class,
      names = {"CUT_FIN", "CUT_RST", "CUT_WITHIN"})
  void cutReplyToACallWithAnIdIsCountedOnceAndItsFirstDecisionReturned(Kind cut) {
    for (Limit limit : KINDS) {
      server.command("FLUSHALL");
      AtomicInteger turn = new AtomicInteger();
      proxy.harming(
          command ->
              command.isScript() && turn.getAndIncrement() % 2 == 0 ? Fault.of(cut) : Fault.NONE);
      try (Limiter limiter = through(limit, Duration.ofSeconds(5))) {
        for (int i = 1; i <= 5; i++) {
          Decision decision = limiter.decide(Call.of("r", ANN).withId("call-" + i));

          assertThat(decision).as("%s", limit).isInstanceOf(Decision.Allowed.class);
          assertThat(decision.balances().get(0).remaining()).as("%s", limit).isEqualTo(MUCH - i);
        }
      }
      proxy.harming(command -> Fault.NONE);
      assertThat(turn.get()).as("%s: each call was sent twice", limit).isGreaterThanOrEqualTo(10);
      assertThat(counted(limit)).as("%s", limit).isEqualTo(5);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Kind.class,
      names = {"CUT_FIN", "CUT_RST", "CUT_WITHIN"})
  void cutReplyToACallWithoutIdIsNeverCountedTwice(Kind cut) {
    for (Limit limit : KINDS) {
      server.command("FLUSHALL");
      try (Limiter limiter = through(limit, Duration.ofSeconds(5))) {
        limiter.decide("r", ANN);
        proxy.harming(command -> command.isScript() ? Fault.of(cut) : Fault.NONE);
        int before = proxy.scriptCalls();
        for (int i = 1; i <= 5; i++) {
          int calls = before + i;
          RedisCluster.await(() -> isCarried(limiter, calls));
        }
        proxy.harming(command -> Fault.NONE);

        assertThat(proxy.scriptCalls() - before).as("%s: calls carried", limit).isEqualTo(5);
        assertThat(counted(limit)).as("%s", limit).isEqualTo(6);
      }
    }
  }

  /**
   * Calls once; returns whether Redis received the call. It does not while there is no connection.
   */
  private boolean isCarried(Limiter limiter, int calls) {
    Decision decision = limiter.decide("r", ANN);

    assertThat(decision).isInstanceOf(Decision.Unmetered.class);
    assertThat(decision.allowed()).isFalse();
    return proxy.scriptCalls() >= calls;
  }

  @Test
  void crowdWithIdsUnderRandomCutsIsCountedOnceEach() {
    Limit limit = KINDS.get(1);
    AtomicInteger turn = new AtomicInteger();
    proxy.harming(
        command ->
            command.isScript() && turn.incrementAndGet() % 7 == 0
                ? Fault.of(turn.get() % 2 == 0 ? Kind.CUT_FIN : Kind.CUT_RST)
                : Fault.NONE);
    Set<String> answered = ConcurrentHashMap.newKeySet();
    List<Crowd.Answer> answers;
    try (Limiter limiter = through(limit, Duration.ofSeconds(5))) {
      answers =
          Crowd.calling(
              8,
              200,
              i -> {
                Decision decision = limiter.decide(Call.of("r", ANN).withId("call-" + i));
                if (decision instanceof Decision.Allowed) {
                  answered.add("call-" + i);
                }
                return decision;
              });
    }
    proxy.harming(command -> Fault.NONE);

    long counted = counted(limit);
    System.out.printf(
        "random cuts: %d calls with ids, %d connections, %d allowed, %d by policy, %d counted%n",
        answers.size(), proxy.connections(), answered.size(), Crowd.byPolicy(answers), counted);
    assertThat(counted).isBetween((long) answered.size(), 200L);
    assertThat(counted - answered.size()).isLessThanOrEqualTo(Crowd.byPolicy(answers));
  }

  @Test
  void lateReplyIsDroppedAndTheNextCallsGetTheirOwn() {
    Limit limit = KINDS.get(0);
    try (Limiter limiter = through(limit, Duration.ofMillis(200))) {
      limiter.decide("r", ANN);
      AtomicInteger turn = new AtomicInteger();
      proxy.harming(
          command ->
              command.isScript() && turn.getAndIncrement() == 0
                  ? Fault.delay(Duration.ofMillis(600))
                  : Fault.NONE);

      Decision late = limiter.decide("r", ANN);
      AtomicReference<Decision> next = new AtomicReference<>();
      RedisCluster.await(
          () -> {
            next.set(limiter.decide(Call.of("r", ANN).peeking()));
            return next.get() instanceof Decision.Allowed;
          });

      assertThat(late).isInstanceOf(Decision.Unmetered.class);
      assertThat(next.get().balances().get(0).remaining()).isEqualTo(MUCH - 2);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "-READONLY You can't write against a read only replica. script: f, on @user_script:1.",
        "-ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You"
            + " can't write against a read only replica."
      })
  void readOnlyOnAnOpenConnectionIsLeftBehindWithinASecond(String error) {
    Limit limit = KINDS.get(3);
    try (Limiter limiter = through(limit, Duration.ofMillis(200))) {
      limiter.decide("r", ANN);
      int old = proxy.connections();
      proxy.harming(
          command ->
              command.isScript() && command.connection() <= old ? Fault.error(error) : Fault.NONE);
      long start = System.nanoTime();
      RedisCluster.await(() -> limiter.decide("r", ANN) instanceof Decision.Allowed);
      double millis = (System.nanoTime() - start) / 1e6;

      System.out.printf("READONLY on an open connection: recovered in %.0f ms%n", millis);
      assertThat(millis).isLessThan(1_000);
      assertThat(proxy.connections()).isGreaterThan(old);
    }
  }
}
