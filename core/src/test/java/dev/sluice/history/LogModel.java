package dev.sluice.history;

import dev.sluice.Limit;

/** An event of a sliding log leaves one window after it happened. */
final class LogModel extends CountedModel {
  private final long window;

  LogModel(Limit.SlidingLog limit) {
    super(limit.limit());
    this.window = limit.windowMicros();
  }

  @Override
  long leavesAt(long at) {
    return at + window;
  }
}
