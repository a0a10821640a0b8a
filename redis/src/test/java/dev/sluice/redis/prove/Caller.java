package dev.sluice.redis.prove;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.prove.Entry.Outcome;
import dev.sluice.store.Store;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * A process of its own that asks for decisions at a pace and writes down each, until its input
 * ends.
 *
 * <p>Arguments: the URI, a seed, its number, decisions a second, the start of the run in
 * microseconds, the file, whether to use functions. Every half second it prints how many decisions
 * of each outcome it has.
 */
final class Caller {
  private static final int THREADS = 16;
  private static final int TRIES = 50;
  private static final Duration BETWEEN_TRIES = Duration.ofMillis(200);

  private final Limiter limiter;
  private final DataOutputStream out;
  private final int number;
  private final long startMicros;
  private final Map<Outcome, LongAdder> outcomes = new EnumMap<>(Outcome.class);
  private volatile boolean goesOn = true;

  private Caller(Limiter limiter, DataOutputStream out, int number, long startMicros) {
    this.limiter = limiter;
    this.out = out;
    this.number = number;
    this.startMicros = startMicros;
    for (Outcome outcome : Outcome.values()) {
      outcomes.put(outcome, new LongAdder());
    }
  }

  public static void main(String[] arguments) throws Exception {
    SplittableRandom seeds = new SplittableRandom(Long.parseLong(arguments[1]));
    long perSecond = Long.parseLong(arguments[3]);
    boolean functions = Boolean.parseBoolean(arguments[6]);
    Store store = RedisStore.builder(arguments[0]).nodes(4).functions(functions).build();
    try (Limiter limiter = Limiter.owning(store, Workload.RULES);
        DataOutputStream out =
            new DataOutputStream(
                new BufferedOutputStream(Files.newOutputStream(Path.of(arguments[5])), 1 << 16))) {
      Caller caller =
          new Caller(limiter, out, Integer.parseInt(arguments[2]), Long.parseLong(arguments[4]));
      Thread[] threads = new Thread[THREADS];
      for (int i = 0; i < THREADS; i++) {
        SplittableRandom random = seeds.split();
        int thread = i;
        threads[i] = new Thread(() -> caller.ask(random, thread, perSecond), "caller-" + i);
        threads[i].start();
      }
      Thread telling = new Thread(caller::tell, "telling");
      telling.setDaemon(true);
      telling.start();
      while (System.in.read() >= 0) {
        // The parent process holds the input open for as long as this one should call.
      }
      caller.goesOn = false;
      for (Thread thread : threads) {
        thread.join();
      }
      caller.print();
    }
  }

  private void tell() {
    while (goesOn) {
      LockSupport.parkNanos(500_000_000); // a pace for a person who watches
      print();
    }
  }

  private void print() {
    StringBuilder line = new StringBuilder("decided");
    outcomes.values().forEach(count -> line.append(' ').append(count));
    System.out.println(line);
  }

  private void ask(SplittableRandom random, int thread, long perSecond) {
    long between = THREADS * 1_000_000_000L / perSecond;
    long next = System.nanoTime() + between * thread / THREADS;
    for (long i = 0; goesOn; i++) {
      while (goesOn && System.nanoTime() < next) {
        LockSupport.parkNanos(next - System.nanoTime()); // the pace: real processes, real time
      }
      next += between;
      Workload.Ask ask = Workload.next(random, now() - startMicros);
      record(ask, "c" + number + "-" + thread + "-" + i);
    }
  }

  private void record(Workload.Ask ask, String id) {
    boolean withId = Workload.WAYS.get(ask.way()).withId();
    Call call = withId ? ask.call().withId(id) : ask.call();
    long sent = now();
    Entry entry;
    try {
      Decision decision = limiter.decide(call);
      // An id makes it safe to ask again: the call is counted once.
      for (int i = 1; withId && i < TRIES && decision instanceof Decision.Unmetered; i++) {
        LockSupport.parkNanos(BETWEEN_TRIES.toNanos());
        decision = limiter.decide(call);
      }
      entry = entry(ask, decision, sent);
    } catch (RuntimeException e) {
      e.printStackTrace();
      entry = new Entry(ask, Outcome.ERROR, sent, now(), 0, 0);
    }
    outcomes.get(entry.outcome()).increment();
    synchronized (out) {
      try {
        entry.write(out);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static Entry entry(Workload.Ask ask, Decision decision, long sent) {
    long received = now();
    if (decision instanceof Decision.Allowed allowed) {
      long at = allowed.receipt().takenAtMicros();
      return new Entry(ask, Outcome.ADMITTED, sent, received, at, 0);
    }
    if (decision instanceof Decision.Unmetered) {
      return new Entry(ask, Outcome.POLICY, sent, received, 0, 0);
    }
    long lockedUntil =
        decision.balances().stream().mapToLong(Balance::lockedUntilMicros).max().orElse(0);
    return new Entry(ask, Outcome.DENIED, sent, received, 0, lockedUntil);
  }

  static long now() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
  }
}
