package dev.sluice.server.health;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterListener;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Settled;
import dev.sluice.metrics.Counters;
import dev.sluice.metrics.Metrics;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The metrics for Prometheus. Rule names are labels; identities never are. Thread-safe. */
public final class Meters implements LimiterListener {
  private static final long DEGRADED_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Faults whose counters exist from the start, so that rate() sees the first one. */
  private static final List<String> FAULTS_TO_EXPECT =
      List.of("timeout", "connection", "disconnected");

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Counters<Counter> decisions = new Counters<>(this::counter);
  private final Map<CallTags, Timer> calls = new ConcurrentHashMap<>();
  private final Map<String, Counter> uncharged = new ConcurrentHashMap<>();
  private final Counter overloads;
  private final Counter degradedSeconds;
  private final Map<String, Counter> faults = new ConcurrentHashMap<>();
  private final AtomicLong lastDegradedNanos = new AtomicLong(System.nanoTime() - DEGRADED_NANOS);
  private final AtomicLong lastDegradedSecond = new AtomicLong();
  private volatile @Nullable LockCount locks;

  /** The tags of a call's timer. */
  private record CallTags(String outcome, String countedBy) {}

  public Meters() {
    this.overloads =
        Counter.builder("sluice.overloads")
            .description("Requests answered 503 because too many were in progress")
            .register(registry);
    this.degradedSeconds =
        Counter.builder("sluice.degraded.seconds")
            .description("Seconds in which a call was decided without the store")
            .register(registry);
    FAULTS_TO_EXPECT.forEach(this::faults);
    new JvmMemoryMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
  }

  /** Registers the gauges of a limiter and its store. */
  public void watch(Limiter limiter, Store store) {
    Gauge.builder("sluice.rules", () -> limiter.rules().size())
        .description("Rules in force")
        .register(registry);
    Gauge.builder("sluice.rules.refused", () -> limiter.source().failure().isPresent() ? 1 : 0)
        .description("1 while newer rules are refused and the last good ones stay in force")
        .register(registry);
    LockCount counting = LockCount.start(limiter);
    locks = counting;
    Gauge.builder("sluice.locks", counting::value)
        .description("Locked accounts, a few seconds old; NaN if the store did not answer")
        .register(registry);
    Gauge.builder("sluice.store.down", () -> store.trouble().isPresent() ? 1 : 0)
        .description(
            "1 while the store does not answer; onStoreFailure decides, and one call at a time probes it")
        .register(registry);
    FunctionCounter.builder(Metrics.FOREIGN_VALUES, store, Store::foreignValues)
        .description("Values under keys of Sluice that Sluice did not write; they were replaced")
        .register(registry);
    Gauge.builder("sluice.store.warnings", () -> store.warnings().size())
        .description("Warnings about the store; /health/ready lists them")
        .register(registry);
  }

  /** Registers the gauge of files that can be refused while the service runs. */
  public void watch(String files, Supplier<Optional<String>> refused) {
    Gauge.builder("sluice.files.refused", () -> refused.get().isPresent() ? 1 : 0)
        .tag("files", files)
        .description("1 while newer files are refused and what they said before stays in force")
        .register(registry);
  }

  /** How many accounts are locked, a few seconds ago; NaN if that is not known. */
  public double locks() {
    LockCount counting = locks;
    return counting == null ? Double.NaN : counting.value();
  }

  /** Stops reading the number of locks. */
  public void close() {
    LockCount counting = locks;
    if (counting != null) {
      counting.close();
    }
  }

  public PrometheusMeterRegistry registry() {
    return registry;
  }

  /** Counts a decision for every rule that the call named. */
  @Override
  public void decided(Rules rules, Call call, Decision decision, long nanos) {
    Decision.CountedBy by = decision.countedBy();
    took(Metrics.outcome(decision), Metrics.countedBy(by), nanos);
    decisions.of(rules, call, decision, Counter::increment);
    if (by == Decision.CountedBy.LOCAL || by == Decision.CountedBy.NOBODY) {
      long now = System.nanoTime();
      lastDegradedNanos.set(now);
      long second = TimeUnit.NANOSECONDS.toSeconds(now);
      if (lastDegradedSecond.getAndSet(second) != second) {
        degradedSeconds.increment();
      }
    }
    Metrics.uncharged(call, decision).forEach(this::countUncharged);
  }

  /** Counts a call that ended without a decision. */
  @Override
  public void failed(Call call, Throwable error, long nanos) {
    took(Metrics.FAILED, Metrics.countedBy(Decision.CountedBy.NOBODY), nanos);
  }

  private void took(String outcome, String countedBy, long nanos) {
    calls
        .computeIfAbsent(new CallTags(outcome, countedBy), this::timer)
        .record(nanos, TimeUnit.NANOSECONDS);
  }

  private Timer timer(CallTags tags) {
    return Timer.builder(Metrics.CALLS)
        .description("Time from a call to its decision, by outcome and by where it was counted")
        .tag(Metrics.OUTCOME, tags.outcome)
        .tag(Metrics.COUNTED_BY, tags.countedBy)
        .serviceLevelObjectives(
            Duration.ofNanos(10_000),
            Duration.ofNanos(100_000),
            Duration.ofMillis(1),
            Duration.ofMillis(5),
            Duration.ofMillis(20),
            Duration.ofMillis(50),
            Duration.ofMillis(250),
            Duration.ofSeconds(1))
        .register(registry);
  }

  /** Counts what a settlement could not charge. */
  @Override
  public void settled(Receipt receipt, Settled settled) {
    settled.unchargedBy().forEach(this::countUncharged);
  }

  private void countUncharged(String rule, long cost) {
    if (cost > 0) {
      uncharged(rule).increment((double) cost);
    }
  }

  private Counter uncharged(String rule) {
    return uncharged.computeIfAbsent(
        rule,
        unknown ->
            Counter.builder(Metrics.UNCHARGED)
                .description("Cost of records and settlements that could not be charged, by rule")
                .tag(Metrics.RULE, rule)
                .register(registry));
  }

  /** Counts a fault of the store. */
  public void failed(StoreException fault) {
    faults(fault.kind()).increment();
  }

  private Counter faults(String kind) {
    return faults.computeIfAbsent(
        kind,
        unknown ->
            Counter.builder(Metrics.STORE_FAULTS)
                .description("Calls that the store did not answer, by kind of fault")
                .tag(Metrics.KIND, kind)
                .register(registry));
  }

  public void overloaded() {
    overloads.increment();
  }

  /** Whether calls were decided without the store in the last five seconds. */
  boolean isDegraded() {
    return System.nanoTime() - lastDegradedNanos.get() < DEGRADED_NANOS;
  }

  private Counter counter(Metrics.Count count) {
    return Counter.builder(count.meter())
        .description(
            count.meter().equals(Metrics.DECISIONS)
                ? "Decisions by rule, outcome and where they were counted"
                : "Decisions that rules in shadow mode would have made")
        .tag(Metrics.RULE, count.rule())
        .tag(Metrics.OUTCOME, count.outcome())
        .tag(Metrics.COUNTED_BY, count.countedBy())
        .tag(Metrics.LOCKED, String.valueOf(count.locked()))
        .register(registry);
  }

  /** Creates the counters of rules without calls, so that they read 0. */
  void expect(List<Rule> rules) {
    for (Rule rule : rules) {
      Metrics.expected(rule).forEach(this::counter);
      uncharged(rule.name());
    }
  }
}
