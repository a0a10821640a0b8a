package dev.sluice.history;

import dev.sluice.Limit;

/** An event of a sliding window leaves as if it had happened in the last moment of its part. */
final class SlidingModel extends PartsModel {
  private final long window;
  private final long precision;

  SlidingModel(Limit.SlidingWindow limit) {
    super(limit.limit(), limit.precisionMicros());
    this.window = limit.windowMicros();
    this.precision = limit.precisionMicros();
  }

  @Override
  long leavesAt(long at) {
    long lastOfPart = at - at % precision + precision - 1;
    return lastOfPart + window;
  }
}
