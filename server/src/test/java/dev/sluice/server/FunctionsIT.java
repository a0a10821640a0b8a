package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.testing.Needs;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** {@code ./sluice functions}, against a real Redis. */
class FunctionsIT {
  private static final Rule RULE =
      Rule.builder("r").by("member").limit(Limit.fixedWindow(9, Duration.ofDays(1))).build();
  private static final String OLD = "sluice_0123456789abcdef";

  @Test
  @Needs("redis-server")
  void oldLibrariesAreListedAndRemoved() {
    try (RedisProcess redis = RedisProcess.start(Binary.SYSTEM);
        Limiter limiter = Limiter.owning(RedisStore.connect(redis.uri()), Rules.of(RULE))) {
      limiter.decide(Call.of("r", Identity.of("member", "ann")));
      String current =
          redis
              .command("FUNCTION", "LIST")
              .lines()
              .filter(line -> line.matches("sluice_[0-9a-f]{16}"))
              .findFirst()
              .orElseThrow();
      redis.command(
          "FUNCTION",
          "LOAD",
          "#!lua name=%s\nredis.register_function('%s', function() return 1 end)"
              .formatted(OLD, OLD));
      long now = Long.parseLong(redis.command("TIME").lines().findFirst().orElseThrow());
      redis.command("ZADD", "s2:libraries", Long.toString(now - 11_520), OLD);
      redis.command("ZADD", "s2:libraries", Long.toString(now), current);

      CommandsTest.Ended listed = CommandsTest.run("functions", "list", "--redis", redis.uri());
      CommandsTest.Ended kept =
          CommandsTest.run("functions", "prune", "--redis", redis.uri(), "--unused-for", "4h");
      CommandsTest.Ended pruned = CommandsTest.run("functions", "prune", "--redis", redis.uri());
      CommandsTest.Ended again = CommandsTest.run("functions", "prune", "--redis", redis.uri());

      assertThat(listed.err()).isEmpty();
      assertThat(listed.status()).isZero();
      assertThat(listed.out())
          .startsWith("LIBRARY                  LAST USED")
          .containsPattern(OLD + "  3h12m(\\d+s)? ago +1 of 1\n")
          .containsPattern(current + "  \\d+s ago +1 of 1\n");
      assertThat(kept.out()).contains("kept " + OLD, "kept " + current, "nothing to remove");
      assertThat(pruned.status()).isZero();
      assertThat(pruned.out())
          .startsWith("removed " + OLD + ", last used 3h12m")
          .contains("kept " + current + ", last used ");
      assertThat(again.out()).doesNotContain(OLD).contains("nothing to remove");
      assertThat(redis.command("FUNCTION", "LIST")).contains(current).doesNotContain(OLD);
    }
  }

  @Test
  void redisWithoutFunctionsSaysSo() {
    try (RedisProcess redis = RedisProcess.start(Binary.ARTIFACT)) {
      CommandsTest.Ended ended = CommandsTest.run("functions", "prune", "--redis", redis.uri());

      assertThat(ended.status()).isEqualTo(1);
      assertThat(ended.err())
          .isEqualTo(
              "sluice: Redis at 127.0.0.1:%d has no functions (expected: Redis 7 or newer): there is nothing to remove\n"
                  .formatted(redis.port()));
    }
  }

  @Test
  void whatCannotBeDoneIsSaid() throws Exception {
    CommandsTest.Ended away =
        CommandsTest.run("functions", "list", "--redis", "redis://127.0.0.1:" + Program.freePort());
    CommandsTest.Ended soon =
        CommandsTest.run("functions", "prune", "--redis", "redis://x", "--unused-for", "30s");
    CommandsTest.Ended nowhere = CommandsTest.run("functions", "list");

    assertThat(away.status()).isEqualTo(1);
    assertThat(away.err()).startsWith("sluice: Redis at 127.0.0.1:").contains("cannot be reached");
    assertThat(soon.status()).isEqualTo(2);
    assertThat(soon.err())
        .startsWith(
            "sluice: unused-for: 30s (expected: at least 2h, since nodes report once an hour)");
    assertThat(nowhere.status()).isEqualTo(2);
    assertThat(nowhere.err()).contains("--redis");
  }
}
