package dev.sluice.traffic;

import dev.sluice.LimiterListener;
import dev.sluice.internal.Daemon;
import dev.sluice.internal.Stages;
import dev.sluice.store.SharedData;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
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
   *
   * While the store does not answer, the summary of this process is all there is, and is shown. The
   * others come back after that, with what they decided meanwhile.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Collector.class);
  private static final Duration SLOT = Duration.ofSeconds(2);
  private static final int SLOTS = 450; // 15 minutes
  private static final int RECENT_SLOTS = 5;
  private static final Duration YOUNG = Duration.ofSeconds(20);
  private static final Duration LATE = Reporter.INTERVAL.multipliedBy(3);
  private static final int MOST_RULES = 50;
  private static final int MOST_LIMITS = 20;
  private static final int MOST_KNOWN = 4 * SharedData.MOST_MEMBERS;

  private final SharedData data;
  private final Optional<Traffic> own;
  private final InstantSource clock;
  private final String id = UUID.randomUUID().toString();
  private final ScheduledExecutorService thread;
  private final Executor reader;
  private final AtomicBoolean asking = new AtomicBoolean();
  private final Series series = new Series(SLOT, SLOTS);
  private final History history = new History();
  private final LastMinutes<String, Tally> lateRules = new LastMinutes<>(Tally::plus);
  private final LastMinutes<Traffic.LimitName, Long> lateLimits = new LastMinutes<>(Long::sum);
  private final Map<String, KnownNode> nodes = new HashMap<>();
  private final Names names = new Names();
  private Instant readSince = Instant.MAX;
  private Instant lastRead = Instant.MIN;
  private Optional<String> trouble = Optional.empty();
  private boolean historyIsRead;

  /**
   * A collector.
   *
   * @param reader reads what the store answers; with many nodes that takes time, in which the store
   *     has others to answer
   */
  private Collector(
      SharedData data,
      Optional<Traffic> own,
      InstantSource clock,
      ScheduledExecutorService thread,
      Executor reader) {
    this.data = data;
    this.own = own;
    this.clock = clock;
    this.thread = thread;
    this.reader = reader;
  }

  /**
   * Starts to read the summaries of the nodes of a store.
   *
   * @param data of the store
   * @param listener of the store, which has what this process decides
   */
  public static Collector start(SharedData data, Optional<LimiterListener> listener) {
    Optional<Traffic> own = listener.filter(Traffic.class::isInstance).map(Traffic.class::cast);
    ScheduledExecutorService thread = Daemon.scheduled("sluice-collector");
    Collector collector = new Collector(data, own, InstantSource.system(), thread, thread);
    ScheduledFuture<?> unused =
        collector.thread.scheduleWithFixedDelay(
            collector::look, 0, SLOT.toMillis(), TimeUnit.MILLISECONDS);
    return collector;
  }

  /** A collector that reads only when a test says so. */
  static Collector idle(SharedData data, InstantSource clock) {
    return idle(data, Optional.empty(), clock);
  }

  /** A collector of a process that decides, too. */
  static Collector idle(SharedData data, Optional<Traffic> own, InstantSource clock) {
    return new Collector(data, own, clock, Daemon.scheduled("sluice-collector"), Runnable::run);
  }

  /** Reads the summaries, unless the store has not answered the last time yet. */
  void look() {
    if (!asking.compareAndSet(false, true)) {
      return;
    }
    try {
      var unused =
          data.members(Reporter.NODES)
              .whenCompleteAsync(
                  (texts, error) -> {
                    asking.set(false);
                    if (error == null) {
                      learn(texts);
                    } else {
                      missed(error);
                    }
                  },
                  reader);
    } catch (RuntimeException e) {
      asking.set(false);
      missed(e);
    }
  }

  private void missed(Throwable error) {
    LOG.debug("Could not read the summaries of nodes", error);
    Optional<NodeSummary> alone = own.flatMap(Traffic::summary);
    synchronized (this) {
      trouble = Optional.of(String.valueOf(Stages.cause(error).getMessage()));
      if (alone.isPresent()) {
        Instant now = clock.instant();
        series.advance(now);
        nodes.values().stream().filter(KnownNode::isAlive).forEach(node -> node.seen(false));
        learn(alone.get(), now);
      }
    }
  }

  private synchronized void learn(Map<String, String> texts) {
    Instant now = clock.instant();
    trouble = Optional.empty();
    if (lastRead.isBefore(now.minus(LATE))) {
      readSince = now;
    }
    lastRead = now;
    series.advance(now);
    texts.forEach((node, text) -> learn(names.of(NodeSummary.read(node, text)), now));
    nodes.forEach((node, known) -> known.seen(texts.containsKey(node)));
    forget();
    lateRules.turn(now);
    lateLimits.turn(now);
    List<String> ended = history.turn(now, readSince);
    if (!ended.isEmpty()) {
      write(ended);
    }
    if (!historyIsRead) {
      readHistory(History.MOST);
    }
  }

  private void forget() {
    nodes.values().removeIf(KnownNode::isForgotten);
    while (nodes.size() > MOST_KNOWN) {
      nodes.entrySet().stream()
          .max(Comparator.comparingInt(entry -> entry.getValue().absent()))
          .ifPresent(longest -> nodes.remove(longest.getKey()));
    }
  }

  private void learn(NodeSummary summary, Instant now) {
    KnownNode known = nodes.get(summary.node().id());
    if (known == null) {
      KnownNode first = new KnownNode(summary, now);
      nodes.put(summary.node().id(), first);
      Duration age = Duration.between(summary.node().since(), summary.at());
      if (!age.isNegative() && age.compareTo(YOUNG) < 0) {
        add(summary, Map.of(), Map.of(), first.until().minus(age), first.until());
      }
      return;
    }
    known.seen(true);
    NodeSummary before = known.last();
    // Counts never go down. If they do, the store has an older summary than this process had.
    boolean older = summary.total().sum() < before.total().sum();
    if (!older && !before.at().equals(summary.at())) {
      Instant from = known.until();
      known.next(summary, now);
      add(summary, before.counts(), before.limits(), from, known.until());
    }
  }

  private void add(
      NodeSummary summary,
      Map<String, Tally> counts,
      Map<Traffic.LimitName, Long> limits,
      Instant from,
      Instant to) {
    summary
        .counts()
        .forEach(
            (rule, tally) -> {
              Tally more = tally.since(counts.getOrDefault(rule, Tally.NONE));
              if (more.sum() > 0) {
                series.add(from, to, rule, more);
                history.add(from, to, rule, more);
                lateRules.add(to, rule, more);
              }
            });
    summary
        .limits()
        .forEach(
            (limit, denied) -> {
              long more = denied - limits.getOrDefault(limit, 0L);
              if (more > 0) {
                lateLimits.add(to, limit, more);
              }
            });
  }

  /** Until when all nodes have reported what they decided. */
  private Instant complete() {
    Instant now = clock.instant();
    Instant late = now.minus(LATE);
    return nodes.values().stream()
        .filter(KnownNode::isAlive)
        .map(KnownNode::until)
        .filter(until -> until.isAfter(late))
        .min(Comparator.naturalOrder())
        .orElse(now);
  }

  /** Writes minutes if this collector has the lease, and reads them back. */
  private void write(List<String> minutes) {
    var unused =
        data.lease(History.LEASE, id, History.LEASE_LENGTH)
            .thenCompose(
                mine ->
                    mine
                        ? data.append(History.LOG, minutes, History.MOST, History.TTL)
                        : CompletableFuture.completedFuture(null))
            .whenComplete(
                (done, error) -> {
                  if (error == null) {
                    readHistory(minutes.size() + 2);
                  } else {
                    LOG.debug("Could not write the roll-up of a minute", error);
                  }
                });
  }

  void readHistory(int minutes) {
    var unused =
        data.newest(History.LOG, minutes, null)
            .whenComplete(
                (entries, error) -> {
                  if (error == null) {
                    learn(entries, minutes);
                  } else {
                    LOG.debug("Could not read the roll-ups", error);
                  }
                });
  }

  private synchronized void learn(List<SharedData.Entry> entries, int asked) {
    historyIsRead |= asked == History.MOST;
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
    Tally total = Tally.NONE;
    for (KnownNode known : nodes.values()) {
      if (known.isAlive()) {
        alive.add(known.traffic());
        total = total.plus(known.last().total());
        known.last().counts().forEach((rule, tally) -> rules.merge(rule, tally, Tally::plus));
      }
    }
    alive.sort(Comparator.comparing(node -> node.node().since()));
    Instant complete = complete();
    return new Overview(
        clock.instant(),
        alive,
        total,
        rates("", complete),
        busiest(rules, lateRules.sums(), complete),
        hardest(lateLimits.sums()));
  }

  private Overview.Rates rates(String rule, Instant complete) {
    double[] recent = series.recent(rule, RECENT_SLOTS, complete);
    return new Overview.Rates(recent[0], recent[1], recent[2], recent[3]);
  }

  /** The rules of nodes that are alive, those with the most decisions lately first. */
  private List<Overview.RuleTraffic> busiest(
      Map<String, Tally> rules, Map<String, Tally> lately, Instant complete) {
    return rules.entrySet().stream()
        .map(
            entry ->
                new Overview.RuleTraffic(
                    entry.getKey(),
                    entry.getValue(),
                    lately.getOrDefault(entry.getKey(), Tally.NONE),
                    rates(entry.getKey(), complete)))
        .sorted(
            Comparator.<Overview.RuleTraffic>comparingLong(rule -> -rule.lately().sum())
                .thenComparingLong(rule -> -rule.total().sum())
                .thenComparing(Overview.RuleTraffic::rule))
        .limit(MOST_RULES)
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
    return refusalsAfter("", limit).thenApply(Refusals::newestFirst);
  }

  /**
   * The refusals that were shared after some others, newest first, at most so many.
   *
   * @param last the {@link Refusals#last} of those; empty for all
   */
  public CompletionStage<Refusals> refusalsAfter(String last, int limit) {
    return data.newest(Reporter.REFUSALS, limit, null)
        .thenApply(
            entries -> {
              // A log that was removed can start again with lower ids.
              boolean all =
                  last.isEmpty()
                      || (!entries.isEmpty()
                          && !entries.get(0).id().equals(last)
                          && !entries.get(0).isAfter(last));
              List<SharedData.Entry> fresh =
                  entries.stream().filter(entry -> all || entry.isAfter(last)).toList();
              return new Refusals(
                  fresh.stream()
                      .map(entry -> SampledRefusal.read(entry.text()))
                      .flatMap(Optional::stream)
                      .sorted(Comparator.comparing(SampledRefusal::at).reversed())
                      .toList(),
                  fresh.isEmpty() ? last : fresh.get(0).id());
            });
  }

  /**
   * Refusals that nodes have shared.
   *
   * @param last the place of the newest one among all that were shared; not a time, because clocks
   *     of nodes differ
   */
  public record Refusals(List<SampledRefusal> newestFirst, String last) {}

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
