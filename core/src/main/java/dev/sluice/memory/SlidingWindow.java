package dev.sluice.memory;

import dev.sluice.Limit;
import dev.sluice.Receipt;

/**
 * Sliding window: admits at most its limit in any interval of length {@code window}.
 *
 * <p>It keeps three numbers: the usage when the row was written, how much of it fell into the
 * newest part, and the first part that has a count. Beside them are the counts of the closed parts
 * from that one on. A part is one precision long. It counts in full while any moment of it is
 * within the window, so usage becomes available again up to one precision late.
 *
 * <p>Nearly every call falls into the same part as the call before and needs only the numbers.
 */
final class SlidingWindow extends Kind {
  private static final int NEWEST = 1;
  private static final int FIRST = 2;

  private final long window;
  private final long precision;

  SlidingWindow(Limit.SlidingWindow limit, int at) {
    super(limit, at, 1);
    this.window = limit.windowMicros();
    this.precision = limit.precisionMicros();
  }

  @Override
  int width() {
    return 3;
  }

  @Override
  boolean isSame(Kind other) {
    return other instanceof SlidingWindow sliding
        && sliding.precision == precision
        && sliding.window == window;
  }

  /** The part that contains a time. */
  private long part(long moment) {
    return Math.floorDiv(moment, precision);
  }

  /** The oldest part that counts at a time. */
  private long oldest(long now) {
    return part(now - window + 1);
  }

  /** When a part leaves the window. */
  private long leavesAt(long part) {
    return (part + 1) * precision - 1 + window;
  }

  /** How many closed parts there are when the row was written. */
  private int closed(Row row) {
    return row.numbers[at] == 0 ? 0 : (int) (part(row.written) - row.numbers[at + FIRST]);
  }

  private long count(Row row, int place) {
    return place == closed(row) ? row.numbers[at + NEWEST] : row.queue(at).get(place);
  }

  private void reduce(Row row, int place, long amount) {
    if (place == closed(row)) {
      row.numbers[at + NEWEST] -= amount;
    } else {
      row.queue(at).set(place, row.queue(at).get(place) - amount);
    }
  }

  /** How many parts have left the window. */
  private int gone(Row row, long now) {
    return (int) Math.max(0, Math.min(closed(row) + 1, oldest(now) - row.numbers[at + FIRST]));
  }

  @Override
  long usedLater(Row row, long now) {
    long used = row.numbers[at];
    if (used == 0 || oldest(now) <= row.numbers[at + FIRST]) {
      return used;
    }
    for (int i = gone(row, now) - 1; i >= 0; i--) {
      used -= count(row, i);
    }
    return used;
  }

  @Override
  void advance(Row row, long now) {
    long used = usedLater(row, now);
    if (used == 0) {
      row.numbers[at] = 0;
      row.numbers[at + NEWEST] = 0;
      return;
    }
    int gone = gone(row, now);
    long newParts = part(now) - part(row.written);
    if (gone > 0) {
      row.queue(at).removeFirst(gone);
      row.numbers[at + FIRST] += gone;
    }
    if (newParts > 0) {
      Numbers counts = row.queue(at);
      counts.add(row.numbers[at + NEWEST]);
      for (long i = newParts - 1; i > 0; i--) {
        counts.add(0);
      }
      row.numbers[at + NEWEST] = 0;
    }
    row.numbers[at] = used;
  }

  @Override
  long add(Row row, long now, long amount) {
    if (row.numbers[at] == 0) {
      row.numbers[at + FIRST] = part(now);
      row.clear(at);
    }
    row.numbers[at] += amount;
    row.numbers[at + NEWEST] += amount;
    return 0;
  }

  @Override
  void drop(Row row, long amount) {
    long left = amount;
    for (int i = 0; left > 0; i++) {
      long less = Math.min(left, count(row, i));
      reduce(row, i, less);
      left -= less;
    }
    row.numbers[at] -= amount;
  }

  @Override
  long opensAfter(Row row, long now, long amount) {
    int i = gone(row, now);
    for (long back = count(row, i); back < amount; back += count(row, i)) {
      i++;
    }
    return leavesAt(row.numbers[at + FIRST] + i) - now;
  }

  @Override
  long resetAfter(Row row, long now) {
    if (row.numbers[at] == 0) {
      return 0;
    }
    int i = row.numbers[at + NEWEST] > 0 ? 0 : 1;
    long newest = part(row.written);
    while (i > 0 && count(row, closed(row) - i) == 0) {
      i++;
    }
    return Math.max(0, leavesAt(newest - i) - now);
  }

  @Override
  long giveBack(Row row, long now, long amount, Receipt.Entry taken, Receipt.Mark mark) {
    long i = part(mark.micros()) - row.numbers[at + FIRST];
    if (row.numbers[at] > 0 && i >= gone(row, now) && i <= closed(row)) {
      long less = Math.min(amount, count(row, (int) i));
      reduce(row, (int) i, less);
      row.numbers[at] -= less;
    }
    return 0;
  }

  @Override
  void convert(Kind from, Row old, Row row, long now) {
    // Each count moves to the part of its latest possible time, so it leaves the window no earlier.
    SlidingWindow before = (SlidingWindow) from;
    row.written = 0;
    for (int i = before.gone(old, now); i <= before.closed(old); i++) {
      long end = (old.numbers[before.at + FIRST] + i + 1) * before.precision - 1;
      long latest = Math.min(old.written, end);
      if (before.count(old, i) > 0) {
        advance(row, latest);
        row.written = latest;
        add(row, latest, before.count(old, i));
      }
    }
    advance(row, now);
    row.written = now;
  }
}
