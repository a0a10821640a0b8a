package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.Plan;
import dev.sluice.Rule;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Plans that are sent at once share script calls, many of them for the same accounts: each decision
 * must follow from those before it, in some order.
 */
@ExtendWith(RedisServers.class)
class TogetherIT {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final int ROUNDS = 60;
  private static final int PLANS = 400;

  private static final Rule QUICK = Rule.named("quick").limit(Limit.bucket(90, 1, HOUR)).build();
  private static final Rule PLAIN =
      Rule.named("plain")
          .limit(Limit.bucket(120, 7, Duration.ofMinutes(1)))
          .limit(Limit.fixed(100, HOUR))
          .build();
  private static final Rule WHOLE = Rule.named("whole").limit(Limit.log(80, HOUR)).build();

  private record Sent(Plan plan, CompletableFuture<Decision> answer) {}

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void plansSentAtOnceAddUp(Binary binary) {
    RedisProcess server = RedisServers.single(binary);
    server.command("FLUSHALL");
    server.command("CONFIG", "RESETSTAT");
    long[] now = {1_790_000_000_000_000L};
    SplittableRandom random = new SplittableRandom(7);
    int allowed = 0;
    try (RedisStore store = RedisStore.at(server.uri()).testClock(() -> now[0]).openBare()) {
      for (int round = 0; round < ROUNDS; round++) {
        now[0] += 1 + random.nextInt(1_000);
        List<Sent> sent = new ArrayList<>();
        for (int i = 0; i < PLANS; i++) {
          Plan plan = plan(random, "round-" + round);
          sent.add(new Sent(plan, store.take(plan).toCompletableFuture()));
        }
        allowed += addUp(sent);
      }
    }
    assertThat(allowed).isBetween(ROUNDS * PLANS / 10, ROUNDS * PLANS * 9 / 10);
    assertThat(server.info("commandstats", "cmdstat_evalsha"))
        .as("plans share calls")
        .isLessThan(ROUNDS * PLANS / 4);
  }

  /** One or two charges, now and then on the same rule. */
  private static Plan plan(SplittableRandom random, String round) {
    long cost = random.nextInt(4) == 0 ? 1 + random.nextInt(5) : 1;
    Map<Account, Charge> charges = new LinkedHashMap<>();
    for (int i = random.nextInt(3) == 0 ? 2 : 1; i > 0; i--) {
      Rule rule = List.of(QUICK, QUICK, QUICK, PLAIN, PLAIN, WHOLE).get(random.nextInt(6));
      Identity who = Identity.of("who", round + "-" + random.nextInt(2));
      charges.put(new Account(rule.name(), who), new Charge(rule, who, rule.terms(), cost));
    }
    return new Plan(List.copyOf(charges.values()), Intent.TAKE, null, OnStoreFailure.DENY);
  }

  /** Checks that every decision follows from others; returns how many were allowed. */
  private static int addUp(List<Sent> sent) {
    Map<List<Object>, List<long[]>> taken = new LinkedHashMap<>(); // of each limit: remaining, cost
    int allowed = 0;
    for (Sent each : sent) {
      Decision decision = each.answer.join();
      for (Balance balance : decision.allowed() ? decision.balances() : List.<Balance>of()) {
        taken
            .computeIfAbsent(limitOf(balance), none -> new ArrayList<>())
            .add(new long[] {balance.remaining(), each.plan.charges().get(0).cost()});
      }
      allowed += decision.allowed() ? 1 : 0;
    }
    taken.forEach(
        (limit, all) -> {
          all.sort(Comparator.comparingLong(one -> -one[0]));
          long left = ((Limit) limit.get(1)).quota();
          for (long[] one : all) {
            left -= one[1];
            assertThat(one[0]).as("what remains of %s", limit).isEqualTo(left);
          }
        });
    for (Sent each : sent) {
      Decision decision = each.answer.join();
      if (!decision.allowed()) {
        long cost = each.plan.charges().get(0).cost();
        assertThat(decision.balances())
            .as("nothing was left for %s", each.plan)
            .anyMatch(balance -> least(taken.get(limitOf(balance)), balance) < cost);
      }
    }
    return allowed;
  }

  private static long least(List<long[]> taken, Balance balance) {
    return taken == null ? balance.limit().quota() : taken.get(taken.size() - 1)[0];
  }

  private static List<Object> limitOf(Balance balance) {
    return List.of(balance.account(), balance.limit());
  }
}
