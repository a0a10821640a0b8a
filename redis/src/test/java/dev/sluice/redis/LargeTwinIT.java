package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Accounts with thousands of entries and parts, in both stores: every field of every answer is
 * equal. Redis knows the weight of many entries by their sums, and what parts hold by totals.
 */
@ExtendWith(RedisServers.class)
class LargeTwinIT {
  private static final int HISTORIES = Integer.getInteger("sluice.largeTwins", 12);
  private static final long SEED = Long.getLong("sluice.from", System.nanoTime());
  private static final int CALLS = 2_000;
  private static final int STEPS = 80;

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void largeAccountsGiveTheSameAnswersInBothStores(Binary binary) {
    RedisProcess redis = RedisServers.single(binary);
    System.out.printf("LargeTwinIT: %d histories, -Dsluice.from=%d%n", HISTORIES, SEED);
    long[] now = {0};
    try (LettuceStore shared =
        RedisStore.builder(redis.uri()).testClock(() -> now[0]).buildBare()) {
      for (int i = 0; i < HISTORIES; i++) {
        redis.command("FLUSHALL");
        new History(SEED + i, now, shared).play();
      }
    }
    assertThat(redis.keysWithoutTtl()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void totalsOfAWindowDoNotWrapAroundHoweverMuchIsRecorded(Binary binary) {
    long most = 100_000_000;
    Duration part = Duration.ofSeconds(1);
    Limit limit = Limit.slidingWindow(most, part.multipliedBy(60), part);
    Terms terms = new Terms(List.of(limit), null, false);
    Rule rule = Rule.builder("r").limit(limit).build();
    RedisProcess redis = RedisServers.single(binary);
    redis.command("FLUSHALL");
    long[] now = {1_790_000_000_000_000L};
    try (LettuceStore shared =
        RedisStore.builder(redis.uri()).testClock(() -> now[0]).buildBare()) {
      for (int second = 0; second <= 44; second++) {
        Charge charge = new Charge(rule, Identity.of("who", "ann"), terms, second < 44 ? most : 1);
        Intent intent = second == 0 ? Intent.TAKE : Intent.RECORD;
        Plan plan = new Plan(List.of(charge), intent, null, OnStoreFailure.ALLOW);
        assertThat(shared.take(plan).toCompletableFuture().join().allowed()).isTrue();
        now[0] += 1_000_000;
      }
      now[0] += 16_000_000;
      Charge rest = new Charge(rule, Identity.of("who", "ann"), terms, 2);
      Plan plan = new Plan(List.of(rest), Intent.TAKE, null, OnStoreFailure.ALLOW);

      Decision decision = shared.take(plan).toCompletableFuture().join();

      assertThat(decision.allowed()).isFalse();
      assertThat(decision.balances().get(0).remaining()).isZero();
    }
  }

  private static final class History {
    private final SplittableRandom random;
    private final long[] now;
    private final LettuceStore shared;
    private final MemoryStore memory;
    private final Identity ann = Identity.of("who", "ann");
    private final List<Terms> terms = new ArrayList<>();
    private final Rule rule;
    private final long window;
    private final boolean isMixed;
    private final boolean isLog;
    private final int shift; // so that totals come close to 32 bits, or need more
    private final List<Receipt[]> receipts = new ArrayList<>();
    private final StringBuilder told = new StringBuilder();

    History(long seed, long[] now, LettuceStore shared) {
      this.random = new SplittableRandom(seed);
      this.now = now;
      this.shared = shared;
      now[0] = 1_790_000_000_000_000L + random.nextLong(10_000_000_000L);
      this.memory = MemoryStore.create(() -> Instant.EPOCH.plus(now[0], ChronoUnit.MICROS));
      this.window = 1_000_000L * (1 + random.nextInt(4_000));
      this.isMixed = !chance(4);
      this.isLog = !chance(3);
      this.shift = List.of(0, 17, 38).get(random.nextInt(3));
      for (int i = 0; i < 2; i++) {
        terms.add(new Terms(List.of(limit(i)), null, chance(4)));
      }
      this.rule = Rule.builder("r").limit(terms.get(0).limits().get(0)).build();
      told.append("seed ").append(seed).append(' ').append(terms).append('\n');
    }

    private Limit limit(int nth) {
      long most = (isMixed ? 8_000L : 2_000L) + random.nextInt(4_000);
      Duration span = Durations.ofMicros(nth == 0 ? window : window / 2 + random.nextLong(window));
      if (isLog) {
        return Limit.slidingLog(most, span);
      }
      long parts = 2L + random.nextInt(3_598);
      long micros = Durations.micros(span);
      return Limit.slidingWindow(
          most << shift, span, Durations.ofMicros((micros + parts - 1) / parts));
    }

    void play() {
      for (int i = 0; i < CALLS; i++) {
        now[0] += chance(3) ? 0 : random.nextLong(2 * window / CALLS);
        ask(Intent.TAKE, cost(), 0);
      }
      for (int i = 0; i < STEPS; i++) {
        now[0] +=
            switch (random.nextInt(8)) {
              case 0 -> 0;
              case 1, 2 -> 1;
              case 3, 4 -> random.nextLong(window / 50);
              case 5 -> random.nextLong(window / 2);
              case 6 -> chance(3) ? -random.nextLong(window / 8) : 1;
              default -> chance(6) ? window : random.nextLong(window / 500);
            };
        act();
      }
    }

    private boolean chance(int oneIn) {
      return random.nextInt(oneIn) == 0;
    }

    private long cost() {
      return !isMixed || chance(2) ? 1 : 1L + random.nextInt(chance(50) ? 900 : 8);
    }

    private void act() {
      int which = random.nextInt(10);
      int nth = chance(15) ? 1 : 0;
      long most = terms.get(nth).limits().get(0).quota();
      if (which < 2 && !receipts.isEmpty()) {
        settle();
      } else if (which == 2) {
        ask(Intent.RECORD, 1 + random.nextLong(most / (chance(3) ? 1 : 20)), nth);
      } else if (which < 6) {
        ask(Intent.PEEK, 1 + random.nextLong(most), nth);
      } else if (which < 8) {
        ask(Intent.TAKE, 1 + random.nextLong(most), nth);
      } else {
        ask(Intent.TAKE, cost(), nth);
      }
    }

    private void ask(Intent intent, long cost, int nth) {
      told.append(now[0]).append(' ').append(intent).append(' ').append(cost);
      told.append(nth == 0 ? "\n" : " by the other terms\n");
      Charge charge = new Charge(rule, ann, terms.get(nth), cost);
      Plan plan = new Plan(List.of(charge), intent, null, OnStoreFailure.ALLOW);
      Decision found = join(shared.take(plan));
      Decision expected = join(memory.take(plan));
      same(found.allowed(), expected.allowed());
      same(found.balances(), expected.balances());
      if (expected instanceof Decision.Allowed a && found instanceof Decision.Allowed b) {
        if (!a.receipt().entries().isEmpty()) {
          receipts.add(new Receipt[] {a.receipt(), b.receipt()});
        }
      }
    }

    private void settle() {
      Receipt[] pair = receipts.get(random.nextInt(receipts.size()));
      long cost = pair[0].entries().get(0).cost();
      long actual = chance(2) ? 0 : random.nextLong(cost + 40);
      Settlement settlement = new Settlement(actual, Map.of(), Set.of());
      told.append(now[0]).append(" settle ").append(pair[0]).append(' ').append(settlement);
      same(join(shared.settle(pair[1], settlement)), join(memory.settle(pair[0], settlement)));
    }

    private void same(Object found, Object expected) {
      assertThat(found)
          .as(
              () ->
                  "Redis against memory, after\n"
                      + told.substring(Math.max(0, told.length() - 4_000))
                      + told.substring(0, 200))
          .isEqualTo(expected);
    }

    private static <T> T join(CompletionStage<T> stage) {
      return stage.toCompletableFuture().join();
    }
  }
}
