package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.LockPage;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.Crowd;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Locks are listed by their index, in pages, beside decisions and never in front of them. */
@ExtendWith(RedisServers.class)
class LocksIT {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final long NOW = 1_790_000_000_000_000L;
  private static final int MANY = 14_000;

  private RedisProcess server;

  @BeforeEach
  void empty() {
    server = RedisServers.single(newest());
    server.command("FLUSHALL");
  }

  private static Account account(String rule, int i) {
    return new Account(rule, Identity.of("member", "m" + i));
  }

  private static <T> T await(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  /** Sets locks, many at once. */
  private static List<Restriction> lockAll(
      Store store, int many, IntFunction<Account> account, IntFunction<Duration> length) {
    List<CompletableFuture<Restriction>> set =
        IntStream.range(0, many)
            .mapToObj(
                i ->
                    store
                        .lock(account.apply(i), length.apply(i), "reason " + i)
                        .toCompletableFuture())
            .toList();
    return set.stream().map(CompletableFuture::join).toList();
  }

  /** All pages, one behind the other. */
  private static List<Restriction> listAll(Store store, String rule, int limit, long total) {
    List<Restriction> all = new ArrayList<>();
    String next = null;
    do {
      LockPage page = await(store.locks(rule, limit, next));
      assertThat(page.total()).isEqualTo(total);
      assertThat(page.locks()).hasSizeBetween(total == 0 ? 0 : 1, limit);
      all.addAll(page.locks());
      next = page.next();
    } while (next != null);
    return all;
  }

  private static List<Restriction> sorted(Collection<Restriction> locks) {
    return locks.stream()
        .sorted((a, b) -> LockPage.Place.of(a).compareTo(LockPage.Place.of(b)))
        .toList();
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void everyLockIsOnOnePageInTheOrderOfItsEndAlsoWhenManyEndTogether(Binary binary) {
    server = RedisServers.single(binary);
    server.command("FLUSHALL");
    try (LettuceStore store = RedisStore.builder(server.uri()).testClock(() -> NOW).buildBare()) {
      // Two of three end together; some of them are of a colocated rule.
      List<Restriction> set =
          lockAll(
              store,
              1_500,
              i ->
                  new Account(
                      i % 2 == 0 ? "even" : "odd", Identity.of("member", "m" + i), i % 5 == 0),
              i -> i % 3 == 0 ? HOUR.plusSeconds(i) : HOUR);

      for (int limit : new int[] {1_000, 97, 7}) {
        assertThat(listAll(store, null, limit, 1_500))
            .as("pages of %d", limit)
            .isEqualTo(sorted(set));
      }
      List<Restriction> even =
          set.stream().filter(lock -> lock.account().rule().equals("even")).toList();
      assertThat(listAll(store, "even", 100, 750)).isEqualTo(sorted(even));
      assertThat(listAll(store, "none", 100, 0)).isEmpty();
      assertThatThrownBy(() -> store.locks(null, 0, null))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("expected: 1 to 1000");
      assertThatThrownBy(() -> store.locks(null, 10, "x"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("expected: the `next` of a page of locks");
    }
    RedisServers.assertEveryKeyHasTtl(server);
  }

  @Test
  void resetLiftAndTheEndTakeALockOutOfTheIndex() {
    long[] now = {NOW};
    try (LettuceStore store =
        RedisStore.builder(server.uri()).testClock(() -> now[0]).buildBare()) {
      lockAll(store, 300, i -> account("r", i), i -> i < 100 ? HOUR : HOUR.multipliedBy(2));
      IntStream.range(200, 300)
          .forEach(
              i ->
                  await(
                      i % 2 == 0
                          ? store.lift(account("r", i), false)
                          : store.reset(account("r", i))));
      assertThat(listAll(store, null, 1_000, 200)).hasSize(200);

      now[0] += TimeUnit.HOURS.toMicros(1);
      assertThat(listAll(store, null, 1_000, 100)).hasSize(100);
      assertThat(indexed()).as("ended locks are left to whoever sets the next").isEqualTo(200);
      lockAll(store, 300, i -> account("later", i), i -> HOUR);
      assertThat(indexed()).isEqualTo(400);
    }
  }

  private long indexed() {
    return IntStream.range(0, Keyspace.PARTITIONS)
        .mapToLong(i -> Long.parseLong(server.command("ZCARD", Keyspace.locksKey(i))))
        .sum();
  }

  @Test
  void keyOfTheIndexOutlivesItsLastLockAndNotByMuch() {
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare()) {
      Account ann = account("r", 1);
      String index = Keyspace.locksKey(Keyspace.UNKEYED.partition(ann));
      await(store.lock(ann, Duration.ofSeconds(1), "short"));
      await(store.lock(ann, HOUR, "long"));
      await(store.lock(ann, Duration.ofSeconds(1), "short"));
      assertThat(Long.parseLong(server.command("PTTL", index)))
          .isBetween(HOUR.toMillis(), HOUR.plusMinutes(2).toMillis());
    }
  }

  @Test
  void lockWithoutItsAnnouncementIsListedWithoutAReason() {
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare()) {
      Account ann = account("r", 1);
      Restriction lock = await(store.lock(ann, HOUR, "fraud"));
      server.command("DEL", Keyspace.lockKey(Keyspace.UNKEYED.key(ann)));
      assertThat(await(store.locks(null, 10, null)).locks())
          .containsExactly(new Restriction(ann, null, lock.until(), ""));
    }
  }

  @Test
  void earnedLockIsIndexedByTheCallThatEarnedIt() {
    Rules rules =
        Rules.of(
            Rule.builder("r").by("member").limit(Limit.tokenBucket(1, 1, HOUR)).lock(HOUR).build(),
            Rule.builder("together")
                .by("member")
                .limit(Limit.slidingLog(1, HOUR))
                .lock(HOUR)
                .colocate()
                .build());
    try (LettuceStore store = RedisStore.builder(server.uri()).buildBare();
        Limiter limiter = Limiter.owning(store, rules)) {
      List<Restriction> expected = new ArrayList<>();
      for (String rule : List.of("r", "together")) {
        for (int i = 0; i < 3; i++) {
          Identity who = Identity.of("member", "m" + i);
          assertThat(limiter.decide(rule, who).allowed()).isTrue();
          Decision denied = limiter.decide(rule, who);
          long until = denied.balances().get(0).lockedUntilMicros();
          expected.add(
              new Restriction(
                  new Account(rule, who, rule.equals("together")),
                  Instant.EPOCH.plus(until, ChronoUnit.MICROS).minus(HOUR),
                  Instant.EPOCH.plus(until, ChronoUnit.MICROS),
                  "used up " + denied.balances().get(0).limit()));
        }
      }
      assertThat(listAll(store, null, 4, 6)).isEqualTo(sorted(expected));
    }
  }

  @Test
  void redisThatDoesNotAnswerFailsTheListWithinFiveSecondsAndIsNamed() {
    try (RedisProcess own = RedisProcess.start(newest());
        LettuceStore store = RedisStore.builder(own.uri()).buildBare();
        LettuceStore other = RedisStore.builder(own.uri()).buildBare()) {
      await(store.lock(account("r", 1), HOUR, "fraud"));
      await(other.lift(account("r", 1), false));
      own.pause();
      long start = System.nanoTime();
      CompletableFuture<Restriction> lock =
          other.lock(account("r", 2), HOUR, "fraud").toCompletableFuture();
      assertThatThrownBy(() -> await(store.locks(null, 10, null)))
          .hasCauseInstanceOf(StoreFault.class)
          .hasMessageContaining("Redis at 127.0.0.1:" + own.port())
          .satisfies(
              error -> assertThat(((StoreFault) error.getCause()).kind()).isEqualTo("timeout"));
      assertThatThrownBy(lock::join)
          .hasCauseInstanceOf(StoreFault.class)
          .hasMessageContaining("Redis at 127.0.0.1:" + own.port());
      assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(15));
      own.resume();
    }
  }

  @Test
  void decisionsAreCountedWhileFourteenThousandLocksAreListedInALoop() {
    Rules rules =
        Rules.of(
            Rule.builder("r").by("member").limit(Limit.tokenBucket(1_000_000, 1, HOUR)).build());
    try (Store store = RedisStore.connect(server.uri());
        Limiter limiter = Limiter.owning(store, rules)) {
      List<Restriction> set = lockAll(store, MANY, i -> account("locked", i), i -> HOUR);
      Set<Account> locked = new HashSet<>();
      set.forEach(lock -> locked.add(lock.account()));
      assertThat(locked).hasSize(MANY);

      AtomicBoolean goesOn = new AtomicBoolean(true);
      CompletableFuture<List<Crowd.Answer>> calling =
          Crowd.calling(
              4,
              Duration.ofMillis(1),
              goesOn::get,
              () ->
                  limiter.decide(
                      "r",
                      Identity.of("member", "m" + ThreadLocalRandom.current().nextInt(1_000))));
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(6);
      int lists = 0;
      while (System.nanoTime() < end || lists == 0) {
        assertThat(await(store.locks(null, 1, null)).total()).isEqualTo(MANY);
        List<Restriction> listed = listAll(store, null, LockPage.LARGEST, MANY);
        assertThat(listed).hasSize(MANY);
        assertThat(listed.stream().map(Restriction::account).collect(Collectors.toSet()))
            .isEqualTo(locked);
        lists++;
      }
      goesOn.set(false);
      List<Crowd.Answer> answers = calling.join();

      System.out.printf(
          "%d decisions while %d locks were listed %d times: median %.1f ms, 99.9 %% within %.0f ms%n",
          answers.size(), MANY, lists, Crowd.millis(answers, 500), Crowd.millis(answers, 999));
      assertThat(answers)
          .allMatch(answer -> answer.decision() instanceof Decision.Allowed)
          .allMatch(answer -> answer.decision().countedBy() == Decision.CountedBy.STORE);
    }
  }
}
