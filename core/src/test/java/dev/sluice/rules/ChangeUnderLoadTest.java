package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.memory.MemoryStore;
import dev.sluice.rules.source.FileRules;
import dev.sluice.rules.source.FileRulesTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Limits raised and lowered in a file while 16 threads ask.
 *
 * <p>The store's clock stands still, so nothing comes back by itself and every number is exact.
 */
class ChangeUnderLoadTest {
  private static final int THREADS = 16;
  private static final InstantSource STILL =
      InstantSource.fixed(Instant.parse("2025-03-01T12:00:00Z"));
  private static final Call CALL =
      Call.of(List.of("log", "bucket"), Identity.of("ip", "192.0.2.1"));

  @TempDir Path directory;

  private final AtomicLong passed = new AtomicLong();
  private final AtomicLong asked = new AtomicLong();
  private final Set<List<Long>> seen = ConcurrentHashMap.newKeySet();

  /** Two rules that change together: the second always has a limit one above the first's. */
  private static String text(int limit) {
    return """
    rules:
      log: {limit: %d per 1h}
      bucket: {limits: [{token-bucket: {capacity: %d, refill: 1, per: 1h}}]}
    """
        .formatted(limit, limit + 1);
  }

  @Test
  void limitRaisedAndLoweredUnderLoadPassesTheExactNumber() throws Exception {
    Path file = Files.writeString(directory.resolve("rules.yaml"), text(500));
    AtomicBoolean over = new AtomicBoolean();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try (FileRules source = FileRules.watch(file);
        Limiter limiter = Limiter.builder(MemoryStore.create(STILL), source).clock(STILL).build()) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        all.add(threads.submit(() -> ask(limiter, over)));
      }

      exhausted(500);
      change(file, source, 1_500);
      exhausted(1_500); // usage is kept: 1,000 more and not 1,500
      change(file, source, 800);
      exhausted(1_500); // lowered below the usage: no call passes
      change(file, source, 1_600);
      exhausted(1_600); // what was used before counts on: 100 more

      over.set(true);
      for (Future<?> each : all) {
        each.get();
      }
    } finally {
      over.set(true);
      threads.shutdownNow();
    }

    assertThat(passed).hasValue(1_600);
    assertThat(seen)
        .as("pairs of limits that single calls were judged by")
        .containsExactlyInAnyOrder(
            List.of(500L, 501L),
            List.of(1_500L, 1_501L),
            List.of(800L, 801L),
            List.of(1_600L, 1_601L));
  }

  private void ask(Limiter limiter, AtomicBoolean over) {
    while (!over.get()) {
      Decision decision = limiter.decide(CALL);
      if (decision.allowed()) {
        passed.incrementAndGet();
      }
      seen.add(decision.balances().stream().map(Balance::limit).map(l -> l.quota()).toList());
      asked.incrementAndGet();
    }
  }

  /** Exactly this number of calls has passed, and ten thousand more calls do not change that. */
  private void exhausted(long number) {
    Until.within(Duration.ofSeconds(20), number + " passed", () -> passed.get() >= number);
    long from = asked.get();
    Until.within(Duration.ofSeconds(20), "more calls", () -> asked.get() > from + 10_000);
    assertThat(passed).hasValue(number);
  }

  private static void change(Path file, FileRules source, int limit) throws IOException {
    FileRulesTest.rename(file, text(limit));
    // Sixteen busy threads leave the one that reads little of two cores.
    Until.within(
        Duration.ofSeconds(10),
        "limit " + limit,
        () -> source.rules().equals(RuleFiles.parse("r.yaml", text(limit))));
  }
}
