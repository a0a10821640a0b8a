package dev.sluice.history;

import dev.sluice.Balance;
import java.util.ArrayList;
import java.util.List;

/** A limit that counts events, each of which leaves at a moment that is known when it happens. */
abstract sealed class CountedModel implements LimitModel permits LogModel, PartsModel {
  private record Event(Object owner, long at, long cost) {}

  private final long limit;
  private final List<Event> events = new ArrayList<>();

  CountedModel(long limit) {
    this.limit = limit;
  }

  /** The first moment at which an event is no longer counted. */
  abstract long leavesAt(long at);

  /** Whether an event may be what an owner took. */
  boolean isOf(long at, Object eventOwner, Object owner) {
    return eventOwner.equals(owner);
  }

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
  public boolean hasRoom(long now, long cost, long givenBack) {
    return Math.max(0, used(now) - givenBack) + cost <= limit;
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
  public long add(long now, Object owner, long cost, Manner manner) {
    events.removeIf(event -> leavesAt(event.at) <= now);
    if (cost > 0) {
      events.add(new Event(owner, now, cost));
    }
    // At most fully used: what is forced in beyond that pushes out the oldest.
    long uncharged = Math.max(0, used(now) - limit);
    for (long tooMuch = uncharged; tooMuch > 0; ) {
      Event oldest = events.remove(0);
      if (oldest.cost > tooMuch) {
        events.add(0, new Event(oldest.owner, oldest.at, oldest.cost - tooMuch));
      }
      tooMuch -= oldest.cost;
    }
    return uncharged;
  }

  @Override
  public void forget() {
    events.clear();
  }

  @Override
  public long giveBack(long now, Object owner, long amount, long givenSince) {
    long left = amount;
    for (int i = 0; i < events.size(); i++) {
      Event event = events.get(i);
      if (isOf(event.at, event.owner, owner) && leavesAt(event.at) > now) {
        long given = Math.min(left, event.cost);
        events.set(i, new Event(event.owner, event.at, event.cost - given));
        left -= given;
      }
    }
    events.removeIf(event -> event.cost == 0);
    return 0;
  }
}
