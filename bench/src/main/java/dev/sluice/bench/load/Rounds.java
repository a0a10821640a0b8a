package dev.sluice.bench.load;

import dev.sluice.bench.servers.Usage;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;

/** Runs contenders on Redis in interleaved rounds, so that noise affects all of them equally. */
public final class Rounds {
  /*
   * A ratio is computed within each round, and the median of the rounds is reported. So if the
   * machine is busy for a moment, that spoils one round and not the figure. Each round begins with
   * another contender, so that none always follows the same one.
   */
  private final Function<Contender, Usage> usages;
  private final String[] identities;
  private final boolean passing;
  private final Map<String, List<Sample>> samples = new LinkedHashMap<>();

  /** The result of one contender in one round. */
  public record Sample(ClosedLoop.Seen seen, double cpuMicros, long commands, long scriptCalls) {
    public double perSecond() {
      return seen.perSecond();
    }

    public double cpuPerDecision() {
      return cpuMicros / seen.decisions();
    }

    public double commandsPerDecision() {
      return (double) commands / seen.decisions();
    }

    public double scriptCallsPerDecision() {
      return (double) scriptCalls / seen.decisions();
    }
  }

  /** Rounds of contenders that all share one Redis. */
  public Rounds(Usage shared, String[] identities, boolean passing) {
    this(contender -> shared, identities, passing);
  }

  /**
   * Rounds over these identities.
   *
   * @param usages the Redis of each contender
   * @param passing whether all calls must pass or all must be denied; otherwise something else was
   *     measured
   */
  public Rounds(Function<Contender, Usage> usages, String[] identities, boolean passing) {
    this.usages = usages;
    this.identities = identities;
    this.passing = passing;
  }

  /**
   * Runs all contenders in turns with each of these numbers in flight, without measuring: so the
   * compiler can finish the code of one while others run.
   */
  public static void warmUp(
      List<Contender> contenders,
      String[] identities,
      List<Integer> inFlight,
      long millis,
      Progress progress) {
    contenders.forEach(contender -> contender.prepare(identities));
    for (int many : inFlight) {
      for (Contender contender : contenders) {
        progress.next(contender.name() + ", warming up");
        ClosedLoop.run(contender.asked(many), identities, many, millis);
      }
    }
  }

  /** Runs all contenders in turns, this many times. */
  public Rounds run(
      List<Contender> contenders, int inFlight, int rounds, long millis, Progress progress) {
    for (int round = 0; round < rounds; round++) {
      for (int turn = 0; turn < contenders.size(); turn++) {
        Contender contender = contenders.get((turn + round) % contenders.size());
        progress.next(contender.name() + ", " + inFlight + " in flight");
        samples
            .computeIfAbsent(contender.name(), name -> new ArrayList<>())
            .add(sample(contender, inFlight, millis));
      }
    }
    return this;
  }

  private Sample sample(Contender contender, int inFlight, long millis) {
    Function<String, CompletionStage<Boolean>> asked = contender.asked(inFlight);
    Usage usage = usages.apply(contender);
    long commands = usage.calls("");
    long scripts = usage.scriptCalls();
    double cpu = usage.cpuMicros();
    ClosedLoop.Seen seen = ClosedLoop.run(asked, identities, inFlight, millis);
    double used = usage.cpuMicros() - cpu;
    check(contender, seen, passing);
    return new Sample(seen, used, usage.calls("") - commands, usage.scriptCalls() - scripts);
  }

  /** Throws if calls passed that should be denied, or the other way round. */
  public static void check(Contender contender, ClosedLoop.Seen seen, boolean passing) {
    long few = Math.max(2, seen.decisions() / 100);
    long passed = seen.passed();
    if (seen.failed() > few || (passing ? passed < seen.decisions() - few : passed > few)) {
      throw new IllegalStateException(
          "%s: of %d calls %d passed and %d failed (expected: %s passed, none failed)"
              .formatted(
                  contender.name(),
                  seen.decisions(),
                  passed,
                  seen.failed(),
                  passing ? "all" : "none"));
    }
  }

  /** The median over the rounds. */
  public double median(String name, ToDoubleFunction<Sample> figure) {
    return median(of(name).stream().mapToDouble(figure).toArray());
  }

  /** The median of the ratio of two contenders within a round. */
  public double ratio(String name, String other, ToDoubleFunction<Sample> figure) {
    List<Sample> these = of(name);
    List<Sample> those = of(other);
    double[] ratios = new double[Math.min(these.size(), those.size())];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = figure.applyAsDouble(these.get(i)) / figure.applyAsDouble(those.get(i));
    }
    return median(ratios);
  }

  /** The median latency over all rounds. */
  public double p50Micros(String name) {
    return latencies(name).getValueAtPercentile(50) / 1e3;
  }

  /**
   * The ratio of two median latencies, each over all rounds together. With one in flight the kernel
   * puts client and Redis on one core or on two, and waking the other core takes longer than an
   * INCR. So rounds differ more than contenders do.
   */
  public double p50Ratio(String name, String other) {
    return p50Micros(name) / p50Micros(other);
  }

  /** The latencies of all rounds. */
  public Histogram latencies(String name) {
    Histogram all = new Histogram(3);
    of(name).forEach(sample -> all.add(sample.seen.nanos()));
    return all;
  }

  private List<Sample> of(String name) {
    return samples.getOrDefault(name, List.of());
  }

  public static double median(double... values) {
    if (values.length == 0) {
      return Double.NaN;
    }
    double[] sorted = values.clone();
    java.util.Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
