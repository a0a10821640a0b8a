package dev.sluice.bench.suites;

import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Measures decisions inside the JVM with JMH; each contender and round has a new JVM. */
public final class MemorySuite {
  /** Sluice with a token bucket, alone and with a listener, and the limiter they compare with. */
  private static final List<String> FIRST = List.of("sluice", "listener", "bucket4j");

  private static final List<String> OTHERS = List.of("guava", "resilience4j");

  /** Sluice with the other kinds of limits. */
  private static final List<String> KINDS = List.of("fixedWindow", "slidingWindow", "slidingLog");

  private static final int ITERATIONS = 10;
  private static final Map<String, String> PEERS =
      Map.of("bucket4j", "Bucket4j", "guava", "Guava", "resilience4j", "Resilience4j");

  /**
   * The settings of JMH.
   *
   * @param rounds rounds for Sluice's token bucket, with and without a listener, and Bucket4j
   * @param roundsOfKinds rounds for Sluice's other kinds of limits
   * @param roundsOfAll rounds for the other limiters
   * @param forks 1 for a new JVM, 0 for this one
   * @param warmUpMillis length of the warm-up; on two cores, where the compiler competes with the
   *     two threads, the rate rises for about three seconds
   * @param millis length of the measurement
   */
  record Pace(
      int rounds, int roundsOfKinds, int roundsOfAll, int forks, long warmUpMillis, long millis) {
    static Pace of(Extent extent) {
      return extent.isQuick()
          ? new Pace(3, 3, 1, 1, 4_000, 1_000)
          : new Pace(5, 3, 3, 1, 9_000, 3_000);
    }

    List<String> of(int round) {
      List<String> turns = new ArrayList<>(FIRST);
      if (round < roundsOfKinds) {
        turns.addAll(KINDS);
      }
      if (round < roundsOfAll) {
        turns.addAll(OTHERS);
      }
      return turns;
    }
  }

  private MemorySuite() {}

  public static void run(Extent extent, Figures figures) {
    run(Pace.of(extent), extent, figures);
  }

  public static void run(Pace pace, Extent extent, Figures figures) {
    Map<String, List<Double>> rates = new LinkedHashMap<>();
    Map<String, List<Double>> allocations = new LinkedHashMap<>();
    int turns =
        FIRST.size() * pace.rounds
            + KINDS.size() * pace.roundsOfKinds
            + OTHERS.size() * pace.roundsOfAll;
    Progress progress = new Progress(extent.out(), turns);
    for (int round = 0; round < pace.rounds; round++) {
      for (String contender : pace.of(round)) {
        progress.next(contender + ", in the JVM, 2 threads");
        RunResult result = run(contender, pace);
        rates
            .computeIfAbsent(contender, name -> new ArrayList<>())
            .add(result.getPrimaryResult().getScore());
        allocations.computeIfAbsent(contender, name -> new ArrayList<>()).add(allocated(result));
      }
    }
    progress.end();
    PEERS.forEach(
        (peer, name) ->
            figures.put("memory.vs" + name, ratio(of(rates, "sluice"), of(rates, peer))));
    figures.put("memory.listener.vsNone", ratio(of(rates, "listener"), of(rates, "sluice")));
    for (String kind : KINDS) {
      figures.put("memory." + kind + ".vsBucket4j", ratio(of(rates, kind), of(rates, "bucket4j")));
    }
    for (String contender : rates.keySet()) {
      double rate = Rounds.median(array(of(rates, contender)));
      figures.put("memory." + contender + ".perSecond", rate);
      figures.put("memory." + contender + ".nanosPerThread", 2e9 / rate);
      figures.put(
          "memory." + contender + ".bytesAllocated",
          Rounds.median(array(of(allocations, contender))));
    }
  }

  private static RunResult run(String contender, Pace pace) {
    ChainedOptionsBuilder options =
        new OptionsBuilder()
            .include("\\.MemoryBenchmark\\." + contender + "$")
            .forks(pace.forks)
            .threads(2)
            // Many short iterations: each enters the loop again, in its newest compiled form.
            .warmupIterations(ITERATIONS)
            .warmupTime(TimeValue.milliseconds(pace.warmUpMillis / ITERATIONS))
            .measurementIterations(2)
            .measurementTime(TimeValue.milliseconds(pace.millis / 2))
            .addProfiler(GCProfiler.class)
            .verbosity(VerboseMode.SILENT);
    try {
      Collection<RunResult> results = new Runner(options.build()).run();
      return results.iterator().next();
    } catch (RunnerException e) {
      throw new IllegalStateException(contender + ": JMH could not run it", e);
    }
  }

  private static double allocated(RunResult result) {
    for (Map.Entry<String, ? extends Result<?>> entry : secondary(result).entrySet()) {
      if (entry.getKey().endsWith("gc.alloc.rate.norm")) {
        return entry.getValue().getScore();
      }
    }
    return Double.NaN;
  }

  @SuppressWarnings({"rawtypes", "unchecked"}) // JMH declares raw results
  private static Map<String, ? extends Result<?>> secondary(RunResult result) {
    return (Map) result.getSecondaryResults();
  }

  private static double ratio(List<Double> these, List<Double> those) {
    double[] ratios = new double[Math.min(these.size(), those.size())];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = these.get(i) / those.get(i);
    }
    return Rounds.median(ratios);
  }

  private static List<Double> of(Map<String, List<Double>> lists, String name) {
    return lists.getOrDefault(name, List.of());
  }

  private static double[] array(List<Double> list) {
    return list.stream().mapToDouble(Double::doubleValue).toArray();
  }
}
