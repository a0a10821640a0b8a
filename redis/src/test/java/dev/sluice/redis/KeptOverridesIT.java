package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.KeptOverride;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.Until;
import dev.sluice.rules.source.KeptOverrides;
import dev.sluice.rules.source.LayeredRules;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Overrides at run time, on nodes as users open them. */
class KeptOverridesIT {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration LONG = Duration.ofSeconds(10);
  private static final String KEY = "s2:data:{overrides}";
  private static final Rules RULES =
      RuleFiles.parse("rules.yaml", "rules: {Api: {by: [login], limit: 1 per 1h}}");

  private static RedisProcess redis;

  @BeforeAll
  static void start() {
    redis = RedisProcess.start(RedisProcess.newest());
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  @BeforeEach
  void empty() {
    redis.command("FLUSHALL");
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(10, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static KeptOverride override(String id, String login, int limit) {
    String text =
        "{\"when\": {\"login\": \"%s\"}, \"limit\": \"%d per 1h\"}".formatted(login, limit);
    return new KeptOverride(id, "Api", Instant.ofEpochMilli(limit), "rita", "", text);
  }

  /** What an operator does: it makes overrides and removes them, through a store of its own. */
  private static final class Operator implements AutoCloseable {
    private final Store store = RedisStore.connect(redis.uri());
    private final KeptOverrides overrides = KeptOverrides.follow(store.sharedData(), "operator");

    void put(String id, String login, int limit) {
      assertThat(now(overrides.put(override(id, login, limit)))).isTrue();
    }

    void remove(String id) {
      assertThat(now(overrides.remove(id))).isTrue();
    }

    @Override
    public void close() {
      overrides.close();
      store.close();
    }
  }

  /** A program that uses the library. */
  private static Limiter node() {
    return Limiter.owning(
        RedisStore.builder(redis.uri()).overrides(true).build(),
        LayeredRules.of(RuleSource.fixed(RULES)));
  }

  private static String limitOfAnn(Limiter limiter) {
    Rules rules = limiter.rules();
    int[] matching = rules.overridesFor("Api", Identity.of("login", "ann"));
    return matching.length == 0
        ? rules.find("Api").terms().toString()
        : rules.find("Api").overrides().get(matching[0]).terms().toString();
  }

  private static Duration awaitLimit(Limiter limiter, Duration atMost, int limit) {
    String wanted = limit + " per 1h";
    return Until.within(atMost, wanted, () -> limitOfAnn(limiter).equals(wanted));
  }

  // ---- In force everywhere --------------------------------------------------------------------

  @Test
  void aChangeIsInForceOnAnotherNodeWithinASecond() {
    try (Operator operator = new Operator();
        Limiter one = node();
        Limiter other = node()) {
      operator.put("first", "ann", 5);
      awaitLimit(one, SECOND, 5);
      awaitLimit(other, SECOND, 5);
      operator.put("second", "ann", 6);
      awaitLimit(one, SECOND, 6);
      operator.remove("second");
      awaitLimit(one, SECOND, 5);
      operator.remove("first");
      awaitLimit(one, SECOND, 1);
      awaitLimit(other, SECOND, 1);

      operator.put("third", "ann", 2);
      awaitLimit(one, SECOND, 2);
      Identity ann = Identity.of("login", "ann");
      assertThat(
              List.of(
                  one.decide("Api", ann).allowed(),
                  one.decide("Api", ann).allowed(),
                  one.decide("Api", ann).allowed()))
          .containsExactly(true, true, false);
    }
  }

  @Test
  void aChangeIsInForceWithinASecondAlsoAmongTenThousand() {
    fill(KeptOverride.MOST - 1);
    try (Operator operator = new Operator();
        Limiter node = node()) {
      Until.within(
          LONG,
          "all known",
          () -> node.rules().find("Api").overrides().size() == KeptOverride.MOST - 1);
      operator.put("warm", "ann", 4);
      awaitLimit(node, LONG, 4);

      operator.put("warm", "ann", 5);
      awaitLimit(node, SECOND, 5);
    }
  }

  /** Writes overrides of others as Sluice does, at once. */
  private static void fill(int count) {
    Map<String, String> entries = new HashMap<>();
    for (int i = 0; i < count; i++) {
      entries.put("o" + i, override("o" + i, "member-" + i, 3).stored());
    }
    try (Store store = RedisStore.connect(redis.uri())) {
      assertThat(now(store.sharedData().putBack("overrides", new SharedData.Entries(1, entries))))
          .isTrue();
    }
  }

  @Test
  void aNodeThatStartsHasThemInForceBeforeItsFirstDecision() {
    try (Operator operator = new Operator()) {
      operator.put("a", "ann", 5);

      try (Limiter node = node()) {
        assertThat(limitOfAnn(node)).isEqualTo("5 per 1h");
      }
    }
  }

  @Test
  void aNodeStartsWithoutThemAfterASecondIfRedisIsAway() {
    Store store = RedisStore.builder("redis://127.0.0.1:1").overrides(true).build();
    long start = System.nanoTime();
    try (Limiter node = Limiter.owning(store, RuleSource.fixed(RULES))) {
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SECOND.multipliedBy(2));
      assertThat(limitOfAnn(node)).isEqualTo("1 per 1h");
    }
  }

  @Test
  void oneMoreThanTenThousandIsRefused() {
    fill(KeptOverride.MOST);
    try (Operator operator = new Operator()) {
      assertThat(now(operator.overrides.put(override("one-more", "ann", 5)))).isFalse();
      assertThat(now(operator.overrides.remove("o7"))).isTrue();
      assertThat(now(operator.overrides.put(override("one-more", "ann", 5)))).isTrue();
    }
  }

  @Test
  void anEntryOfSomebodyElseChangesNothing() {
    try (Operator operator = new Operator();
        Limiter node = node()) {
      redis.command("HSET", KEY, "foreign", "nobody knows");
      redis.command("HSET", KEY, "a b", "nobody knows");
      redis.command("HSET", KEY, "broken", "1 Api rita -\n{\"when\": ");

      operator.put("good", "ann", 5);

      awaitLimit(node, SECOND, 5);
      assertThat(operator.overrides.all())
          .extracting(KeptOverride::id)
          .containsExactlyInAnyOrder("foreign", "broken", "good");
    }
  }

  // ---- What Redis lost ------------------------------------------------------------------------

  @Test
  void afterAFlushTheyStayInForceAndAreThereForNewNodes() {
    try (Operator operator = new Operator();
        Limiter node = node()) {
      operator.put("a", "ann", 5);
      operator.put("b", "bob", 6);
      awaitLimit(node, LONG, 5);
      String before = redis.command("HGETALL", KEY);

      redis.command("FLUSHALL");
      Until.within(
          SECOND,
          "put back",
          () -> {
            assertThat(limitOfAnn(node)).isEqualTo("5 per 1h");
            return redis.command("EXISTS", KEY).equals("1");
          });

      assertThat(redis.command("HGETALL", KEY).lines().sorted().toList())
          .as("with the version it had, so that no node reads it again")
          .isEqualTo(before.lines().sorted().toList());
      try (Limiter fresh = node()) {
        assertThat(limitOfAnn(fresh)).isEqualTo("5 per 1h");
      }
      operator.remove("a");
      awaitLimit(node, SECOND, 1);
    }
  }

  @Test
  void anOverrideMadeRightAfterAFlushDoesNotReplaceTheOthers() {
    try (Operator operator = new Operator();
        Limiter node = node()) {
      operator.put("a", "ann", 5);
      awaitLimit(node, LONG, 5);

      redis.command("FLUSHALL");
      operator.put("b", "bob", 6);

      assertThat(operator.overrides.all()).extracting(KeptOverride::id).contains("a", "b");
      awaitLimit(node, SECOND, 5);
      assertThat(redis.command("HEXISTS", KEY, "a")).isEqualTo("1");
    }
  }

  @Test
  void theLastOverrideThatIsRemovedStaysRemoved() {
    try (Operator operator = new Operator();
        Limiter node = node()) {
      operator.put("a", "ann", 5);
      awaitLimit(node, LONG, 5);

      operator.remove("a");
      awaitLimit(node, SECOND, 1);

      assertThat(redis.command("HLEN", KEY)).as("its version").isEqualTo("1");
      redis.command("FLUSHALL");
      Until.within(LONG, "version", () -> redis.command("EXISTS", KEY).equals("1"));
      assertThat(redis.command("HLEN", KEY)).isEqualTo("1");
      assertThat(limitOfAnn(node)).isEqualTo("1 per 1h");
    }
  }

  @Test
  void aNodeThatMissedARemovalDoesNotBringTheOverrideBack() {
    try (Operator operator = new Operator();
        Limiter node = node();
        Store store = RedisStore.connect(redis.uri())) {
      operator.put("a", "ann", 5);
      awaitLimit(node, LONG, 5); // so that it knows of the removal, too
      SharedData.Entries old = now(store.sharedData().entries("overrides"));
      operator.remove("a");
      awaitLimit(node, LONG, 1);

      // A node that was cut off puts back what it knows, before the others do.
      redis.command("FLUSHALL");
      now(store.sharedData().putBack("overrides", old));

      Until.within(SECOND, "removed again", () -> redis.command("HEXISTS", KEY, "a").equals("0"));
      assertThat(limitOfAnn(node)).isEqualTo("1 per 1h");
    }
  }
}
