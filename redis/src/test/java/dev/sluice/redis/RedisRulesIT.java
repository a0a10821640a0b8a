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
        Limiter limiter = Limiter.of(MemoryStore.create(), other)) {
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
      redis.command("SET", "s1:rules", signIn(0));
      RedisCluster.await(() -> node.failure().isPresent());

      assertThat(node.rules().find("SignIn").terms()).hasToString("3 per 1h");
      redis.command("SET", "s1:rules", signIn(4));
      awaitLimit(node, 4);
      assertThat(node.failure()).isEmpty();
    }
  }
}
