package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.RuleErrors;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class RedisRulesIT {
  private static RedisProcess redis;

  @BeforeAll
  static void start() {
    redis = RedisProcess.start(RedisProcess.newest());
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  private static String signIn(int limit) {
    return "rules:\n  SignIn:\n    by: [login]\n    limit: " + limit + " per 1h\n";
  }

  private static void awaitLimit(RedisRules node, int limit) {
    String wanted = limit + " per 1h";
    RedisCluster.await(
        () ->
            node.rules().find("SignIn") != null
                && node.rules().find("SignIn").terms().toString().equals(wanted));
  }

  @Test
  void publishedRulesAreLiveOnEveryNodeWithinASecondAndKeepUsage() {
    try (RedisRules one = RedisRules.watch(redis.uri());
        RedisRules other = RedisRules.watch(redis.uri());
        Limiter limiter = Limiter.owning(MemoryStore.create(), other)) {
      one.publish(signIn(1));
      awaitLimit(other, 1);
      assertThat(limiter.decide("SignIn", Identity.of("login", "ann")).allowed()).isTrue();
      assertThat(limiter.decide("SignIn", Identity.of("login", "ann")).allowed()).isFalse();

      long published = System.nanoTime();
      one.publish(signIn(2));
      awaitLimit(other, 2);

      assertThat(Duration.ofNanos(System.nanoTime() - published)).isLessThan(Duration.ofSeconds(1));
      assertThat(limiter.decide("SignIn", Identity.of("login", "ann")).allowed()).isTrue();
      assertThat(limiter.decide("SignIn", Identity.of("login", "ann")).allowed()).isFalse();
    }
    try (RedisRules restarted = RedisRules.watch(redis.uri())) {
      awaitLimit(restarted, 2);
    }
  }

  @Test
  void badRulesAreRefusedAndTheOldOnesGoOn() {
    try (RedisRules node = RedisRules.watch(redis.uri())) {
      node.publish(signIn(3));
      awaitLimit(node, 3);

      assertThatThrownBy(() -> node.publish(signIn(0)))
          .isInstanceOf(RuleErrors.class)
          .hasMessageContaining("(expected: at least 1)");
      redis.command("SET", "s2:rules", signIn(0));
      RedisCluster.await(() -> node.failure().isPresent());

      assertThat(node.rules().find("SignIn").terms()).hasToString("3 per 1h");
      redis.command("SET", "s2:rules", signIn(4));
      awaitLimit(node, 4);
      assertThat(node.failure()).isEmpty();
    }
  }

  private static void awaitFailure(RedisRules node, String message) {
    RedisCluster.await(
        () -> node.failure().map(failure -> failure.message().contains(message)).orElse(false));
  }

  @Test
  void deletedRulesArePutBackByARunningNodeSoThatANewOneFindsThem() {
    try (RedisRules node = RedisRules.watch(redis.uri())) {
      node.publish(signIn(5));
      awaitLimit(node, 5);
      long deleted = System.nanoTime();
      redis.command("FLUSHALL");
      awaitFailure(node, "s2:rules was deleted");
      assertThat(Duration.ofNanos(System.nanoTime() - deleted)).isLessThan(Duration.ofSeconds(1));

      assertThat(node.rules().find("SignIn").terms()).hasToString("5 per 1h");
      assertThat(redis.command("GET", "s2:rules")).isEqualTo(signIn(5));
      RedisCluster.await(() -> node.failure().isEmpty());
      try (RedisRules fresh = RedisRules.watch(redis.uri())) {
        awaitLimit(fresh, 5);
      }
    }
  }

  @Test
  void newerRulesAreNotOverwrittenByANodeThatPutsItsOwnBack() {
    try (RedisRules node = RedisRules.watch(redis.uri())) {
      node.publish(signIn(5));
      awaitLimit(node, 5);
      redis.command("DEL", "s2:rules");
      redis.command("SET", "s2:rules", signIn(6));
      awaitLimit(node, 6);
      assertThat(redis.command("GET", "s2:rules")).isEqualTo(signIn(6));
    }
  }

  @Test
  void nodeThatFindsNoRulesAtItsStartSaysSo() {
    redis.command("DEL", "s2:rules");
    try (RedisRules node = RedisRules.watch(redis.uri())) {
      assertThat(node.failure())
          .hasValueSatisfying(
              failure ->
                  assertThat(failure.message()).contains("s2:rules: no rules are published"));
      assertThat(redis.command("EXISTS", "s2:rules")).isEqualTo("0");
      node.publish(signIn(1));
      awaitLimit(node, 1);
      RedisCluster.await(() -> node.failure().isEmpty());
    }
  }

  @Test
  void valueThatIsNoTextOrTooLargeIsAClearFailure() {
    try (RedisRules node = RedisRules.watch(redis.uri())) {
      node.publish(signIn(7));
      awaitLimit(node, 7);
      redis.command("DEL", "s2:rules");
      redis.command("RPUSH", "s2:rules", "a list");
      awaitFailure(node, "s2:rules is not a string (expected: the text of a rule file)");
      redis.command("SET", "s2:rules", "");
      awaitFailure(node, "s2:rules was empty");
      redis.command("EVAL", "redis.call('SET', KEYS[1], ('#'):rep(3000000))", "1", "s2:rules");
      awaitFailure(node, "s2:rules has too many bytes (expected: at most 1,048,576)");
      assertThat(node.rules().find("SignIn").terms()).hasToString("7 per 1h");
      assertThatThrownBy(() -> node.publish("#é".repeat(400_000)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("s2:rules has too many bytes (expected: at most 1,048,576)");
      node.publish(signIn(8));
      awaitLimit(node, 8);
      RedisCluster.await(() -> node.failure().isEmpty());
    }
  }
}
