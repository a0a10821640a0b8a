package dev.sluice.contract;

import static dev.sluice.contract.Scene.ANN;
import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.Test;

/** A thousand callers at once: exactly as many pass as may. */
public interface CrowdContract {
  int CALLERS = 1_000;

  Scene scene();

  /** How many of the callers pass, all let go at the same moment. */
  private static int passing(IntPredicate call) throws InterruptedException {
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger passed = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < CALLERS; i++) {
      int caller = i;
      Thread thread =
          new Thread(
              null,
              () -> {
                awaitQuietly(go);
                if (call.test(caller)) {
                  passed.incrementAndGet();
                }
              },
              "caller-" + i,
              256 * 1024);
      threads.add(thread);
      thread.start();
    }
    go.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    return passed.get();
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  default void crowdOnEachKindOfLimitPassesExactlyTheLimit() throws InterruptedException {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(137, Duration.ofMinutes(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Limiter limiter = scene.limiter(rule);

      assertThat(passing(caller -> limiter.decide("test", ANN).allowed()))
          .as("%s", limit)
          .isEqualTo(137);
    }
  }

  @Test
  default void crowdOnPlansOfSeveralAccountsTakesAllOrNothing() throws InterruptedException {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(100, Duration.ofMinutes(10))) {
      String name = "r" + limit.getClass().getSimpleName();
      Rule rule = Rule.builder(name).by("ip", "member", "team").limit(limit).build();
      Limiter limiter = scene.limiter(rule);

      int passed = passing(caller -> limiter.decide(name, spread(caller)).allowed());

      assertThat(used(scene, rule, "ip", 3)).as("%s by ip", limit).isEqualTo(passed);
      assertThat(used(scene, rule, "member", 4)).as("%s by member", limit).isEqualTo(passed);
      assertThat(used(scene, rule, "team", 5)).as("%s by team", limit).isEqualTo(passed);
      assertThat(passed).as("%s: the smallest sum", limit).isBetween(100, 300);
    }
  }

  /** Identities that overlap each other, so that accounts are claimed in many orders. */
  private static Identity spread(int caller) {
    return Identity.of("ip", "v" + caller % 3, "member", "v" + caller % 4)
        .with("team", "v" + caller % 5);
  }

  private static long used(Scene scene, Rule rule, String facet, int values) {
    Rule one = Rule.builder(rule.name()).by(facet).limit(rule.terms().limits().get(0)).build();
    long used = 0;
    for (int i = 0; i < values; i++) {
      used += 100 - scene.take(one, Identity.of(facet, "v" + i), 0).balances().get(0).remaining();
    }
    return used;
  }

  @Test
  default void crowdWithOneIdCountsOnce() throws InterruptedException {
    Scene scene = scene();
    for (Limit limit : Scene.everyKind(10, Duration.ofMinutes(10))) {
      Rule rule = rule(limit);
      scene.reset(rule);
      Limiter limiter = scene.limiter(rule);
      String id = limit.getClass().getSimpleName();

      int passed =
          passing(caller -> limiter.decide(dev.sluice.Call.of("test", ANN).withId(id)).allowed());

      assertThat(passed).isEqualTo(CALLERS);
      assertThat(scene.left(rule)).as("%s", limit).isEqualTo(9);
    }
  }
}
