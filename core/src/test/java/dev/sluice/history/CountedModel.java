package dev.sluice.history;

import dev.sluice.Balance;
import java.util.ArrayList;
import java.util.List;

/** A limit that counts events, each of which leaves at a moment that is known when it happens. */
abstract sealed class CountedModel implements LimitModel
    permits FixedModel, LogModel, SlidingModel {
  private record Event(Object owner, long at, long cost) {}

  private final long limit;
  private final List<Event> events = new ArrayList<>();

  CountedModel(long limit) {
    this.limit = limit;
  }

  /** The first moment at which an event is no longer counted. */
  abstract long leavesAt(long at);

  /** Whether what is beyond the limit pushes out the oldest. */
  abstract boolean keepsNewest();

  private long used(long now) {
    long used = 0;
    for (Event event : events) {
      used += leavesAt(event.at) > now ? event.cost : 0;
    }
    return used;
  }

  @Override
  public long remaining(long now) {
    return Math.max(0, limit - used(now));
  }

  @Override
  public long waitFor(long now, long cost) {
    if (cost > limit) {
      return Balance.NEVER;
    }
    if (used(now) + cost <= limit) {
      return 0;
    }
    long soonest = Long.MAX_VALUE;
    for (Event event : events) {
      long moment = leavesAt(event.at);
      if (moment > now && used(moment) + cost <= limit) {
        soonest = Math.min(soonest, moment);
      }
    }
    return soonest - now;
  }

  @Override
  public long resetAfter(long now) {
    long last = now;
    for (Event event : events) {
      last = Math.max(last, leavesAt(event.at));
    }
    return last - now;
  }

  @Override
  public void add(long now, Object owner, long cost, Manner manner) {
    events.removeIf(event -> leavesAt(event.at) <= now);
    events.add(new Event(owner, now, cost));
    if (manner != Manner.TAKEN && keepsNewest()) {
      for (long tooMuch = used(now) - limit; tooMuch > 0; ) {
        Event oldest = events.remove(0);
        if (oldest.cost > tooMuch) {
          events.add(0, new Event(oldest.owner, oldest.at, oldest.cost - tooMuch));
        }
        tooMuch -= oldest.cost;
      }
    }
  }

  @Override
  public void giveBack(long now, Object owner, long amount) {
    long left = amount;
    for (int i = 0; i < events.size(); i++) {
      Event event = events.get(i);
      if (event.owner.equals(owner) && leavesAt(event.at) > now) {
        long given = Math.min(left, event.cost);
        events.set(i, new Event(owner, event.at, event.cost - given));
        left -= given;
      }
    }
    events.removeIf(event -> event.cost == 0);
  }
}
