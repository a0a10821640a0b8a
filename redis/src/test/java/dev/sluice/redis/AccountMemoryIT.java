package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.store.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What an account of each kind costs Redis, as docs/redis.md says it for planning.
 *
 * <p>The figure is the growth of {@code used_memory} by 10,000 accounts, divided by them: the keys,
 * their values, and their part of the tables of Redis. It is printed.
 */
@Tag("release")
class AccountMemoryIT {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final int ACCOUNTS = 10_000;
  private static final int IN_FLIGHT = 500;

  /** A row of the table in docs/redis.md, and how to make such accounts. */
  private record Kind(String name, Rule rule, int accounts, int calls, Duration spread) {}

  private static Kind kind(String name, int accounts, int calls, Rule.Builder rule) {
    return new Kind(name, rule.build(), accounts, calls, Duration.ZERO);
  }

  private static Rule.Builder rule() {
    return Rule.builder("signIn").by("login");
  }

  private static List<Kind> kinds() {
    Duration part = Duration.ofMillis(100);
    return List.of(
        kind("token bucket", ACCOUNTS, 1, rule().limit(Limit.tokenBucket(100, 1, HOUR))),
        kind("fixed window", ACCOUNTS, 1, rule().limit(Limit.fixedWindow(100, HOUR))),
        kind(
            "two token buckets and a fixed window",
            ACCOUNTS,
            1,
            rule()
                .limit(Limit.tokenBucket(100, 1, HOUR))
                .limit(Limit.tokenBucket(1_000, 10, HOUR))
                .limit(Limit.fixedWindow(5_000, HOUR))),
        kind(
            "sliding window, one count",
            ACCOUNTS,
            1,
            rule().limit(Limit.slidingWindow(100, HOUR, HOUR.dividedBy(60)))),
        new Kind(
            "sliding window, all of 60 parts used",
            rule().limit(Limit.slidingWindow(1_000_000, part.multipliedBy(60), part)).build(),
            200,
            0,
            part.multipliedBy(61)),
        kind("sliding log of 10 calls", ACCOUNTS, 10, rule().limit(Limit.slidingLog(100, HOUR))),
        kind("sliding log of 100 calls", 1_000, 100, rule().limit(Limit.slidingLog(100, HOUR))),
        kind(
            "token bucket, locked",
            ACCOUNTS,
            2,
            rule().limit(Limit.tokenBucket(1, 1, HOUR)).lock(HOUR)));
  }

  @Test
  void anAccountOfEachKindCostsWhatTheDocumentationSays() throws Exception {
    List<String> wrong = new ArrayList<>();
    for (Kind kind : kinds()) {
      double bytes = bytes(kind);
      int documented = documented(kind.name);
      System.out.printf(
          Locale.ROOT,
          "%s: %.0f bytes an account (documented: %d)%n",
          kind.name,
          bytes,
          documented);
      // Versions of Redis differ in how they allocate; nobody may need much more than planned.
      if (bytes > documented * 1.15 || bytes < documented * 0.6) {
        wrong.add("%s: %.0f (expected: about %d)".formatted(kind.name, bytes, documented));
      }
    }

    assertThat(wrong).isEmpty();
  }

  private static double bytes(Kind kind) {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest())) {
      // The first call loads the library, which belongs to no account.
      long before = fill(redis, kind, List.of(identity(-1)));
      List<Identity> all = new ArrayList<>();
      for (int i = 0; i < kind.accounts; i++) {
        all.add(identity(i));
      }
      long after = fill(redis, kind, all);

      assertThat(Long.parseLong(redis.command("DBSIZE"))).isGreaterThan(kind.accounts);
      return (after - before) / (double) kind.accounts;
    }
  }

  /** Makes the accounts and returns the memory of Redis, without that of the connections. */
  private static long fill(RedisProcess redis, Kind kind, List<Identity> identities) {
    try (Store store = RedisStore.builder(redis.uri()).deadline(Duration.ofSeconds(20)).build()) {
      Limiter limiter = Limiter.of(store, Rules.of(kind.rule));
      long end = System.nanoTime() + kind.spread.toNanos();
      for (int i = 0; i < kind.calls || System.nanoTime() < end; i++) {
        decide(limiter, kind.rule, identities);
      }
    }
    RedisCluster.await(() -> redis.info("clients", "connected_clients") == 1);
    return redis.info("memory", "used_memory");
  }

  private static Identity identity(int number) {
    return Identity.of("login", "caller-%013d".formatted(number)); // 20 letters, as in the bench
  }

  private static void decide(Limiter limiter, Rule rule, List<Identity> identities) {
    for (int from = 0; from < identities.size(); from += IN_FLIGHT) {
      List<CompletableFuture<Decision>> waiting = new ArrayList<>();
      for (Identity each :
          identities.subList(from, Math.min(from + IN_FLIGHT, identities.size()))) {
        waiting.add(limiter.decideAsync(rule.name(), each).toCompletableFuture());
      }
      for (CompletableFuture<Decision> each : waiting) {
        assertThat(each.join().countedBy())
            .isIn(Decision.CountedBy.STORE, Decision.CountedBy.CACHE);
      }
    }
  }

  private static int documented(String kind) throws IOException {
    Matcher row =
        Pattern.compile("(?m)^\\| " + Pattern.quote(kind) + " \\| ([\\d,]+) \\| [\\d.]+ [MG]B \\|")
            .matcher(Files.readString(Path.of("..", "docs", "redis.md")));
    return row.find() ? Integer.parseInt(row.group(1).replace(",", "")) : 0;
  }
}
