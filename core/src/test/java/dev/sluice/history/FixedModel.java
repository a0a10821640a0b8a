package dev.sluice.history;

import dev.sluice.Durations;
import dev.sluice.Limit;

/** An event of a fixed window leaves at the window's end. */
final class FixedModel extends CountedModel {
  private final long window;

  FixedModel(Limit.FixedWindow limit) {
    super(limit.limit(), Limit.LARGEST);
    this.window = Durations.micros(limit.window());
  }

  /** A knock leaves the window at worst full. */
  @Override
  public void add(long now, Object owner, long cost, Manner manner) {
    super.add(now, owner, manner == Manner.KNOCKED ? Math.min(cost, remaining(now)) : cost, manner);
  }

  @Override
  long leavesAt(long at) {
    return at - at % window + window;
  }
}
