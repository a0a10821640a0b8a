package dev.sluice.redis.prove;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** The program behind {@code ./sluice prove}: decide under faults, record, check, report. */
final class Prove {
  private static final String USAGE =
      """
      usage: ./sluice prove [--decisions N] [--minutes M] [--seed S] [--evalsha]

        --decisions N  how many decisions at least, both topologies together (default: 1,000,000)
        --minutes M    when to end at the latest (default: 15)
        --seed S       repeats the sequence of faults of an earlier run (default: another each time)
        --evalsha      decide by the script alone, as on a Redis without functions

      exit code: 0 no promise was broken, 1 one was, 2 wrong usage, 3 the run was not completed
      """;
  private static final long USUAL_PER_SECOND = 1_500;
  private static final Duration CALM = Duration.ofSeconds(1);

  /**
   * What to run.
   *
   * @param perSecond the pace of decisions
   * @param calm the time between two faults
   * @param functions whether decisions use functions where Redis has them
   * @param folder where the histories are kept
   */
  record Options(
      long seed,
      long decisions,
      Duration most,
      long perSecond,
      Duration calm,
      boolean functions,
      Path folder) {
    static Options of(String[] arguments, Path folder) {
      long seed = System.currentTimeMillis() % 1_000_000;
      long decisions = 1_000_000;
      long minutes = 15;
      boolean functions = true;
      for (int i = 0; i < arguments.length; i++) {
        switch (arguments[i]) {
          case "--seed" -> seed = number(arguments, i++, 0);
          case "--decisions" -> decisions = number(arguments, i++, 1);
          case "--minutes" -> minutes = number(arguments, i++, 1);
          case "--evalsha" -> functions = false;
          default ->
              throw new IllegalArgumentException(
                  arguments[i] + " (expected: --decisions, --minutes, --seed or --evalsha)");
        }
      }
      // The servers and the check need time, too: the callers get seven tenths.
      long needed = decisions * 10 / (minutes * 60 * 7);
      long perSecond = Math.max(USUAL_PER_SECOND, needed);
      return new Options(
          seed, decisions, Duration.ofMinutes(minutes), perSecond, CALM, functions, folder);
    }

    private static long number(String[] arguments, int option, long least) {
      if (option + 1 == arguments.length) {
        throw new IllegalArgumentException(arguments[option] + ": no value (expected: a number)");
      }
      String text = arguments[option + 1];
      try {
        long number = Long.parseLong(text.replace("_", "").replace(",", ""));
        if (number >= least && number <= 1_000_000_000) {
          return number;
        }
      } catch (NumberFormatException e) {
        // reported below
      }
      throw new IllegalArgumentException(
          "%s: %s (expected: a number from %d to 1,000,000,000)"
              .formatted(arguments[option], text, least));
    }
  }

  private Prove() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    if (List.of(arguments).contains("--help") || List.of(arguments).contains("-h")) {
      out.print(USAGE);
      return;
    }
    Options options;
    try {
      options = Options.of(arguments, Path.of(System.getProperty("sluice.prove", "target/prove")));
    } catch (IllegalArgumentException e) {
      System.err.println("prove: " + e.getMessage());
      System.err.print(USAGE);
      System.exit(2);
      return;
    }
    try {
      Report report = run(options, out);
      out.print(report.text());
      System.exit(report.exitCode());
    } catch (IOException | RuntimeException | Error e) {
      e.printStackTrace();
      System.err.println("prove: the run was not completed");
      System.exit(3);
    }
  }

  /** Runs on both topologies, one after the other. */
  static Report run(Options options, PrintStream out) throws IOException, InterruptedException {
    out.printf(
        "At least %,d decisions by %d processes, half on one Redis and half on a Cluster,"
            + " at about %,d a second%s, with faults; seed %d.%n",
        options.decisions,
        Callers.PROCESSES,
        options.perSecond,
        options.functions ? "" : ", all by EVALSHA",
        options.seed);
    List<Supplier<Site>> sites = List.of(Site::single, Site::cluster);
    long end = System.nanoTime() + options.most.toNanos();
    List<Part> parts = new ArrayList<>();
    for (Supplier<Site> site : sites) {
      int left = sites.size() - parts.size();
      Duration most = Duration.ofNanos((end - System.nanoTime()) / left);
      parts.add(Part.run(site, options, options.decisions / sites.size(), most, out));
    }
    return new Report(options.seed, parts);
  }
}
