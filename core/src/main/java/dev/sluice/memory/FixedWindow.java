package dev.sluice.memory;

import dev.sluice.Cycle;
import dev.sluice.Limit;
import dev.sluice.Receipt;

/**
 * Fixed window: admits at most its limit in each window of a cycle.
 *
 * <p>One number: what was used in the window in which the row was written.
 */
final class FixedWindow extends Kind {
  private final Cycle cycle;

  FixedWindow(Limit.FixedWindow limit, int at) {
    super(limit, at, 1);
    this.cycle = limit.cycle();
  }

  @Override
  int width() {
    return 1;
  }

  @Override
  boolean isSame(Kind other) {
    return other instanceof FixedWindow window && window.cycle.equals(cycle);
  }

  @Override
  long usedLater(Row row, long now) {
    return row.written >= cycle.at(now).startMicros() ? row.numbers[at] : 0;
  }

  @Override
  void advance(Row row, long now) {
    row.numbers[at] = used(row, now);
  }

  @Override
  long add(Row row, long now, long amount) {
    row.numbers[at] += amount;
    return 0;
  }

  @Override
  void drop(Row row, long amount) {
    row.numbers[at] -= amount;
  }

  @Override
  long opensAfter(Row row, long now, long amount) {
    return cycle.at(now).endMicros() - now;
  }

  @Override
  long resetAfter(Row row, long now) {
    return used(row, now) == 0 ? 0 : cycle.at(now).endMicros() - now;
  }

  @Override
  long giveBack(Row row, long now, long amount, Receipt.Entry taken, Receipt.Mark mark) {
    long start = cycle.at(now).startMicros();
    if (mark.micros() >= start && row.written >= start) {
      row.numbers[at] = Math.max(0, row.numbers[at] - amount);
    }
    return 0;
  }

  @Override
  void convert(Kind from, Row old, Row row, long now) {
    // If a longer window replaces the one that was written, its usage counts in the longer one.
    row.numbers[at] = old.written >= cycle.at(now).startMicros() ? old.numbers[from.at] : 0;
  }
}
