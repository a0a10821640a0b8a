package dev.sluice.traffic;

import java.util.HashMap;
import java.util.Map;

/** Has all summaries of all nodes use the same texts for the same names, to save memory. */
final class Names {
  private static final int MOST = 20_000;

  private final Map<String, String> texts = new HashMap<>();
  private final Map<Traffic.LimitName, Traffic.LimitName> limits = new HashMap<>();

  NodeSummary of(NodeSummary summary) {
    if (texts.size() > MOST || limits.size() > MOST) {
      texts.clear();
      limits.clear();
    }
    Map<String, Tally> counts = new HashMap<>();
    summary.counts().forEach((rule, tally) -> counts.put(text(rule), tally));
    Map<Traffic.LimitName, Long> denied = new HashMap<>();
    summary.limits().forEach((limit, n) -> denied.put(limit(limit), n));
    return new NodeSummary(
        summary.node(),
        summary.at(),
        counts,
        denied,
        summary.faults(),
        summary.failures(),
        summary.latencies());
  }

  private String text(String name) {
    return texts.computeIfAbsent(name, same -> same);
  }

  private Traffic.LimitName limit(Traffic.LimitName limit) {
    Traffic.LimitName known = limits.get(limit);
    if (known == null) {
      known = new Traffic.LimitName(text(limit.rule()), text(limit.limit()));
      limits.put(known, known);
    }
    return known;
  }
}
