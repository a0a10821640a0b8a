package dev.sluice.history;

import dev.sluice.Limit;
import dev.sluice.internal.Durations;

/** An event of a fixed window leaves at the window's end. */
final class FixedModel extends PartsModel {
  private final long window;

  FixedModel(Limit.FixedWindow limit) {
    super(limit.limit(), Durations.micros(limit.window()));
    this.window = Durations.micros(limit.window());
  }

  @Override
  long leavesAt(long at) {
    return at - at % window + window;
  }
}
