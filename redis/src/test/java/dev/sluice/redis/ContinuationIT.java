package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.LimiterListener;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.redis.testing.Crowd;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A continuation of one caller does not delay other callers. */
@ExtendWith(RedisServers.class)
class ContinuationIT {
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r")
              .by("member")
              .limit(Limit.fixedWindow(1_000_000, Duration.ofDays(1)))
              .build());

  private static Identity member(int number) {
    return Identity.of("member", "m" + number);
  }

  @Test
  void continuationsThatBlockKeepNobodyElseWaitingOrUncounted() throws Exception {
    RedisProcess server = RedisServers.single(newest());
    CountDownLatch ended = new CountDownLatch(1);
    CountDownLatch blocked = new CountDownLatch(20);
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), RULES)) {
      for (int i = 0; i < 20; i++) {
        int number = i;
        // In a thread of its own, because the continuation of a completed answer runs on the
        // calling thread.
        new Thread(
                () ->
                    limiter
                        .decideAsync(Call.of("r", member(number)))
                        .thenAccept(
                            decision -> {
                              blocked.countDown();
                              await(ended);
                            }))
            .start();
      }
      assertThat(blocked.await(10, TimeUnit.SECONDS)).as("each has a thread").isTrue();

      List<Crowd.Answer> waiting = Crowd.calling(8, 800, i -> limiter.decide("r", member(i)));
      List<Crowd.Answer> asking =
          Crowd.calling(
              8,
              800,
              i ->
                  limiter
                      .decideAsync(Call.of("r", member(i)))
                      .thenApply(d -> d)
                      .toCompletableFuture()
                      .join());

      ended.countDown();
      assertThat(Crowd.allowed(waiting)).isEqualTo(800);
      assertThat(Crowd.allowed(asking)).isEqualTo(800);
    }
  }

  @Test
  void nothingOfTheCallersRunsOnTheThreadThatReads() throws Exception {
    RedisProcess server = RedisServers.single(newest());
    try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), RULES)) {
      for (int i = 0; i < 200; i++) {
        CompletableFuture<String> thread = new CompletableFuture<>();
        CompletableFuture<Decision> asked =
            limiter.decideAsync(Call.of("r", member(i))).toCompletableFuture();
        CompletableFuture<Void> unused =
            CompletableFuture.allOf(asked)
                .whenComplete((done, error) -> thread.complete(Thread.currentThread().getName()));

        assertThat(thread.get(10, TimeUnit.SECONDS)).doesNotContain("lettuce", "epoll", "nio");
      }
    }
  }

  @Test
  void callerNamesWhereItContinues() throws Exception {
    RedisProcess server = RedisServers.single(newest());
    Set<String> heard = ConcurrentHashMap.newKeySet();
    LimiterListener listener =
        (rules, call, decision, nanos) -> heard.add(Thread.currentThread().getName());
    Store store = RedisStore.connect(server.uri());
    ExecutorService loop = Executors.newSingleThreadExecutor(task -> new Thread(task, "loop"));
    try (Limiter limiter =
        Limiter.builder(store, RuleSource.fixed(RULES)).listener(listener).owning().build()) {
      for (int i = 0; i < 100; i++) {
        Call call = Call.of("r", member(i));

        assertThat(thread(loop, () -> limiter.decideAsync(call, RULES, loop))).isEqualTo("loop");
      }
      assertThat(heard).containsExactly("loop");

      loop.shutdown();
      assertThat(limiter.decideAsync(Call.of("r", member(1)), RULES, loop).toCompletableFuture())
          .as("an executor that was shut down leaves no caller without its answer")
          .succeedsWithin(Duration.ofSeconds(10));
    } finally {
      loop.shutdownNow();
    }
  }

  @Test
  void storeAnswersOnTheExecutorThatItIsGiven() throws Exception {
    RedisProcess server = RedisServers.single(newest());
    ExecutorService loop = Executors.newSingleThreadExecutor(task -> new Thread(task, "loop"));
    try (Limiter limiter =
        Limiter.owning(RedisStore.builder(server.uri()).answersOn(loop).build(), RULES)) {
      for (int i = 0; i < 50; i++) {
        Identity member = member(i);

        assertThat(thread(loop, () -> limiter.decideAsync("r", member))).isEqualTo("loop");
      }
    } finally {
      loop.shutdownNow();
    }
  }

  /** The name of the thread on which an answer is continued that this executor completes. */
  private static String thread(ExecutorService loop, Supplier<CompletionStage<?>> asking)
      throws Exception {
    CountDownLatch chained = new CountDownLatch(1);
    loop.execute(() -> await(chained)); // nothing completes before the continuation is chained
    CompletableFuture<String> thread = new CompletableFuture<>();
    CompletionStage<?> unused =
        asking
            .get()
            .whenComplete((done, error) -> thread.complete(Thread.currentThread().getName()));
    chained.countDown();
    return thread.get(10, TimeUnit.SECONDS);
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
