package dev.sluice.bench;

import java.io.PrintStream;

/**
 * How much is measured.
 *
 * @param rounds how often each contender has its turn
 * @param millis how long a turn is
 * @param warmUpMillis how long each runs before anything counts
 * @param identities how many callers the uniform load picks from
 * @param out where the progress bar goes
 */
record Extent(
    boolean isQuick, int rounds, long millis, long warmUpMillis, int identities, PrintStream out) {

  static Extent quick() {
    return new Extent(true, 3, 400, 1_000, 100_000, System.err);
  }

  static Extent full() {
    return new Extent(false, 7, 2_000, 5_000, 100_000, System.err);
  }

  /** Identities of 20 letters. */
  String[] names() {
    return names(identities);
  }

  static String[] names(int count) {
    String[] names = new String[count];
    for (int i = 0; i < count; i++) {
      names[i] = "member-%013d".formatted(i * 7_919L);
    }
    return names;
  }
}
