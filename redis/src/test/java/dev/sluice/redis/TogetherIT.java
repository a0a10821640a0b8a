package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
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

  /** From here on, the number that a bucket is has a digit more. */
  private static final long DIGIT_MORE = 1_867_225_600_000_000L;

  private static final Rule QUICK =
      Rule.builder("quick").limit(Limit.tokenBucket(10, 1, HOUR)).build();
  private static final Rule PLAIN =
      Rule.builder("plain")
          .limit(Limit.tokenBucket(120, 7, Duration.ofMinutes(1)))
          .limit(Limit.fixedWindow(100, HOUR))
          .build();
  private static final Rule WHOLE = Rule.builder("whole").limit(Limit.slidingLog(80, HOUR)).build();

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
    try (LettuceStore store =
        RedisStore.builder(server.uri()).testClock(() -> now[0]).buildBare()) {
      for (int round = 0; round < ROUNDS; round++) {
        now[0] = (round == ROUNDS / 2 ? DIGIT_MORE : now[0]) + 1 + random.nextInt(1_000);
        List<Sent> sent = new ArrayList<>();
        for (int i = 0; i < PLANS; i++) {
          Plan plan = plan(random, "round-" + round);
          sent.add(new Sent(plan, store.take(plan).toCompletableFuture()));
        }
        allowed += addUp(sent, store);
        now[0] += TimeUnit.HOURS.toMicros(1);
        for (int i = 0; i < 2; i++) {
          assertOneIsBack(who("round-" + round, i), sent, store);
        }
      }
    }
    assertThat(allowed).isBetween(ROUNDS * PLANS / 10, ROUNDS * PLANS * 9 / 10);
    assertThat(server.libraryCalls()).as("plans share calls").isLessThan(ROUNDS * PLANS / 4);
  }

  private static Identity who(String round, int number) {
    return Identity.of("who", round + "-" + number);
  }

  /** An hour later: a bucket that lacked more than it should, without showing it, shows it now. */
  private static void assertOneIsBack(Identity who, List<Sent> sent, LettuceStore store) {
    Account account = new Account(QUICK.name(), who);
    long left =
        sent.stream()
            .map(each -> each.answer.join())
            .filter(Decision::allowed)
            .flatMap(decision -> decision.balances().stream())
            .filter(balance -> balance.account().equals(account))
            .mapToLong(Balance::remaining)
            .min()
            .orElseThrow();
    Charge charge = new Charge(QUICK, who, QUICK.terms(), 1);
    assertThat(look(List.of(charge), store).join().balances().get(0).remaining())
        .isEqualTo(left + 1);
  }

  private static CompletableFuture<Decision> look(List<Charge> charges, LettuceStore store) {
    Plan plan = new Plan(charges, Intent.PEEK, null, OnStoreFailure.DENY);
    return store.take(plan).toCompletableFuture();
  }

  /** One or two charges, now and then on the same rule. */
  private static Plan plan(SplittableRandom random, String round) {
    long cost = random.nextInt(4) == 0 ? 1 + random.nextInt(5) : 1;
    Map<Account, Charge> charges = new LinkedHashMap<>();
    for (int i = random.nextInt(3) == 0 ? 2 : 1; i > 0; i--) {
      Rule rule = List.of(QUICK, QUICK, QUICK, PLAIN, PLAIN, WHOLE).get(random.nextInt(6));
      Identity who = who(round, random.nextInt(2));
      charges.put(new Account(rule.name(), who), new Charge(rule, who, rule.terms(), cost));
    }
    return new Plan(List.copyOf(charges.values()), Intent.TAKE, null, OnStoreFailure.DENY);
  }

  /**
   * Checks that every decision follows from others, and that nothing else was taken; returns how
   * many were allowed.
   */
  private static int addUp(List<Sent> sent, LettuceStore store) {
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
    List<CompletableFuture<Decision>> looks =
        sent.stream().map(each -> look(each.plan.charges(), store)).toList();
    for (CompletableFuture<Decision> look : looks) {
      for (Balance balance : look.join().balances()) {
        assertThat(balance.remaining()).isEqualTo(least(taken.get(limitOf(balance)), balance));
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
