package dev.sluice.traffic;

import dev.sluice.internal.Daemon;
import dev.sluice.internal.Stages;
import dev.sluice.store.SharedData;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Merges the summaries of all nodes: what they decide now, in the last 15 minutes and in the last
 * 24 hours. Thread-safe; memory is bounded.
 */
public final class Collector implements AutoCloseable {
  /*
   * Summaries count from the start of a node. What came since the one before is spread over the
   * time between both. `NodeClock` turns the times of a node into times of the collector, so clocks
   * of nodes need not agree. A node that is seen for the first time counts from then on, unless it
   * has just started.
   *
   * Summaries are up to two seconds old when they are read. So the present is left out until all
   * nodes have reported it, or are late.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Collector.class);
  private static final Duration SLOT = Duration.ofSeconds(2);
  private static final int SLOTS = 450; // 15 minutes
  private static final int RECENT_SLOTS = 5;
  private static final int LATENCY_SUMMARIES = 6;
  private static final Duration YOUNG = Duration.ofSeconds(20);
  private static final Duration LATE = Reporter.INTERVAL.multipliedBy(3);
  private static final int MOST_RULES = 50;
  private static final int MOST_LIMITS = 20;

  private final SharedData data;
  private final InstantSource clock;
  private final String id = UUID.randomUUID().toString();
  private final ScheduledExecutorService thread = Daemon.scheduled("sluice-collector");
  private final AtomicBoolean asking = new AtomicBoolean();
  private final Series series = new Series(SLOT, SLOTS);
  private final History history = new History();
  private final Map<String, Known> nodes = new HashMap<>();
  private Optional<String> trouble = Optional.empty();

  /** A node that is alive. */
  private static final class Known {
    private final NodeClock clock;
    private final Deque<NodeSummary> recent = new ArrayDeque<>();
    private NodeSummary last;

    Known(NodeSummary first, Instant now) {
      this.last = first;
      this.clock = new NodeClock(first.at(), now);
      recent.add(first);
    }

    void next(NodeSummary summary, Instant now) {
      clock.next(summary.at(), now);
      last = summary;
      recent.add(summary);
      if (recent.size() > LATENCY_SUMMARIES) {
        recent.remove();
      }
    }

    long[] recentLatencies() {
      long[] first = recent.getFirst().latencies();
      long[] latencies = last.latencies().clone();
      for (int i = 0; i < latencies.length && recent.size() > 1; i++) {
        latencies[i] -= first[i];
      }
      return latencies;
    }

    double perSecond() {
      NodeSummary first = recent.getFirst();
      double seconds = Duration.between(first.at(), last.at()).toMillis() / 1000.0;
      return seconds <= 0 ? 0 : last.total().since(first.total()).sum() / seconds;
    }
  }

  private Collector(SharedData data, InstantSource clock) {
    this.data = data;
    this.clock = clock;
  }

  /** Starts to read summaries. */
  public static Collector start(SharedData data) {
    Collector collector = new Collector(data, InstantSource.system());
    collector.readHistory(History.MOST);
    ScheduledFuture<?> unused =
        collector.thread.scheduleWithFixedDelay(
            collector::look, 0, SLOT.toMillis(), TimeUnit.MILLISECONDS);
    return collector;
  }

  /** A collector that reads only when a test says so. */
  static Collector idle(SharedData data, InstantSource clock) {
    return new Collector(data, clock);
  }

  /** Reads the summaries, unless the store has not answered the last time yet. */
  void look() {
    if (!asking.compareAndSet(false, true)) {
      return;
    }
    try {
      var unused =
          data.members(Reporter.NODES)
              .whenComplete(
                  (texts, error) -> {
                    asking.set(false);
                    if (error == null) {
                      learn(texts);
                    } else {
                      missed(error);
                    }
                  });
    } catch (RuntimeException e) {
      asking.set(false);
      missed(e);
    }
  }

  private synchronized void missed(Throwable error) {
    trouble = Optional.of(String.valueOf(Stages.cause(error).getMessage()));
    LOG.debug("Could not read the summaries of nodes", error);
  }

  private synchronized void learn(Map<String, String> texts) {
    Instant now = clock.instant();
    trouble = Optional.empty();
    series.advance(now);
    nodes.keySet().retainAll(texts.keySet());
    texts.forEach((node, text) -> learn(NodeSummary.read(node, text), now));
    String ended = history.turn(now);
    if (!ended.isEmpty()) {
      write(ended);
    }
  }

  private void learn(NodeSummary summary, Instant now) {
    Known known = nodes.get(summary.node().id());
    if (known == null) {
      Known first = new Known(summary, now);
      nodes.put(summary.node().id(), first);
      Duration age = Duration.between(summary.node().since(), summary.at());
      if (age.compareTo(YOUNG) < 0) {
        add(summary.counts(), Map.of(), first.clock.until().minus(age), first.clock.until());
      }
    } else if (!known.last.at().equals(summary.at())) {
      Map<String, Tally> before = known.last.counts();
      Instant from = known.clock.until();
      known.next(summary, now);
      add(summary.counts(), before, from, known.clock.until());
    }
  }

  private void add(Map<String, Tally> counts, Map<String, Tally> before, Instant from, Instant to) {
    counts.forEach(
        (rule, tally) -> {
          Tally more = tally.since(before.getOrDefault(rule, Tally.NONE));
          if (more.sum() > 0) {
            series.add(from, to, rule, more);
            history.add(rule, more);
          }
        });
  }

  /** Until when all nodes have reported what they decided. */
  private Instant complete() {
    Instant now = clock.instant();
    Instant late = now.minus(LATE);
    return nodes.values().stream()
        .map(known -> known.clock.until())
        .filter(until -> until.isAfter(late))
        .min(Comparator.naturalOrder())
        .orElse(now);
  }

  /** Writes a minute if this collector has the lease, and reads it back. */
  private void write(String minute) {
    var unused =
        data.lease(History.LEASE, id, History.LEASE_LENGTH)
            .thenCompose(
                mine ->
                    mine
                        ? data.append(History.LOG, List.of(minute), History.MOST, History.TTL)
                        : CompletableFuture.completedFuture(null))
            .whenComplete(
                (done, error) -> {
                  if (error == null) {
                    readHistory(3);
                  } else {
                    missed(error);
                  }
                });
  }

  void readHistory(int minutes) {
    var unused =
        data.newest(History.LOG, minutes, null)
            .whenComplete(
                (entries, error) -> {
                  if (error == null) {
                    learn(entries);
                  } else {
                    missed(error);
                  }
                });
  }

  private synchronized void learn(List<SharedData.Entry> entries) {
    history.learn(entries, clock.instant());
  }

  /** Why the summaries could not be read the last time; empty if they were. */
  public synchronized Optional<String> trouble() {
    return trouble;
  }

  /** What all nodes do now. */
  public synchronized Overview overview() {
    List<Overview.NodeTraffic> alive = new ArrayList<>();
    Map<String, Tally> rules = new HashMap<>();
    Map<Traffic.LimitName, Long> limits = new HashMap<>();
    Tally total = Tally.NONE;
    for (Known known : nodes.values()) {
      NodeSummary summary = known.last;
      long[] latencies = known.recentLatencies();
      alive.add(
          new Overview.NodeTraffic(
              summary.node(),
              summary.total(),
              known.perSecond(),
              Latency.percentile(latencies, 0.5),
              Latency.percentile(latencies, 0.99),
              summary.faults(),
              summary.failures()));
      total = total.plus(summary.total());
      summary.counts().forEach((rule, tally) -> rules.merge(rule, tally, Tally::plus));
      summary.limits().forEach((limit, denied) -> limits.merge(limit, denied, Long::sum));
    }
    alive.sort(Comparator.comparing(node -> node.node().since()));
    Instant complete = complete();
    return new Overview(
        clock.instant(),
        alive,
        total,
        rates("", complete),
        busiest(rules, complete),
        hardest(limits));
  }

  private Overview.Rates rates(String rule, Instant complete) {
    double[] recent = series.recent(rule, RECENT_SLOTS, complete);
    return new Overview.Rates(recent[0], recent[1], recent[2], recent[3]);
  }

  private List<Overview.RuleTraffic> busiest(Map<String, Tally> rules, Instant complete) {
    return rules.entrySet().stream()
        .sorted(
            Comparator.<Map.Entry<String, Tally>>comparingLong(entry -> -entry.getValue().sum())
                .thenComparing(Map.Entry::getKey))
        .limit(MOST_RULES)
        .map(
            entry ->
                new Overview.RuleTraffic(
                    entry.getKey(), entry.getValue(), rates(entry.getKey(), complete)))
        .toList();
  }

  private static List<Overview.LimitTraffic> hardest(Map<Traffic.LimitName, Long> limits) {
    return limits.entrySet().stream()
        .sorted(
            Comparator.<Map.Entry<Traffic.LimitName, Long>>comparingLong(entry -> -entry.getValue())
                .thenComparing(entry -> entry.getKey().toString()))
        .limit(MOST_LIMITS)
        .map(
            entry ->
                new Overview.LimitTraffic(
                    entry.getKey().rule(), entry.getKey().limit(), entry.getValue()))
        .toList();
  }

  /** The last 15 minutes of a rule, or of all rules if the name is empty. */
  public synchronized Points last15Minutes(String rule) {
    return series.points(rule, complete());
  }

  /** The last 24 hours of a rule, or of all rules if the name is empty. */
  public synchronized Points last24Hours(String rule) {
    return history.points(rule, clock.instant());
  }

  /** The clients of all nodes with the most calls and refusals. */
  public CompletionStage<TopClients> clients() {
    return data.members(Reporter.CLIENTS).thenApply(texts -> TopClients.merge(texts.values()));
  }

  /** Asks all nodes to share refusals for the next ten seconds. */
  public CompletionStage<Void> watch() {
    return data.put(Reporter.WATCHING, id, Reporter.TTL);
  }

  /** The refusals that nodes have shared lately, newest first. */
  public CompletionStage<List<SampledRefusal>> refusals(int limit) {
    return data.newest(Reporter.REFUSALS, limit, null)
        .thenApply(
            entries ->
                entries.stream()
                    .map(each -> SampledRefusal.read(each.text()))
                    .flatMap(Optional::stream)
                    .toList());
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
