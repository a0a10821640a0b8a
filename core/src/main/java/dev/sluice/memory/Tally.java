package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Cycle;
import dev.sluice.Limit;
import dev.sluice.Limit.FixedWindow;
import dev.sluice.Limit.SlidingWindow;
import dev.sluice.Limit.TokenBucket;
import dev.sluice.Receipt;
import java.util.Arrays;

/**
 * What one limit has counted. Immutable; every method is a pure function of whole numbers.
 *
 * <p>All times are microseconds. {@code now} is never before {@link #notBefore()}: {@link Books}
 * sees to it, so no kind has to think about a clock that runs backwards.
 */
sealed interface Tally {
  /** The limit it counts for. */
  Limit limit();

  /** The earliest moment that could have produced this tally. */
  long notBefore();

  /** This tally under a limit of the same kind but perhaps other parameters; else this. */
  Tally under(Limit limit, long now);

  /** 0 if the cost fits now; else how long until it does; {@link Balance#NEVER}. */
  long retryAfter(long now, long cost);

  long remaining(long now);

  /** How long until everything has come back. */
  long resetAfter(long now);

  /** The tally after a cost that fits. */
  Tally plus(long now, long cost);

  /** The tally after a cost that need not fit; as full as a limit can be, a bucket in debt. */
  Tally recording(long now, long cost);

  /** The tally after a denied cost that counts: never worse than full. */
  Tally knocking(long now, long cost);

  /** The tally after part of a take is undone, as far as it has not come back by itself. */
  Tally minus(long now, long back, Receipt.Mark mark);

  /** What a receipt must remember of a take that led to this tally. */
  Receipt.Mark mark(long now);

  /** The strictest tally that this moment could have produced. */
  Tally full(long now);

  static Tally fresh(Limit limit) {
    if (limit instanceof TokenBucket bucket) {
      return new Bucket(bucket, 0, 0, 0);
    }
    if (limit instanceof FixedWindow window) {
      return new Window(window, 0, 0, 0);
    }
    return new Parts((SlidingWindow) limit, new long[0], new long[0], 0);
  }

  /** The least whole number of microseconds that holds so many units. */
  private static long ceilDiv(long units, long unitsPerMicro) {
    return (units + unitsPerMicro - 1) / unitsPerMicro;
  }

  /**
   * A token bucket, kept as the moment at which it will be full: {@code fullAt + units /
   * limit.unitsPerMicro()}.
   *
   * <p>A whole microsecond written as units says that the bucket is shut: it gives nothing until
   * that moment, and is full then.
   *
   * @param indebtedAt when it went below empty, or 0: an empty bucket tells by itself when it could
   *     have been written, one in debt does not
   */
  record Bucket(TokenBucket limit, long fullAt, long units, long indebtedAt) implements Tally {

    /** What is still to come, in units. */
    private long coming(long now) {
      return fullAt < now - 1 ? 0 : Math.max(0, (fullAt - now) * limit.unitsPerMicro() + units);
    }

    /** What the bucket lacks, in units. */
    private long lacking(long now) {
      long coming = coming(now);
      return isShut() && coming > 0 ? Math.max(coming, limit.capacityUnits()) : coming;
    }

    boolean isShut() {
      return units >= limit.unitsPerMicro();
    }

    private Bucket lackingUnits(long now, long lacking) {
      return new Bucket(
          limit,
          now + lacking / limit.unitsPerMicro(),
          lacking % limit.unitsPerMicro(),
          lacking > limit.capacityUnits() ? now : 0);
    }

    @Override
    public long notBefore() {
      return indebtedAt != 0
          ? indebtedAt
          : fullAt - (limit.capacityUnits() - units) / limit.unitsPerMicro();
    }

    @Override
    public Tally under(Limit other, long now) {
      if (other == limit || !(other instanceof TokenBucket bucket)) {
        return this;
      }
      if (bucket.unitsPerToken() == limit.unitsPerToken()
          && bucket.unitsPerMicro() == limit.unitsPerMicro()) {
        return new Bucket(bucket, fullAt, units, indebtedAt);
      }
      // Tokens keep their number, not their time. A token partly back counts as still out.
      long out = Math.min(ceilDiv(coming(now), limit.unitsPerToken()), bucket.capacity());
      Bucket fresh = new Bucket(bucket, 0, 0, 0);
      return out == 0 ? fresh : fresh.lackingUnits(now, out * bucket.unitsPerToken());
    }

    @Override
    public long retryAfter(long now, long cost) {
      if (cost > limit.capacity()) {
        return Balance.NEVER;
      }
      long over = lacking(now) + cost * limit.unitsPerToken() - limit.capacityUnits();
      return over <= 0 ? 0 : ceilDiv(isShut() ? coming(now) : over, limit.unitsPerMicro());
    }

    @Override
    public long remaining(long now) {
      return Math.max(0, limit.capacityUnits() - lacking(now)) / limit.unitsPerToken();
    }

    @Override
    public long resetAfter(long now) {
      return ceilDiv(coming(now), limit.unitsPerMicro());
    }

    @Override
    public Tally plus(long now, long cost) {
      return lackingUnits(now, lacking(now) + cost * limit.unitsPerToken());
    }

    @Override
    public Tally recording(long now, long cost) {
      long most = Limit.LARGEST / limit.unitsPerToken();
      long lacking = lacking(now) + Math.min(cost, most) * limit.unitsPerToken();
      return lackingUnits(now, Math.min(lacking, Limit.LARGEST));
    }

    @Override
    public Tally knocking(long now, long cost) {
      long lacking = lacking(now);
      long more = lacking + cost * limit.unitsPerToken();
      return lackingUnits(now, Math.max(lacking, Math.min(more, limit.capacityUnits())));
    }

    @Override
    public Tally minus(long now, long back, Receipt.Mark mark) {
      long coming =
          mark.micros() < now ? 0 : (mark.micros() - now) * limit.unitsPerMicro() + mark.units();
      long most = Math.min(back, Limit.LARGEST / limit.unitsPerToken()) * limit.unitsPerToken();
      long lacking = lacking(now);
      if (lacking == 0) {
        return this;
      }
      long rest = Math.max(0, lacking - Math.min(most, coming));
      long perMicro = limit.unitsPerMicro();
      return new Bucket(limit, now + rest / perMicro, rest % perMicro, rest == 0 ? 0 : indebtedAt);
    }

    @Override
    public Receipt.Mark mark(long now) {
      return new Receipt.Mark(fullAt, units);
    }

    @Override
    public Tally full(long now) {
      Bucket empty = lackingUnits(now, limit.capacityUnits());
      return new Bucket(limit, empty.fullAt - 1, empty.units + limit.unitsPerMicro(), 0);
    }
  }

  /** A fixed window: what was used in the round that lasts from {@code start} to {@code end}. */
  record Window(FixedWindow limit, long start, long end, long used) implements Tally {

    /** What counts now: a round that still lasts, or one cut short by a longer cycle, does. */
    private long usedIn(Cycle.Span span) {
      return end > span.startMicros() ? used : 0;
    }

    private Window using(Cycle.Span span, long used) {
      return new Window(limit, span.startMicros(), span.endMicros(), used);
    }

    @Override
    public long notBefore() {
      return start;
    }

    @Override
    public Tally under(Limit other, long now) {
      if (other == limit || !(other instanceof FixedWindow window)) {
        return this;
      }
      if (window.cycle().equals(limit.cycle())) {
        return new Window(window, start, end, used);
      }
      Cycle.Span span = window.cycle().at(now);
      return new Window(window, span.startMicros(), span.endMicros(), usedIn(span));
    }

    @Override
    public long retryAfter(long now, long cost) {
      if (cost > limit.limit()) {
        return Balance.NEVER;
      }
      Cycle.Span span = limit.cycle().at(now);
      return usedIn(span) + cost <= limit.limit() ? 0 : span.endMicros() - now;
    }

    @Override
    public long remaining(long now) {
      return Math.max(0, limit.limit() - usedIn(limit.cycle().at(now)));
    }

    @Override
    public long resetAfter(long now) {
      Cycle.Span span = limit.cycle().at(now);
      return usedIn(span) == 0 ? 0 : span.endMicros() - now;
    }

    @Override
    public Tally plus(long now, long cost) {
      Cycle.Span span = limit.cycle().at(now);
      return using(span, usedIn(span) + cost);
    }

    @Override
    public Tally recording(long now, long cost) {
      Cycle.Span span = limit.cycle().at(now);
      return using(span, Math.min(usedIn(span) + cost, Limit.LARGEST));
    }

    @Override
    public Tally knocking(long now, long cost) {
      Cycle.Span span = limit.cycle().at(now);
      long used = usedIn(span);
      return using(span, Math.max(used, Math.min(used + cost, limit.limit())));
    }

    @Override
    public Tally minus(long now, long back, Receipt.Mark mark) {
      boolean same = start <= mark.micros() && mark.micros() < end && now < end;
      return same ? new Window(limit, start, end, Math.max(0, used - back)) : this;
    }

    @Override
    public Receipt.Mark mark(long now) {
      return new Receipt.Mark(now, 0);
    }

    @Override
    public Tally full(long now) {
      return using(limit.cycle().at(now), limit.limit());
    }
  }

  /**
   * A sliding window: counts in parts of one precision, oldest first, only those that are not 0.
   *
   * <p>A part counts in full while any moment of it lies within the window.
   *
   * @param parts their numbers: a part's start divided by the precision
   * @param total the sum of all counts here, also of parts that have left the window
   */
  record Parts(SlidingWindow limit, long[] parts, long[] counts, long total) implements Tally {

    /** The number of the oldest part that still counts. */
    private long oldest(long now) {
      return Math.floorDiv(now - limit.windowMicros() + 1, limit.precisionMicros());
    }

    /** The place of the first part that still counts. */
    private int first(long now) {
      long oldest = oldest(now);
      int first = 0;
      while (first < parts.length && parts[first] < oldest) {
        first++;
      }
      return first;
    }

    private long used(int first) {
      long used = total;
      for (int i = 0; i < first; i++) {
        used -= counts[i];
      }
      return used;
    }

    /** When a part leaves the window. */
    private long leavesAt(long part) {
      return (part + 1) * limit.precisionMicros() - 1 + limit.windowMicros();
    }

    /**
     * These parts from one place on, with a cost in the part of now, at most {@code most} in all.
     */
    private Parts adding(long now, long cost, long most) {
      int first = first(now);
      long part = now / limit.precisionMicros();
      boolean newPart = parts.length == first || parts[parts.length - 1] != part;
      int size = parts.length - first + (newPart ? 1 : 0);
      long[] newParts = new long[size];
      long[] newCounts = new long[size];
      System.arraycopy(parts, first, newParts, 0, parts.length - first);
      System.arraycopy(counts, first, newCounts, 0, parts.length - first);
      newParts[size - 1] = part;
      newCounts[size - 1] += cost;
      return new Parts(limit, newParts, newCounts, used(first) + cost).atMost(most);
    }

    /** The newest counts that make up at most so much: older ones could not change a decision. */
    private Parts atMost(long most) {
      long excess = total - most;
      if (excess <= 0) {
        return this;
      }
      int first = 0;
      while (counts[first] <= excess) {
        excess -= counts[first++];
      }
      long[] newCounts = Arrays.copyOfRange(counts, first, counts.length);
      newCounts[0] -= excess;
      return new Parts(limit, Arrays.copyOfRange(parts, first, parts.length), newCounts, most);
    }

    @Override
    public long notBefore() {
      return parts.length == 0 ? 0 : parts[parts.length - 1] * limit.precisionMicros();
    }

    @Override
    public Tally under(Limit other, long now) {
      if (other == limit || !(other instanceof SlidingWindow window)) {
        return this;
      }
      if (window.precision().equals(limit.precision())) {
        return new Parts(window, parts, counts, total);
      }
      // Each count moves to the part of its latest possible moment, so it leaves no sooner.
      Parts moved = new Parts(window, new long[0], new long[0], 0);
      for (int i = 0; i < parts.length; i++) {
        long latest = Math.min(now, (parts[i] + 1) * limit.precisionMicros() - 1);
        moved = moved.adding(latest, counts[i], Limit.LARGEST);
      }
      return moved;
    }

    @Override
    public long retryAfter(long now, long cost) {
      if (cost > limit.limit()) {
        return Balance.NEVER;
      }
      int first = first(now);
      long over = used(first) + cost - limit.limit();
      if (over <= 0) {
        return 0;
      }
      int last = first;
      for (long freed = counts[last]; freed < over; freed += counts[last]) {
        last++;
      }
      return leavesAt(parts[last]) - now;
    }

    @Override
    public long remaining(long now) {
      return Math.max(0, limit.limit() - used(first(now)));
    }

    @Override
    public long resetAfter(long now) {
      return first(now) == parts.length ? 0 : leavesAt(parts[parts.length - 1]) - now;
    }

    @Override
    public Tally plus(long now, long cost) {
      return adding(now, cost, Limit.LARGEST);
    }

    @Override
    public Tally recording(long now, long cost) {
      return adding(now, Math.min(cost, limit.limit()), limit.limit());
    }

    @Override
    public Tally knocking(long now, long cost) {
      return recording(now, cost);
    }

    @Override
    public Tally minus(long now, long back, Receipt.Mark mark) {
      int at = Arrays.binarySearch(parts, mark.micros() / limit.precisionMicros());
      if (at < first(now) || at < 0) {
        return this;
      }
      long less = Math.min(back, counts[at]);
      if (less < counts[at]) {
        long[] newCounts = counts.clone();
        newCounts[at] -= less;
        return new Parts(limit, parts, newCounts, total - less);
      }
      return new Parts(limit, without(parts, at), without(counts, at), total - less);
    }

    private static long[] without(long[] numbers, int at) {
      long[] rest = Arrays.copyOf(numbers, numbers.length - 1);
      System.arraycopy(numbers, at + 1, rest, at, rest.length - at);
      return rest;
    }

    @Override
    public Receipt.Mark mark(long now) {
      return new Receipt.Mark(now, 0);
    }

    @Override
    public Tally full(long now) {
      return new Parts(limit, new long[0], new long[0], 0)
          .adding(now, limit.limit(), limit.limit());
    }
  }
}
