package dev.sluice.server;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Store;
import dev.sluice.redis.StoreFault;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What Prometheus is told. Names of rules are labels, identities never are. Thread-safe. */
final class Meters {
  private static final long DEGRADED_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Faults that read 0 before they happen, so that the first one is seen as a rise. */
  private static final List<String> FAULTS_TO_EXPECT =
      List.of("timeout", "connection", "disconnected");

  /** In place of a rule, if several were settled above what they took. No rule has this name. */
  static final String SEVERAL_RULES = "*";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Map<String, Counter[]> decisions = new ConcurrentHashMap<>();
  private final Map<String, Counter> uncharged = new ConcurrentHashMap<>();
  private final Timer latency;
  private final Counter overloads;
  private final Counter degradedSeconds;
  private final Map<String, Counter> faults = new ConcurrentHashMap<>();
  private final Map<Decision.CountedBy, Counter> counted = new EnumMap<>(Decision.CountedBy.class);
  private final AtomicLong lastDegradedNanos = new AtomicLong(System.nanoTime() - DEGRADED_NANOS);
  private final AtomicLong lastDegradedSecond = new AtomicLong();
  private volatile @Nullable LockCount locks;

  /**
   * Meters of a service.
   *
   * @param store what decisions come from, for a label: {@code memory}, {@code redis}
   */
  Meters(String store) {
    this.latency =
        Timer.builder("sluice.decision")
            .description("Time from the call to its decision")
            .tag("source", store)
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
    this.overloads =
        Counter.builder("sluice.overloads")
            .description("Requests answered 503 because too many were in work")
            .register(registry);
    this.degradedSeconds =
        Counter.builder("sluice.degraded.seconds")
            .description("Seconds in which a call was decided without the store")
            .register(registry);
    for (Decision.CountedBy by : Decision.CountedBy.values()) {
      counted.put(
          by,
          Counter.builder("sluice.decisions.counted")
              .description("Decisions by what counted them")
              .tag("by", DecisionJson.text(by))
              .register(registry));
    }
    FAULTS_TO_EXPECT.forEach(this::faults);
    new JvmMemoryMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
  }

  /** Tells from now on how these stand, whenever somebody asks. */
  void watch(Limiter limiter, Store store) {
    Gauge.builder("sluice.rules", () -> limiter.rules().size())
        .description("Rules in force")
        .register(registry);
    Gauge.builder("sluice.rules.refused", () -> limiter.source().failure().isPresent() ? 1 : 0)
        .description("1 while newer rules are refused and the last good ones go on")
        .register(registry);
    LockCount counting = LockCount.start(limiter);
    locks = counting;
    Gauge.builder("sluice.locks", counting::value)
        .description("Accounts that were locked a few seconds ago; NaN if the store did not say")
        .register(registry);
    Gauge.builder("sluice.store.silent", () -> store.trouble().isPresent() ? 1 : 0)
        .description("1 while the store does not answer: rules decide at once, one call probes it")
        .register(registry);
    Gauge.builder("sluice.store.warnings", () -> store.warnings().size())
        .description("Warnings about the store; /health/ready has their texts")
        .register(registry);
  }

  /** Stops asking the store. */
  void close() {
    LockCount counting = locks;
    if (counting != null) {
      counting.close();
    }
  }

  PrometheusMeterRegistry registry() {
    return registry;
  }

  /** Counts a decision for every rule that the call named. */
  void decided(List<String> rules, Decision decision, long startNanos) {
    long now = System.nanoTime();
    latency.record(now - startNanos, TimeUnit.NANOSECONDS);
    int outcome = decision instanceof Decision.Unmetered ? 2 : decision.allowed() ? 0 : 1;
    for (String rule : rules) {
      counters(rule)[outcome].increment();
    }
    Decision.CountedBy by = decision.countedBy();
    Objects.requireNonNull(counted.get(by)).increment();
    if (by == Decision.CountedBy.LOCAL || by == Decision.CountedBy.NOBODY) {
      lastDegradedNanos.set(now);
      long second = TimeUnit.NANOSECONDS.toSeconds(now);
      if (lastDegradedSecond.getAndSet(second) != second) {
        degradedSeconds.increment();
      }
    }
    for (String rule : decision.shadowDenials()) {
      counters(rule)[3].increment();
    }
    countUncharged(decision.balances());
  }

  /** Counts what a record could not charge: of each account, at the limit that took the least. */
  private void countUncharged(List<Balance> balances) {
    Account account = null;
    long most = 0;
    for (Balance balance : balances) {
      if (account != null && !balance.account().equals(account)) {
        countUncharged(account.rule(), most);
        most = 0;
      }
      account = balance.account();
      most = Math.max(most, balance.uncharged());
    }
    if (account != null) {
      countUncharged(account.rule(), most);
    }
  }

  /** Counts what a settlement could not charge. */
  void settled(Receipt receipt, Settlement settlement, Settled settled) {
    if (settled.uncharged() > 0) {
      List<String> raised =
          receipt.entries().stream()
              .filter(entry -> settlement.costOf(entry) > entry.cost())
              .map(entry -> entry.account().rule())
              .distinct()
              .toList();
      countUncharged(raised.size() == 1 ? raised.get(0) : SEVERAL_RULES, settled.uncharged());
    }
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
            Counter.builder("sluice.uncharged")
                .description("Cost of records and settlements that no limit could take, by rule")
                .tag("rule", rule)
                .register(registry));
  }

  /** Counts a fault of the store. */
  void failed(StoreFault fault) {
    faults(fault.kind()).increment();
  }

  private Counter faults(String kind) {
    return faults.computeIfAbsent(
        kind,
        unknown ->
            Counter.builder("sluice.store.faults")
                .description("Calls that the store did not answer, by what went wrong")
                .tag("kind", kind)
                .register(registry));
  }

  void overloaded() {
    overloads.increment();
  }

  /** Whether calls are, just now, counted by this node alone or by nobody. */
  boolean isDegraded() {
    return System.nanoTime() - lastDegradedNanos.get() < DEGRADED_NANOS;
  }

  private Counter[] counters(String rule) {
    Counter[] known = decisions.get(rule);
    return known != null ? known : decisions.computeIfAbsent(rule, this::newCounters);
  }

  private Counter[] newCounters(String rule) {
    return List.of("allowed", "denied", "unmetered", "shadow-denied").stream()
        .map(
            outcome ->
                Counter.builder("sluice.decisions")
                    .description("Decisions by rule and outcome")
                    .tag("rule", rule)
                    .tag("outcome", outcome)
                    .register(registry))
        .toArray(Counter[]::new);
  }

  /** Makes the counters of rules that nobody has called yet, so that they read 0. */
  void expect(List<Rule> rules) {
    for (Rule rule : rules) {
      counters(rule.name());
      uncharged(rule.name());
    }
  }
}
