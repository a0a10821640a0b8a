package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.contract.Scene;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A key stays until what it remembers is over, and not much longer, however it was written. */
@ExtendWith(RedisServers.class)
class TtlIT {
  private static final Duration TOKEN = Duration.ofSeconds(70);
  private static final long MINUTE = Duration.ofMinutes(1).toMillis();
  private static final long MEANWHILE = Duration.ofSeconds(20).toMillis(); // of a busy machine

  private static final List<Rule> RULES =
      List.of(
          Rule.builder("short").by("who").limit(Limit.tokenBucket(900, 1, TOKEN)).build(),
          Rule.builder("shorts").by("who", "where").limit(Limit.tokenBucket(900, 1, TOKEN)).build(),
          Rule.builder("thirds")
              .by("who", "where")
              .limit(Limit.tokenBucket(900, 3, TOKEN.multipliedBy(3).plusNanos(1_000)))
              .build(),
          Rule.builder("packed")
              .by("who")
              .limit(Limit.tokenBucket(900, 1, TOKEN))
              .limit(Limit.fixedWindow(900, Duration.ofHours(1)))
              .build(),
          Rule.builder("long")
              .by("who")
              .limit(Limit.tokenBucket(900, 1, TOKEN))
              .limit(Limit.slidingWindow(900, Duration.ofHours(1)))
              .build());

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void keysOutliveWhatTheyRemember(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    server.command("FLUSHALL");
    SplittableRandom random = new SplittableRandom(3);
    try (Limiter limiter =
        Limiter.owning(
            RedisStore.builder(server.uri()).deadline(Duration.ofSeconds(5)).build(),
            Rules.of(RULES.toArray(new Rule[0])))) {
      for (int i = 0; i < 400; i++) {
        Rule rule = RULES.get(random.nextInt(RULES.size()));
        String name = "n" + random.nextInt(2);
        Decision decision =
            limiter.decide(
                Call.of(rule.name(), Identity.of("who", name, "where", name))
                    .costing(1 + random.nextInt(3)));
        assertThat(decision).isInstanceOf(Decision.Allowed.class);

        Map<Account, Long> ends =
            decision.balances().stream()
                .collect(
                    Collectors.toMap(
                        Balance::account, each -> each.resetAfterMicros() / 1_000, Math::max));
        ends.forEach(
            (account, left) ->
                assertThat(Long.parseLong(server.command("PTTL", Keyspace.UNKEYED.key(account))))
                    .as("%s, over in %d ms", account, left)
                    .isBetween(left + MINUTE - MEANWHILE, left + 6 * MINUTE + 1_000));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void keyOutlivesTheMemoryOfItsLock(Binary binary) {
    Lock lock = new Lock(List.of(Duration.ofSeconds(1)), Duration.ofHours(2));
    Rule rule =
        Rule.builder("locked").by("who").limit(Limit.tokenBucket(1, 1, TOKEN)).lock(lock).build();
    Charge charge = new Charge(rule, Identity.of("who", "ann"), rule.terms(), 1);
    try (LettuceStore store = RedisStore.builder(RedisServers.single(binary).uri()).buildBare()) {
      await(store.take(Plan.of(charge)));
      assertThat(await(store.take(Plan.of(charge))).locked()).isTrue();

      assertThat(millisLeft(binary, charge.account()))
          .isGreaterThan(lock.memory().toMillis() + MINUTE - MEANWHILE);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void keyOutlivesTheHoldOfAReservation(Binary binary) {
    Duration hold = Duration.ofHours(2);
    Rule rule = Rule.builder("held").by("who").limit(Limit.tokenBucket(1, 1, TOKEN)).build();
    Identity ann = Identity.of("who", "ann");
    Charge charge = new Charge(rule, ann, rule.terms(), 1);
    Plan plan =
        new Plan(List.of(charge), Intent.RESERVE, null, rule.onStoreFailure(), ann, "", hold);
    try (LettuceStore store = RedisStore.builder(RedisServers.single(binary).uri()).buildBare()) {
      assertThat(await(store.take(plan)).allowed()).isTrue();

      assertThat(millisLeft(binary, charge.account()))
          .isGreaterThan(hold.toMillis() + MINUTE - MEANWHILE);
    }
  }

  private static long millisLeft(Binary binary, Account account) {
    return Long.parseLong(
        RedisServers.single(binary).command("PTTL", Keyspace.UNKEYED.key(account)));
  }

  private static <T> T await(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void receiptFromBeforeItsRowWasLostRefundsNoMoreThanItsOwn(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    server.command("FLUSHALL");
    MovableClock clock = MovableClock.at(Scene.START);
    Scene scene =
        new Scene(clock, RedisStore.builder(server.uri()).testClock(clock::micros).buildBare());
    Rule rule = Scene.rule(Limit.tokenBucket(6, 1, Duration.ofMinutes(1)));
    Receipt first = scene.receipt(rule, 1);
    scene.take(rule, 1);
    Scene.await(scene.limiter(rule).refundAsync(first));
    Receipt second = scene.receipt(rule, 2);
    server.command("FLUSHALL");
    scene.take(rule, 6);
    clock.advance(Duration.ofMinutes(1));

    Scene.await(scene.limiter(rule).refundAsync(second));

    assertThat(scene.left(rule)).isEqualTo(2); // one refilled, and one of the two cannot have
    scene.store.close();
  }
}
