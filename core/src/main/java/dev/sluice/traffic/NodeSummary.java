package dev.sluice.traffic;

import dev.sluice.store.SharedData;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one node has decided since it started, as it shares it every two seconds.
 *
 * @param node who it is
 * @param at when the summary was made, by the clock of the node
 * @param counts decisions by rule, all rules added up for the whole node
 * @param limits refusals by rule and limit
 * @param faults calls that the store did not answer, by kind
 * @param failures calls without a decision
 * @param latencies calls by the bucket of their latency
 */
record NodeSummary(
    NodeInfo node,
    Instant at,
    Map<String, Tally> counts,
    Map<Traffic.LimitName, Long> limits,
    Map<String, Long> faults,
    long failures,
    long[] latencies) {

  private static final int VERSION = 1;

  /** What is left for everything but the counts of rules and limits. */
  private static final int LONGEST_COUNTS = SharedData.LONGEST_VALUE - 65_536;

  static NodeSummary of(NodeInfo node, Traffic traffic, Instant at) {
    Map<String, Tally> counts = new HashMap<>();
    traffic
        .counts()
        .forEach((count, n) -> counts.merge(count.rule(), Tally.of(count, n), Tally::plus));
    return new NodeSummary(
        node,
        at,
        counts,
        traffic.limits(),
        traffic.faults(),
        traffic.failures(),
        traffic.latencies());
  }

  /** Decisions of all rules together. */
  Tally total() {
    return counts.values().stream().reduce(Tally.NONE, Tally::plus);
  }

  /** The summary as nodes share it. Of the limits, those that refused most. */
  String text() {
    Lines lines = new Lines();
    lines.add("sluice", VERSION);
    lines.add("node", node.host(), node.pid(), node.program(), node.version());
    lines.add("times", node.since().toEpochMilli(), at.toEpochMilli());
    lines.add("rules", node.rules(), node.rulesVersion());
    lines.add("failure", cut(node.rulesFailure()));
    lines.add("trouble", cut(node.trouble()));
    node.warnings().stream().limit(10).forEach(warning -> lines.add("warning", cut(warning)));
    lines.add("failures", failures);
    faults.forEach((kind, n) -> lines.add("fault", kind, n));
    for (int i = 0; i < latencies.length; i++) {
      if (latencies[i] > 0) {
        lines.add("took", i, latencies[i]);
      }
    }
    writeCounts(lines);
    return lines.toString();
  }

  private void writeCounts(Lines lines) {
    counts.forEach((rule, tally) -> tally.write(lines, "rule", rule));
    limits.entrySet().stream()
        .sorted((a, b) -> Long.compare(b.getValue(), a.getValue()))
        .takeWhile(unused -> lines.length() < LONGEST_COUNTS)
        .forEach(
            entry ->
                lines.add(
                    "limit", entry.getKey().rule(), entry.getKey().limit(), entry.getValue()));
  }

  private static String cut(String text) {
    return text.substring(0, Math.min(text.length(), 500));
  }

  /** Reads what a node has written. */
  static NodeSummary read(String id, String text) {
    Reading reading = new Reading();
    Lines.read(text).forEach(reading::line);
    NodeInfo node =
        new NodeInfo(
            id,
            reading.host,
            reading.pid,
            reading.program,
            reading.version,
            Instant.ofEpochMilli(reading.since),
            (int) Math.min(Integer.MAX_VALUE, reading.rules),
            reading.rulesVersion,
            reading.failure,
            reading.trouble,
            List.copyOf(reading.warnings));
    return new NodeSummary(
        node,
        Instant.ofEpochMilli(reading.at),
        reading.counts,
        reading.limits,
        reading.faults,
        reading.failures,
        reading.latencies);
  }

  /** A text that is being read. */
  private static final class Reading {
    private String host = "";
    private long pid;
    private String program = "";
    private String version = "";
    private long since;
    private long at;
    private long rules;
    private String rulesVersion = "";
    private String failure = "";
    private String trouble = "";
    private final List<String> warnings = new ArrayList<>();
    private long failures;
    private final Map<String, Long> faults = new TreeMap<>();
    private final long[] latencies = new long[Latency.BUCKETS];
    private final Map<String, Tally> counts = new LinkedHashMap<>();
    private final Map<Traffic.LimitName, Long> limits = new LinkedHashMap<>();

    void line(List<String> words) {
      switch (words.get(0)) {
        case "node" -> {
          host = Lines.word(words, 1);
          pid = Lines.number(words, 2);
          program = Lines.word(words, 3);
          version = Lines.word(words, 4);
        }
        case "times" -> {
          since = Lines.number(words, 1);
          at = Lines.number(words, 2);
        }
        case "rules" -> {
          rules = Lines.number(words, 1);
          rulesVersion = Lines.word(words, 2);
        }
        case "failure" -> failure = Lines.word(words, 1);
        case "trouble" -> trouble = Lines.word(words, 1);
        case "warning" -> warnings.add(Lines.word(words, 1));
        case "failures" -> failures = Lines.number(words, 1);
        case "fault" -> faults.put(Lines.word(words, 1), Lines.number(words, 2));
        case "took" -> {
          int bucket = (int) Math.min(Latency.BUCKETS - 1, Lines.number(words, 1));
          latencies[bucket] += Lines.number(words, 2);
        }
        case "rule" -> counts.merge(Lines.word(words, 1), Tally.read(words, 2), Tally::plus);
        case "limit" ->
            limits.put(
                new Traffic.LimitName(Lines.word(words, 1), Lines.word(words, 2)),
                Lines.number(words, 3));
        default -> {} // of a newer version
      }
    }
  }

  @Override
  public boolean equals(Object object) {
    return object instanceof NodeSummary other
        && node.equals(other.node)
        && at.equals(other.at)
        && counts.equals(other.counts)
        && limits.equals(other.limits)
        && faults.equals(other.faults)
        && failures == other.failures
        && Arrays.equals(latencies, other.latencies);
  }

  @Override
  public int hashCode() {
    return node.hashCode();
  }
}
