package dev.sluice.bench.suites;

import java.io.PrintStream;

/**
 * How long and how much a run measures.
 *
 * @param rounds rounds for figures that have a promise
 * @param fewerRounds rounds for all other figures
 * @param millis length of one measurement
 * @param warmUpMillis length of the warm-up for each number in flight
 * @param identities number of callers of the uniform load
 * @param weighed number of accounts whose memory is measured
 * @param out output of the progress bar
 */
public record Extent(
    boolean isQuick,
    int rounds,
    int fewerRounds,
    long millis,
    long warmUpMillis,
    int identities,
    int weighed,
    PrintStream out) {

  /** Every suite within four minutes, most of them within two. */
  public static Extent quick() {
    return new Extent(true, 6, 2, 250, 700, 100_000, 2_500, System.err);
  }

  /** All suites in about 35 minutes. */
  public static Extent full() {
    return new Extent(false, 7, 5, 1_500, 2_500, 100_000, 10_000, System.err);
  }

  /** Identities of 20 letters. */
  String[] names() {
    return names(identities);
  }

  static String[] names(int count) {
    String[] names = new String[count];
    for (int i = 0; i < count; i++) {
      String digits = Long.toString(i * 7_919L);
      names[i] = "member-0000000000000".substring(0, 20 - digits.length()) + digits;
    }
    return names;
  }
}
