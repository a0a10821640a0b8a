package dev.sluice.traffic;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;

/** A node that the collector has seen. Used under the monitor of its owner. */
final class KnownNode {
  /*
   * A node that does not report is kept for some time: after an outage of the store it comes back,
   * and what it decided meanwhile must not be missing.
   */
  private static final int LATENCY_SUMMARIES = 6;
  private static final int LONGEST_ABSENCE = 450; // reads of the collector: 15 minutes

  private final NodeClock clock;
  private final Deque<Sample> recent = new ArrayDeque<>();
  private NodeSummary last;
  private int absent;

  /** What a rate and a percentile of the last seconds are made of. */
  private record Sample(Instant at, long decisions, long[] latencies) {
    static Sample of(NodeSummary summary) {
      return new Sample(summary.at(), summary.total().sum(), summary.latencies());
    }
  }

  KnownNode(NodeSummary first, Instant read) {
    this.last = first;
    this.clock = new NodeClock(first.at(), read);
    recent.add(Sample.of(first));
  }

  /** Takes in the next summary. */
  void next(NodeSummary summary, Instant read) {
    clock.next(summary.at(), read);
    last = summary;
    recent.add(Sample.of(summary));
    if (recent.size() > LATENCY_SUMMARIES) {
      recent.remove();
    }
  }

  NodeSummary last() {
    return last;
  }

  /** When the last summary was made, by the clock of the collector. */
  Instant until() {
    return clock.until();
  }

  /** Notes whether the node was among those that report. */
  void seen(boolean present) {
    absent = present ? 0 : absent + 1;
  }

  boolean isAlive() {
    return absent == 0;
  }

  boolean isForgotten() {
    return absent > LONGEST_ABSENCE;
  }

  int absent() {
    return absent;
  }

  /** What the node does now. */
  Overview.NodeTraffic traffic() {
    long[] latencies = recentLatencies();
    return new Overview.NodeTraffic(
        last.node(),
        last.total(),
        perSecond(),
        Latency.percentile(latencies, 0.5),
        Latency.percentile(latencies, 0.99),
        last.faults(),
        last.failures());
  }

  private long[] recentLatencies() {
    long[] first = recent.getFirst().latencies;
    long[] latencies = last.latencies().clone();
    for (int i = 0; i < latencies.length && recent.size() > 1; i++) {
      latencies[i] -= first[i];
    }
    return latencies;
  }

  private double perSecond() {
    Sample first = recent.getFirst();
    double seconds = Duration.between(first.at, last.at()).toMillis() / 1000.0;
    return seconds <= 0 ? 0 : Math.max(0, last.total().sum() - first.decisions) / seconds;
  }
}
