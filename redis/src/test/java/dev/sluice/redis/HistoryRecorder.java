package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.Rule;
import dev.sluice.history.RecordedCalls;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * A process of its own that asks one Redis for decisions from many threads and writes down each.
 *
 * <p>Arguments: the URI, a seed, the number of decisions of each thread, the file.
 */
final class HistoryRecorder {
  static final int THREADS = 16;
  static final int ACCOUNTS = 3;

  /** A limit of each kind, of which much comes back within the run. */
  private static final List<Limit> SHORT =
      List.of(
          Limit.slidingLog(50, Duration.ofSeconds(1)),
          Limit.slidingWindow(60, Duration.ofSeconds(1), Duration.ofMillis(50)),
          Limit.tokenBucket(40, 100, Duration.ofSeconds(1)),
          Limit.fixedWindow(70, Duration.ofSeconds(1)));

  /** A limit of each kind, of which nothing comes back within the run. */
  private static final List<Limit> LONG =
      List.of(
          Limit.slidingLog(500, Duration.ofDays(1)),
          Limit.slidingWindow(500, Duration.ofDays(1)),
          Limit.tokenBucket(500, 1, Duration.ofDays(1)),
          Limit.fixedWindow(500, Duration.ofDays(1_000)));

  static final List<Limit> LIMITS = Stream.concat(SHORT.stream(), LONG.stream()).toList();

  private HistoryRecorder() {}

  /** Whether nothing of a limit comes back within the run. */
  static boolean isLong(int limit) {
    return limit >= SHORT.size();
  }

  /**
   * One decision.
   *
   * @param from the moment it was allowed by Redis' clock; for a denial, when it was asked
   * @param to the same moment; for a denial, when it was answered
   */
  record Entry(int limit, int account, long cost, boolean allowed, long from, long to) {
    RecordedCalls.Seen seen() {
      return new RecordedCalls.Seen(from, to, cost);
    }
  }

  static Charge charge(int limit, int account, long cost) {
    Rule rule = Rule.builder("rule" + limit).limit(LIMITS.get(limit)).build();
    return new Charge(rule, Identity.of("who", "a" + account), rule.terms(), cost);
  }

  public static void main(String[] arguments) throws Exception {
    long seed = Long.parseLong(arguments[1]);
    int count = Integer.parseInt(arguments[2]);
    try (LettuceStore store = RedisStore.builder(arguments[0]).buildBare()) {
      ExecutorService threads = Executors.newFixedThreadPool(THREADS);
      List<Callable<List<Entry>>> tasks = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        SplittableRandom random = new SplittableRandom(seed + t);
        tasks.add(() -> ask(store, random, count));
      }
      List<Entry> all = new ArrayList<>();
      for (Future<List<Entry>> part : threads.invokeAll(tasks)) {
        all.addAll(part.get());
      }
      threads.shutdown();
      write(all, Path.of(arguments[3]));
    }
  }

  private static List<Entry> ask(LettuceStore store, SplittableRandom random, int count) {
    List<Entry> entries = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int limit = random.nextInt(LIMITS.size());
      int account = random.nextInt(ACCOUNTS);
      long cost = random.nextInt(8) == 0 ? 2 : 1;
      Charge charge = charge(limit, account, cost);
      Plan plan = new Plan(List.of(charge), Intent.TAKE, null, OnStoreFailure.ALLOW);
      long asked = now();
      Decision decision = store.take(plan).toCompletableFuture().join();
      long answered = now();
      if (decision instanceof Decision.Allowed allowed) {
        long at = allowed.receipt().takenAtMicros();
        entries.add(new Entry(limit, account, cost, true, at, at));
      } else {
        entries.add(new Entry(limit, account, cost, false, asked, answered));
      }
    }
    return entries;
  }

  private static long now() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
  }

  private static void write(List<Entry> entries, Path file) throws IOException {
    try (DataOutputStream out =
        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
      for (Entry entry : entries) {
        out.writeByte(entry.limit);
        out.writeByte(entry.account);
        out.writeByte((int) entry.cost);
        out.writeBoolean(entry.allowed);
        out.writeLong(entry.from);
        out.writeLong(entry.to);
      }
    }
  }
}
