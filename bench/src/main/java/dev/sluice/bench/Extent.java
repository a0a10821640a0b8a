package dev.sluice.bench;

import java.io.PrintStream;

/**
 * How much is measured.
 *
 * @param rounds how often each contender has its turn where a promise hangs on it
 * @param fewerRounds how often elsewhere
 * @param millis how long a turn is
 * @param warmUpMillis how long each runs, at each number in flight, before anything counts
 * @param identities how many callers the uniform load picks from
 * @param weighed how many accounts of each are weighed
 * @param out where the progress bar goes
 */
record Extent(
    boolean isQuick,
    int rounds,
    int fewerRounds,
    long millis,
    long warmUpMillis,
    int identities,
    int weighed,
    PrintStream out) {

  /** Every suite within two minutes. */
  static Extent quick() {
    return new Extent(true, 6, 2, 250, 700, 100_000, 2_500, System.err);
  }

  /** All suites within twenty minutes. */
  static Extent full() {
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
