package dev.sluice.history;

import java.util.HashMap;
import java.util.Map;

/** A limit that keeps only the sum of each part of time, not the single calls. */
abstract sealed class PartsModel extends CountedModel permits FixedModel, SlidingModel {
  private final long part;
  private final Map<Object, Long> partOf = new HashMap<>();

  PartsModel(long limit, long part) {
    super(limit);
    this.part = part;
  }

  @Override
  public long add(long now, Object owner, long cost, Manner manner) {
    partOf.put(owner, now / part);
    return super.add(now, owner, cost, manner);
  }

  @Override
  boolean isOf(long at, Object eventOwner, Object owner) {
    return partOf.getOrDefault(owner, -1L) == at / part;
  }

  @Override
  public void forget() {
    super.forget();
    partOf.clear();
  }
}
