package dev.sluice.traffic;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimiterListener;
import dev.sluice.Rules;
import dev.sluice.internal.Percent;
import dev.sluice.metrics.Counters;
import dev.sluice.metrics.Metrics;
import dev.sluice.store.StoreException;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;

/**
 * Counts what the limiters of one node decide, for summaries of the node. Thread-safe.
 *
 * <p>Counts are exact. Clients and refusals are sampled; memory is bounded whatever the number of
 * clients, rules and limits.
 */
public final class Traffic implements LimiterListener {
  /** The name under which rules beyond {@link #MOST_RULES} are counted together. */
  static final String OTHER = "(other)";

  static final int MOST_RULES = 1_000;
  private static final int MOST_LIMITS = 2_000;

  /** The most characters of all names of rules, so that a summary has room for each of them. */
  private static final int LONGEST_NAMES = 60_000;

  private static final int MOST_FAULTS = 100;
  static final int REFUSALS_A_SECOND = 50;

  /** Of the number that holds a second and how many refusals it has had. */
  private static final int COUNT_BITS = 24;

  private final InstantSource clock;
  private final String node;
  private final Map<Metrics.Count, LongAdder> counts = new ConcurrentHashMap<>();
  private final Counters<LongAdder> counters = new Counters<>(this::counter);
  private final Map<String, Boolean> rules = new ConcurrentHashMap<>();
  private final AtomicInteger namesLength = new AtomicInteger();
  private final Map<LimitName, LongAdder> limits = new ConcurrentHashMap<>();
  private final Map<String, Map<Limit, LongAdder>> limitsOfRules = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> faults = new ConcurrentHashMap<>();
  private final LongAdder failed = new LongAdder();
  private final Latency latency = new Latency();
  private final Clients busiest = new Clients();
  private final Clients refused = new Clients();

  private final ArrayBlockingQueue<SampledRefusal> refusals =
      new ArrayBlockingQueue<>(4 * REFUSALS_A_SECOND);
  private final AtomicLong refusalsOfSecond = new AtomicLong();
  private volatile boolean watched;
  private volatile Supplier<Optional<NodeSummary>> summary = Optional::empty;
  private volatile int refusalEvery = 1;

  // Used by the background thread.
  private long refusedBefore;

  /** A limit of a rule. */
  record LimitName(String rule, String limit) {}

  Traffic(String node, InstantSource clock) {
    this.node = node;
    this.clock = clock;
  }

  /** The traffic of a node with a random id. */
  public static Traffic create() {
    byte[] id = new byte[8];
    new SecureRandom().nextBytes(id);
    return new Traffic(HexFormat.of().formatHex(id), InstantSource.system());
  }

  String node() {
    return node;
  }

  @Override
  public void decided(Rules rules, Call call, Decision decision, long nanos) {
    latency.record(nanos);
    counters.of(rules, call, decision, LongAdder::increment);
    busiest.add(call, decision);
    if (!decision.allowed()) {
      refused.add(call, decision);
    }
    if (decision instanceof Decision.Denied denied) {
      denied(call, denied);
    }
  }

  private void denied(Call call, Decision.Denied denied) {
    if (call.rules().size() == 1) {
      Limit limit = denied.counted().decidingLimit();
      if (limit != null) {
        limit(call.rules().get(0), limit).increment();
      }
    } else {
      denied
          .deciding()
          .ifPresent(balance -> limit(balance.account().rule(), balance.limit()).increment());
    }
    if (watched) {
      sample(denied);
    }
  }

  /** The counter of a limit; of one that denied before it is found without making its text. */
  private LongAdder limit(String rule, Limit limit) {
    Map<Limit, LongAdder> ofRule = limitsOfRules.get(rule);
    LongAdder found = ofRule == null ? null : ofRule.get(limit);
    if (found != null) {
      return found;
    }
    LimitName name = new LimitName(known(rule), limit.toString());
    boolean isKnown = limits.containsKey(name) || limits.size() < MOST_LIMITS;
    LongAdder made =
        limits.computeIfAbsent(
            isKnown ? name : new LimitName(OTHER, OTHER), unknown -> new LongAdder());
    if (isKnown && name.rule.equals(rule)) {
      limitsOfRules.computeIfAbsent(rule, unknown -> new ConcurrentHashMap<>()).put(limit, made);
    }
    return made;
  }

  /** Keeps about 50 refusals of each second, at most. */
  private void sample(Decision decision) {
    int every = refusalEvery;
    if (every > 1 && ThreadLocalRandom.current().nextInt(every) != 0) {
      return;
    }
    Instant now = clock.instant();
    long second = now.getEpochSecond() << COUNT_BITS;
    long place =
        refusalsOfSecond.updateAndGet(
            last -> last >> COUNT_BITS == second >> COUNT_BITS ? last + 1 : second + 1);
    if (place - second <= REFUSALS_A_SECOND) {
      SampledRefusal.of(decision, node, now).ifPresent(refusals::offer);
    }
  }

  private LongAdder counter(Metrics.Count count) {
    LongAdder found = counts.get(count);
    if (found != null) {
      return found;
    }
    Metrics.Count bounded =
        new Metrics.Count(
            count.meter(), known(count.rule()), count.outcome(), count.countedBy(), count.locked());
    return counts.computeIfAbsent(bounded, unknown -> new LongAdder());
  }

  private String known(String rule) {
    if (rules.containsKey(rule)) {
      return rule;
    }
    if (rules.size() >= MOST_RULES || namesLength.get() + encodedLength(rule) > LONGEST_NAMES) {
      return OTHER;
    }
    if (rules.put(rule, true) == null) {
      namesLength.addAndGet(encodedLength(rule));
    }
    return rule;
  }

  private static int encodedLength(String name) {
    return Percent.encode(name).length();
  }

  @Override
  public void failed(Call call, Throwable error, long nanos) {
    failed.increment();
  }

  /** Counts a fault of the store. */
  public void fault(StoreException fault) {
    String kind =
        faults.containsKey(fault.kind()) || faults.size() < MOST_FAULTS ? fault.kind() : OTHER;
    faults.computeIfAbsent(kind, unknown -> new LongAdder()).increment();
  }

  // ---- For the background thread --------------------------------------------------------------

  /** Moves samples to the sketches, and adapts how many calls are sampled. */
  void turn() {
    busiest.drain();
    refused.drain();
    long sum = refused.calls();
    refusalEvery = (int) Math.max(1, (sum - refusedBefore) / (2 * REFUSALS_A_SECOND));
    refusedBefore = sum;
  }

  /** Sets who makes summaries of this node. */
  void summarizedBy(Supplier<Optional<NodeSummary>> maker) {
    this.summary = maker;
  }

  /** A summary of this node; empty if nobody makes any. */
  Optional<NodeSummary> summary() {
    return summary.get();
  }

  /** Says whether somebody looks at refusals now. */
  void watched(boolean watched) {
    this.watched = watched;
  }

  /** The refusals that were sampled since the last time. */
  List<SampledRefusal> takeRefusals() {
    List<SampledRefusal> taken = new ArrayList<>();
    refusals.drainTo(taken);
    return taken;
  }

  Map<Metrics.Count, Long> counts() {
    return sums(counts);
  }

  Map<LimitName, Long> limits() {
    return sums(limits);
  }

  Map<String, Long> faults() {
    return new TreeMap<>(sums(faults));
  }

  private static <K> Map<K, Long> sums(Map<K, LongAdder> adders) {
    Map<K, Long> sums = new HashMap<>();
    adders.forEach((key, adder) -> sums.put(key, adder.sum()));
    return sums;
  }

  long failures() {
    return failed.sum();
  }

  long[] latencies() {
    return latency.counts();
  }

  List<Clients.Client> busiest() {
    return busiest.top(Clients.SHARED);
  }

  List<Clients.Client> mostRefused() {
    return refused.top(Clients.SHARED);
  }
}
