package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import dev.sluice.testing.JavaSources;
import dev.sluice.testing.Page;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.LongPredicate;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The tables of docs/coming-from: what they say that people wrote compiles against the other
 * limiter, and the limit of Sluice beside it gives the same answers to the same calls.
 */
class SameAnswersTest {
  private static final int CALLS = 5_000;
  private static final Identity ANN = Identity.of("user", "ann");

  /** Makes the limiter of a row that reads this clock. */
  private static final String BUCKET4J =
      """
      static LongPredicate peer%d(LongSupplier nanos) {
        Bucket bucket =
            Bucket.builder()
                .addLimit(%s)
                .withCustomTimePrecision(
                    new TimeMeter() {
                      public long currentTimeNanos() { return nanos.getAsLong(); }
                      public boolean isWallClockBased() { return true; }
                    })
                .build();
        return bucket::tryConsume;
      }
      """;

  private static final String RESILIENCE4J =
      """
      static LongPredicate peer%d(LongSupplier nanos) {
        RateLimiterConfig.Builder config = RateLimiterConfig.custom();
        RateLimiter limiter = RateLimiter.of("row", (%s).build(), () -> nanos.getAsLong());
        return cost -> limiter.acquirePermission((int) cost);
      }
      """;

  private static final String IMPORTS =
      """
      import dev.sluice.*;
      import io.github.bucket4j.*;
      import io.github.resilience4j.ratelimiter.*;
      import java.time.*;
      import java.util.function.*;
      """;

  @TempDir Path folder;

  /** A clock that the test moves, to the nanosecond. */
  private static final class Clock {
    private Instant now;

    private Clock(Instant now) {
      this.now = now;
    }

    private long nanos() {
      return ChronoUnit.NANOS.between(Instant.EPOCH, now);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "bucket4j, Bucket4j, bucket, io.github.bucket4j.Bucket",
    "resilience4j, Resilience4j, limiter, io.github.resilience4j.ratelimiter.RateLimiter",
  })
  void limitsOfATableAnswerAlike(String name, String peer, String variable, String type)
      throws Exception {
    Page page = Page.of("docs/coming-from/%s.md".formatted(name));
    List<List<String>> rows =
        page.table(peer, "Sluice in Java", "Sluice in a rule file", "answers");
    StringBuilder source = new StringBuilder(IMPORTS + "public class Rows {\n");
    for (int i = 0; i < rows.size(); i++) {
      String made = name.equals("bucket4j") ? BUCKET4J : RESILIENCE4J;
      source.append("public ").append(made.formatted(i, code(rows.get(i), 0)));
      source.append(
          "public static Limit limit%d() { return %s; }\n".formatted(i, code(rows.get(i), 1)));
    }
    source.append("static void calls(%s %s) throws Exception {\n".formatted(type, variable));
    page.table(peer, "Sluice").forEach(row -> source.append(code(row, 0)).append(";\n"));
    source.append("}\n}\n");
    Class<?> compiled =
        JavaSources.in(folder).add("Rows", source.toString()).compile().loadClass("Rows");

    for (int i = 0; i < rows.size(); i++) {
      Instant start =
          Instant.parse(
              rows.get(i).get(3).equals("the same")
                  ? "2030-01-01T00:17:03.250Z"
                  : "2030-01-01T00:00:00Z");
      Clock clock = new Clock(start);
      LongSupplier nanos = clock::nanos;
      LongPredicate theirs =
          (LongPredicate) compiled.getMethod("peer" + i, LongSupplier.class).invoke(null, nanos);
      Limit limit = (Limit) compiled.getMethod("limit" + i).invoke(null);

      assertSame(clock, theirs, limit);
    }
  }

  /** Asks both at random moments, some of them on the edges of windows, with random costs. */
  private static void assertSame(Clock clock, LongPredicate theirs, Limit limit) {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Rule rule = Rule.builder("row").by("user").limit(limit).build();
    Limiter ours = Limiter.of(MemoryStore.create(() -> clock.now), Rules.of(rule));
    long windowMicros = limit.window().toNanos() / 1_000;
    long stepMicros = Math.max(1, 2 * windowMicros / limit.quota());
    List<Boolean> answers = new ArrayList<>();
    for (int i = 0; i < CALLS; i++) {
      if (i > limit.quota()) { // before that all at once, so that some are denied for sure
        clock.now = clock.now.plus(random.nextLong(stepMicros), ChronoUnit.MICROS);
        if (random.nextLong(3 * limit.quota()) == 0) {
          clock.now = edgeAfter(clock.now, windowMicros);
        }
      }
      long cost = 1L + random.nextInt(random.nextInt(20) == 0 ? 10 : 2);
      boolean allowed = ours.decide(Call.of("row", ANN).costing(cost)).allowed();

      assertThat(theirs.test(cost))
          .describedAs("%s, call %d at %s, cost %d, seed %d", limit, i, clock.now, cost, seed)
          .isEqualTo(allowed);
      answers.add(allowed);
    }
    assertThat(answers).contains(true, false);
  }

  private static Instant edgeAfter(Instant now, long windowMicros) {
    Duration window = Duration.of(windowMicros, ChronoUnit.MICROS);
    long rounds = Duration.between(Instant.EPOCH, now).dividedBy(window);
    return Instant.EPOCH.plus(window.multipliedBy(rounds + 1));
  }

  private static String code(List<String> row, int cell) {
    return Page.code(row.get(cell)).get(0);
  }
}
