package dev.sluice.history;

import dev.sluice.Limit;
import java.util.HashMap;
import java.util.Map;

/** An event of a sliding window leaves as if it had happened in the last moment of its part. */
final class SlidingModel extends CountedModel {
  private final long window;
  private final long precision;
  private final Map<Object, Long> partOf = new HashMap<>();

  SlidingModel(Limit.SlidingWindow limit) {
    super(limit.limit(), limit.limit());
    this.window = limit.windowMicros();
    this.precision = limit.precisionMicros();
  }

  @Override
  public void add(long now, Object owner, long cost, Manner manner) {
    partOf.put(owner, now / precision);
    super.add(now, owner, cost, manner);
  }

  /** Only the sum of a part is kept, not who is in it. */
  @Override
  boolean isOf(long at, Object eventOwner, Object owner) {
    return partOf.getOrDefault(owner, -1L) == at / precision;
  }

  @Override
  long leavesAt(long at) {
    long lastOfPart = at - at % precision + precision - 1;
    return lastOfPart + window;
  }
}
