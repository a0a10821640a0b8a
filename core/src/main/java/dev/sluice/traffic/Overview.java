package dev.sluice.traffic;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * What all nodes of a store do.
 *
 * @param at when it was put together
 * @param nodes those that are alive
 * @param total what they have decided since each of them started
 * @param perSecond what they decide now
 * @param rules those with the most decisions in the last 15 minutes first
 * @param limits those that refused most in the last 15 minutes first
 */
public record Overview(
    Instant at,
    List<NodeTraffic> nodes,
    Tally total,
    Rates perSecond,
    List<RuleTraffic> rules,
    List<LimitTraffic> limits) {

  /** Decisions per second. */
  public record Rates(double allowed, double denied, double unmetered, double shadowDenied) {
    /** All decisions that were enforced. */
    public double enforced() {
      return allowed + denied + unmetered;
    }
  }

  /**
   * What one node does.
   *
   * @param p50Nanos of the last ten seconds; 0 without calls
   * @param faults of its store since it started, by kind
   * @param failures calls without a decision since it started
   */
  public record NodeTraffic(
      NodeInfo node,
      Tally total,
      double decisionsPerSecond,
      long p50Nanos,
      long p99Nanos,
      Map<String, Long> faults,
      long failures) {}

  /**
   * What all nodes decided by one rule.
   *
   * @param total since each of them started
   * @param lately in the last 15 minutes
   * @param perSecond now; NaN if that is not known
   */
  public record RuleTraffic(String rule, Tally total, Tally lately, Rates perSecond) {}

  /** How often a limit refused calls in the last 15 minutes. */
  public record LimitTraffic(String rule, String limit, long denied) {}
}
