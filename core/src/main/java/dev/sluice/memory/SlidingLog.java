package dev.sluice.memory;

import dev.sluice.Limit;
import dev.sluice.Receipt;

/**
 * Sliding log: admits at most its limit in any interval of length {@code window}, and denies a call
 * only if admitting it would exceed that.
 *
 * <p>Two numbers: the usage when the row was written, and the number of the newest entry. Beside
 * them are the entries, oldest first. A call is one entry, whatever it costs.
 */
final class SlidingLog extends Kind {
  /*
   * An entry is two longs: its time, and its weight packed together with its number (relative to
   * its time). Later entries have higher numbers.
   */
  private static final int ENTRY = 2;
  private static final int WEIGHT_BITS = 20; // enough for the largest log

  private final long window;

  SlidingLog(Limit.SlidingLog limit, int at) {
    super(limit, at, 1);
    this.window = limit.windowMicros();
  }

  @Override
  int width() {
    return 2;
  }

  @Override
  boolean isSame(Kind other) {
    return other instanceof SlidingLog log && log.window == window;
  }

  private static long weight(Numbers log, int i) {
    return log.get(i + 1) & ((1L << WEIGHT_BITS) - 1);
  }

  private static long number(Numbers log, int i) {
    return log.get(i) + (log.get(i + 1) >> WEIGHT_BITS);
  }

  private static void lighten(Numbers log, int i, long amount) {
    log.set(i + 1, log.get(i + 1) - amount);
  }

  /** The index of the first entry that counts at a time. */
  private int firstCounting(Numbers log, long now) {
    int i = 0;
    while (i < log.size() && log.get(i) <= now - window) {
      i += ENTRY;
    }
    return i;
  }

  @Override
  long usedLater(Row row, long now) {
    Numbers log = row.queue(at);
    long used = row.numbers[at];
    for (int i = firstCounting(log, now) - ENTRY; i >= 0; i -= ENTRY) {
      used -= weight(log, i);
    }
    return used;
  }

  @Override
  void advance(Row row, long now) {
    Numbers log = row.queue(at);
    row.numbers[at] = usedLater(row, now);
    log.removeFirst(firstCounting(log, now));
  }

  @Override
  long add(Row row, long now, long amount) {
    Numbers log = row.queue(at);
    row.numbers[at] += amount;
    long number = Math.max(row.numbers[at + 1] + 1, now);
    row.numbers[at + 1] = number;
    log.add(now);
    log.add(((number - now) << WEIGHT_BITS) + amount);
    return number;
  }

  @Override
  void drop(Row row, long amount) {
    Numbers log = row.queue(at);
    long left = amount;
    while (left >= weight(log, 0)) {
      left -= weight(log, 0);
      log.removeFirst(ENTRY);
    }
    lighten(log, 0, left);
    row.numbers[at] -= amount;
  }

  @Override
  long opensAfter(Row row, long now, long amount) {
    Numbers log = row.queue(at);
    int i = firstCounting(log, now);
    for (long back = weight(log, i); back < amount; back += weight(log, i)) {
      i += ENTRY;
    }
    return log.get(i) + window - now;
  }

  @Override
  long resetAfter(Row row, long now) {
    Numbers log = row.queue(at);
    return log.size() == 0 ? 0 : Math.max(0, log.get(log.size() - ENTRY) + window - now);
  }

  @Override
  long giveBack(Row row, long now, long amount, Receipt.Entry taken, Receipt.Mark mark) {
    Numbers log = row.queue(at);
    int i = place(log, mark.number());
    if (i < 0 || log.get(i) <= now - window) {
      return 0;
    }
    long less = Math.min(amount, weight(log, i));
    row.numbers[at] -= less;
    lighten(log, i, less);
    if (weight(log, i) == 0) {
      log.remove(i, ENTRY);
    }
    return 0;
  }

  /** The index of the entry with a number, or -1. */
  private static int place(Numbers log, long number) {
    int low = 0;
    int high = log.size() / ENTRY - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      long found = number(log, middle * ENTRY);
      if (found == number) {
        return middle * ENTRY;
      }
      if (found < number) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1;
  }

  @Override
  void convert(Kind from, Row old, Row row, long now) {
    // Entries keep their time, so another window simply sees more or fewer of them.
    Numbers log = old.queue(from.at);
    for (int i = 0; i < log.size(); i++) {
      row.queue(at).add(log.get(i));
    }
    row.numbers[at] = old.numbers[from.at];
    row.numbers[at + 1] = old.numbers[from.at + 1];
    advance(row, now);
  }
}
