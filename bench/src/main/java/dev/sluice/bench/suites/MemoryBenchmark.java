package dev.sluice.bench.suites;

import com.google.common.util.concurrent.RateLimiter;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.LimiterListener;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import io.github.bucket4j.Bucket;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * One decision for one of 65,536 identities, inside the JVM.
 *
 * <p>Sluice does all its work: it looks up the rule by name, builds the identity, plans the call,
 * and finds and charges the account. The other limiters have no keys, so each is kept in a
 * ConcurrentHashMap and read with get first, because computeIfAbsent may take a lock. Every call
 * passes, so all of them write.
 *
 * <p>The other kinds of limits do the same work. The parts of the sliding window are one second
 * long, so they expire during the measurement. So do the events of the sliding log: its window is
 * one second, in which a caller sends ten to a hundred calls.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
public class MemoryBenchmark {
  static final int IDENTITIES = 65_536;
  static final long CAPACITY = 1_000_000;
  static final long REFILL = 1_000_000;
  static final Duration PERIOD = Duration.ofMinutes(1);

  /** The identities, the same for every contender. */
  @State(Scope.Benchmark)
  public static class Names {
    private final String[] names = new String[IDENTITIES];

    /** Names of 20 letters, as long as a member's number with its prefix. */
    public Names() {
      for (int i = 0; i < names.length; i++) {
        names[i] = "member-%013d".formatted(i * 7_919L);
      }
    }
  }

  /** A fast random generator for each thread. */
  @State(Scope.Thread)
  public static class Picker {
    private long state = System.nanoTime() | 1;

    String pick(Names names) {
      state ^= state << 13;
      state ^= state >>> 7;
      state ^= state << 17;
      return names.names[(int) state & (IDENTITIES - 1)];
    }
  }

  @State(Scope.Benchmark)
  public static class Sluice {
    private final Limiter limiter =
        Limiter.owning(
            MemoryStore.create(),
            Rules.of(
                rule("signIn", Limit.tokenBucket(CAPACITY, REFILL, PERIOD)),
                rule("fixedWindow", Limit.fixedWindow(CAPACITY, PERIOD)),
                rule("slidingWindow", Limit.slidingWindow(CAPACITY, PERIOD, Duration.ofSeconds(1))),
                rule("slidingLog", Limit.slidingLog(1_000, Duration.ofSeconds(1)))));

    static Rule rule(String name, Limit limit) {
      return Rule.builder(name).by("login").limit(limit).build();
    }

    boolean decide(String rule, String name) {
      return limiter.decide(rule, Identity.of("login", name)).allowed();
    }
  }

  /** The first of these rules with a listener that counts by outcome, as metrics do. */
  @State(Scope.Benchmark)
  public static class Listening implements LimiterListener {
    private final LongAdder allowed = new LongAdder();
    private final LongAdder denied = new LongAdder();
    private final LongAdder unmetered = new LongAdder();
    private final Limiter limiter =
        Limiter.builder(
                MemoryStore.create(),
                RuleSource.fixed(
                    Rules.of(Sluice.rule("signIn", Limit.tokenBucket(CAPACITY, REFILL, PERIOD)))))
            .listener(this)
            .owning()
            .build();

    @Override
    public void decided(Rules rules, Call call, Decision decision, long nanos) {
      if (decision instanceof Decision.Unmetered) {
        unmetered.increment();
      } else if (decision.allowed()) {
        allowed.increment();
      } else {
        denied.increment();
      }
    }
  }

  @State(Scope.Benchmark)
  public static class Bucket4j {
    private final ConcurrentHashMap<String, Bucket> buckets = new ConcurrentHashMap<>();

    private static Bucket create(String name) {
      return Bucket.builder()
          .addLimit(limit -> limit.capacity(CAPACITY).refillGreedy(REFILL, PERIOD))
          .build();
    }
  }

  @State(Scope.Benchmark)
  public static class Guava {
    private final ConcurrentHashMap<String, RateLimiter> limiters = new ConcurrentHashMap<>();
  }

  @State(Scope.Benchmark)
  public static class Resilience4j {
    private final ConcurrentHashMap<String, io.github.resilience4j.ratelimiter.RateLimiter>
        limiters = new ConcurrentHashMap<>();
    private final RateLimiterConfig config =
        RateLimiterConfig.custom()
            .limitForPeriod((int) CAPACITY)
            .limitRefreshPeriod(PERIOD)
            .timeoutDuration(Duration.ZERO)
            .build();
  }

  @Benchmark
  public boolean sluice(Sluice sluice, Names names, Picker picker) {
    return sluice.decide("signIn", picker.pick(names));
  }

  @Benchmark
  public boolean listener(Listening listening, Names names, Picker picker) {
    return listening.limiter.decide("signIn", Identity.of("login", picker.pick(names))).allowed();
  }

  @Benchmark
  public boolean fixedWindow(Sluice sluice, Names names, Picker picker) {
    return sluice.decide("fixedWindow", picker.pick(names));
  }

  @Benchmark
  public boolean slidingWindow(Sluice sluice, Names names, Picker picker) {
    return sluice.decide("slidingWindow", picker.pick(names));
  }

  @Benchmark
  public boolean slidingLog(Sluice sluice, Names names, Picker picker) {
    return sluice.decide("slidingLog", picker.pick(names));
  }

  @Benchmark
  public boolean bucket4j(Bucket4j bucket4j, Names names, Picker picker) {
    String name = picker.pick(names);
    Bucket bucket = bucket4j.buckets.get(name);
    if (bucket == null) {
      bucket = bucket4j.buckets.computeIfAbsent(name, Bucket4j::create);
    }
    return bucket.tryConsume(1);
  }

  @Benchmark
  public boolean guava(Guava guava, Names names, Picker picker) {
    String name = picker.pick(names);
    RateLimiter limiter = guava.limiters.get(name);
    if (limiter == null) {
      limiter = guava.limiters.computeIfAbsent(name, absent -> RateLimiter.create(CAPACITY));
    }
    return limiter.tryAcquire();
  }

  @Benchmark
  public boolean resilience4j(Resilience4j resilience4j, Names names, Picker picker) {
    String name = picker.pick(names);
    io.github.resilience4j.ratelimiter.RateLimiter limiter = resilience4j.limiters.get(name);
    if (limiter == null) {
      limiter =
          resilience4j.limiters.computeIfAbsent(
              name,
              absent ->
                  io.github.resilience4j.ratelimiter.RateLimiter.of(absent, resilience4j.config));
    }
    return limiter.acquirePermission();
  }
}
