package dev.sluice.redis.testing;

import dev.sluice.Decision;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/** Callers that call at the same time, and the answers they got. */
public final class Crowd {
  /** An answer and how long it took. */
  public record Answer(Decision decision, long nanos) {
    public boolean byPolicy() {
      return !isCounted(decision);
    }
  }

  private Crowd() {}

  /** Whether Redis counted a call, or the cache repeated a denial of Redis. */
  public static boolean isCounted(Decision decision) {
    return decision.countedBy() != Decision.CountedBy.LOCAL
        && decision.countedBy() != Decision.CountedBy.NOBODY;
  }

  /** Makes a number of calls in all from several threads. An error of a call fails the test. */
  public static List<Answer> calling(int threads, int calls, IntFunction<Decision> call) {
    return run(
        threads,
        caller -> {
          List<Answer> answers = new ArrayList<>();
          for (int i = caller; i < calls; i += threads) {
            int number = i;
            answers.add(timed(() -> call.apply(number)));
          }
          return answers;
        });
  }

  /** Calls in the background until stopped, each caller with a pause between calls. */
  public static CompletableFuture<List<Answer>> calling(
      int threads, Duration pause, BooleanSupplier goesOn, Supplier<Decision> call) {
    return CompletableFuture.supplyAsync(
        () ->
            run(
                threads,
                caller -> {
                  List<Answer> answers = new ArrayList<>();
                  while (goesOn.getAsBoolean()) {
                    answers.add(timed(call));
                    LockSupport.parkNanos(pause.toNanos()); // a pace, so that all get their turn
                  }
                  return answers;
                }),
        work -> new Thread(work, "crowd").start());
  }

  private static Answer timed(Supplier<Decision> call) {
    long start = System.nanoTime();
    Decision decision = call.get();
    return new Answer(decision, System.nanoTime() - start);
  }

  private static List<Answer> run(int threads, IntFunction<List<Answer>> caller) {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<CompletableFuture<List<Answer>>> parts = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int number = i;
        parts.add(CompletableFuture.supplyAsync(() -> caller.apply(number), pool));
      }
      return parts.stream().flatMap(part -> part.join().stream()).toList();
    } finally {
      pool.shutdownNow();
    }
  }

  public static long allowed(List<Answer> answers) {
    return answers.stream()
        .filter(answer -> answer.decision().allowed() && isCounted(answer.decision()))
        .count();
  }

  public static long byPolicy(List<Answer> answers) {
    return answers.stream().filter(Answer::byPolicy).count();
  }

  /** The time within which that many of a thousand answers came, in milliseconds. */
  public static double millis(List<Answer> answers, int perMille) {
    long[] nanos = answers.stream().mapToLong(Answer::nanos).sorted().toArray();
    return nanos[(int) ((nanos.length - 1L) * perMille / 1_000)] / 1e6;
  }
}
