package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.history.RecordedCalls;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.HistoryRecorder.Entry;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three processes of sixteen threads on one Redis: what they saw is checked afterwards. */
class RecordedHistoryIT {
  private static final int PROCESSES = 3;
  private static final int DECISIONS = 6_300; // of each thread; 302,400 in all
  private static final long SEED = Long.getLong("sluice.from", 1_000_000);

  @TempDir Path folder;

  @Test
  void everyDecisionOfSeveralProcessesKeepsThePromises() throws Exception {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest())) {
      List<Entry> history = record(redis.uri());
      System.out.printf(
          "RecordedHistoryIT: %,d decisions, %,d allowed, -Dsluice.from=%d%n",
          history.size(), history.stream().filter(Entry::allowed).count(), SEED);
      assertThat(history.size()).isGreaterThanOrEqualTo(300_000);
      try (LettuceStore store = RedisStore.builder(redis.uri()).buildBare()) {
        for (int limit = 0; limit < HistoryRecorder.LIMITS.size(); limit++) {
          for (int account = 0; account < HistoryRecorder.ACCOUNTS; account++) {
            check(history, limit, account, store);
          }
        }
      }
      assertThat(redis.keysWithoutTtl()).isEmpty();
    }
  }

  private List<Entry> record(String uri) throws IOException, InterruptedException {
    List<Process> processes = new ArrayList<>();
    for (int i = 0; i < PROCESSES; i++) {
      processes.add(
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Xmx256m",
                  "-cp",
                  System.getProperty("java.class.path"),
                  HistoryRecorder.class.getName(),
                  uri,
                  Long.toString(SEED + 100L * i),
                  Integer.toString(DECISIONS),
                  folder.resolve("history" + i).toString())
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("said" + i).toFile())
              .start());
    }
    List<Entry> all = new ArrayList<>();
    for (int i = 0; i < PROCESSES; i++) {
      assertThat(processes.get(i).waitFor())
          .as(Files.readString(folder.resolve("said" + i)))
          .isZero();
      all.addAll(read(folder.resolve("history" + i)));
    }
    return all;
  }

  private static List<Entry> read(Path file) throws IOException {
    List<Entry> entries = new ArrayList<>();
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
      while (in.available() > 0) {
        entries.add(
            new Entry(
                in.readByte(),
                in.readByte(),
                in.readByte(),
                in.readBoolean(),
                in.readLong(),
                in.readLong()));
      }
    }
    return entries;
  }

  private static void check(List<Entry> history, int which, int account, LettuceStore store) {
    Limit limit = HistoryRecorder.LIMITS.get(which);
    List<Entry> own =
        history.stream().filter(e -> e.limit() == which && e.account() == account).toList();
    List<Entry> allowed =
        own.stream().filter(Entry::allowed).sorted(Comparator.comparingLong(Entry::from)).toList();
    List<Entry> denied = own.stream().filter(e -> !e.allowed()).toList();

    RecordedCalls calls = new RecordedCalls(limit, allowed.stream().map(Entry::seen).toList());
    assertThat(calls.peak().margin()).as("oracle 1, %s", limit).isNotNegative();
    assertThat(denied.stream().filter(e -> !calls.explain(e.seen())))
        .as("oracle 2, %s", limit)
        .isEmpty();
    assertThat(refusedAlone(which, account, allowed)).as("oracle 3, %s", limit).isEmpty();
    if (HistoryRecorder.isLong(which)) {
      long cost = allowed.stream().mapToLong(Entry::cost).sum();
      assertThat(cost).as("oracle 11, %s", limit).isBetween(limit.quota() - 1, limit.quota());
      assertThat(limit.quota() - remaining(store, which, account))
          .as("oracle 7, %s", limit)
          .isEqualTo(cost);
    }
  }

  /** The trace without the denied calls, alone in memory: every call must pass again. */
  private static List<Entry> refusedAlone(int which, int account, List<Entry> allowed) {
    long[] now = {0};
    MemoryStore alone = MemoryStore.create(() -> Instant.EPOCH.plus(now[0], ChronoUnit.MICROS));
    List<Entry> refused = new ArrayList<>();
    for (Entry entry : allowed) {
      now[0] = entry.from();
      Charge charge = HistoryRecorder.charge(which, account, entry.cost());
      Plan plan = new Plan(List.of(charge), Intent.TAKE, null, OnStoreFailure.ALLOW);
      if (!alone.take(plan).toCompletableFuture().join().allowed()) {
        refused.add(entry);
      }
    }
    return refused;
  }

  private static long remaining(LettuceStore store, int which, int account) {
    Charge charge = HistoryRecorder.charge(which, account, 1);
    Plan plan = new Plan(List.of(charge), Intent.PEEK, null, OnStoreFailure.ALLOW);
    Decision decision = store.take(plan).toCompletableFuture().join();
    return decision.balances().get(0).remaining();
  }
}
