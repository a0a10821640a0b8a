package dev.sluice.bench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Compares the ratios of a run with those of an earlier one, which is committed.
 *
 * @param committed the figures of the earlier run
 * @param tolerance how much worse a ratio may be: 0.25 allows 1.25 times as bad
 */
public record BenchCheck(Figures committed, double tolerance) {
  /*
   * Only ratios are compared. Both sides of a ratio are measured in turns within a few seconds, so
   * a busy machine slows both. How many times as bad a ratio has become is counted in the same way
   * for both directions: half of the decisions per second is two times as bad, and so is twice the
   * latency.
   */

  /**
   * Ratios to something that differs more between runs than any tolerance: 64 callers of Bucket4j
   * write one key until nobody else did.
   */
  private static final List<String> TOO_NOISY = List.of("redis.hot.vsBucket4j");

  /**
   * A ratio that has become worse.
   *
   * @param times how many times as bad it is
   */
  public record Worse(String key, double was, double is, double times) {
    /** Whether it does not depend on what else runs: CPU time and bytes do not. */
    public boolean holdsBesideOthers() {
      return key.matches(".*\\.(cpu|bytes)\\.vs.*") || key.equals("redis.costs.vsOne");
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "  %-46s %10.2f %10.2f   %.2f times as bad (%s is better)",
          key,
          was,
          is,
          times,
          Promise.isBetterHigher(key) ? "higher" : "lower");
    }
  }

  /** The ratios that are worse by more than the tolerance, in the order of measuring. */
  public List<Worse> worse(Figures measured) {
    List<Worse> worse = new ArrayList<>();
    measured
        .all()
        .forEach(
            (key, is) -> {
              double was = committed.get(key);
              double times = Promise.isBetterHigher(key) ? was / is : is / was;
              if (isCompared(key) && times > 1 + tolerance) { // not if one of both is NaN
                worse.add(new Worse(key, was, is, times));
              }
            });
    return worse;
  }

  /**
   * Ratios that only one of the two runs has.
   *
   * @param suites the suites that were run; what the earlier run has of others is not missing
   */
  public List<String> missing(Figures measured, List<String> suites) {
    List<String> missing = new ArrayList<>();
    lacking(committed, measured)
        .filter(key -> suites.contains(key.substring(0, key.indexOf('.'))))
        .forEach(key -> missing.add(key + ": not measured now"));
    lacking(measured, committed).forEach(key -> missing.add(key + ": not in the committed run"));
    return missing;
  }

  private static Stream<String> lacking(Figures one, Figures other) {
    return one.all().keySet().stream()
        .filter(BenchCheck::isCompared)
        .filter(key -> !Double.isNaN(one.get(key)) && Double.isNaN(other.get(key)));
  }

  /** Why the runs cannot be compared: other cores or another Redis. Empty if they can. */
  public List<String> differences(Figures measured) {
    List<String> differences = new ArrayList<>();
    for (Map.Entry<String, Double> fact : measured.all().entrySet()) {
      String key = fact.getKey();
      double was = committed.get(key);
      if (key.startsWith(Figures.MACHINE) && !Double.isNaN(was) && was != fact.getValue()) {
        differences.add(
            "%s: %.0f (expected: %.0f, as in the committed run)"
                .formatted(key, fact.getValue(), was));
      }
    }
    return differences;
  }

  private static boolean isCompared(String key) {
    return Promise.isRatio(key) && !TOO_NOISY.contains(key);
  }
}
