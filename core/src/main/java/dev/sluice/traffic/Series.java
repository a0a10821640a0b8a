package dev.sluice.traffic;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Decisions per second over time, of all rules and of each, in slots of equal length. */
final class Series {
  /*
   * A ring of slots; slot n of the epoch is at n modulo the number of slots. A slot that nothing is
   * known of is NaN. Only so many rules have a series of their own; one that had no calls in all its
   * slots makes room for another.
   */
  static final int MOST_RULES = 1_000;
  static final int KINDS = 4;

  private final long slotMillis;
  private final int slots;
  private final float[][] all;
  private final float[][] none;
  private final float[][] unknown;
  private final Map<String, RuleSeries> byRule = new HashMap<>();
  private long newest = -1;

  /** The values of a rule, and the last slot that has any. */
  private static final class RuleSeries {
    private final float[][] values;
    private long latest;

    RuleSeries(float[][] values) {
      this.values = values;
    }
  }

  Series(Duration slot, int slots) {
    this.slotMillis = slot.toMillis();
    this.slots = slots;
    this.all = empty(Float.NaN);
    this.none = empty(0);
    this.unknown = empty(Float.NaN);
  }

  private float[][] empty(float value) {
    float[][] values = new float[KINDS][slots];
    for (float[] kind : values) {
      Arrays.fill(kind, value);
    }
    return values;
  }

  long slotOf(Instant at) {
    return at.toEpochMilli() / slotMillis;
  }

  /** Opens the slots up to a moment: nothing was decided in them, as far as we know. */
  void advance(Instant now) {
    long slot = slotOf(now);
    if (newest < 0) {
      newest = slot - 1;
    }
    for (long next = Math.max(newest + 1, slot - slots + 1); next <= slot; next++) {
      int at = (int) (next % slots);
      set(all, at, 0);
      byRule.values().forEach(rule -> set(rule.values, at, 0));
    }
    newest = Math.max(newest, slot);
  }

  private static void set(float[][] values, int at, float value) {
    for (float[] kind : values) {
      kind[at] = value;
    }
  }

  /** Adds decisions that were made between two moments, spread evenly. */
  void add(Instant from, Instant to, String rule, Tally tally) {
    RuleSeries own = own(rule);
    long start = from.toEpochMilli();
    long end = Math.max(to.toEpochMilli(), start + 1);
    double perMilli = 1.0 / (end - start);
    long last = Math.min(newest, Math.floorDiv(end - 1, slotMillis));
    long first = Math.max(Math.max(0, newest - slots + 1), Math.floorDiv(start, slotMillis));
    for (long slot = first; slot <= last; slot++) {
      int at = (int) (slot % slots);
      if (Float.isNaN(all[0][at])) {
        continue; // before anything was known
      }
      long within = Math.min(end, (slot + 1) * slotMillis) - Math.max(start, slot * slotMillis);
      double share = within * perMilli * 1000 / slotMillis;
      add(all, at, tally, share);
      if (own != null) {
        add(own.values, at, tally, share);
        own.latest = Math.max(own.latest, slot);
      }
    }
  }

  private @Nullable RuleSeries own(String rule) {
    RuleSeries own = byRule.get(rule);
    if (own != null) {
      return own;
    }
    if (byRule.size() >= MOST_RULES) {
      byRule.values().removeIf(other -> other.latest <= newest - slots);
    }
    if (byRule.size() < MOST_RULES) {
      own = new RuleSeries(empty(0));
      own.latest = newest;
      byRule.put(rule, own);
    }
    return own;
  }

  /** The values of a rule; all unknown if it has no series although others have none to spare. */
  private float[][] values(String rule) {
    if (rule.isEmpty()) {
      return all;
    }
    RuleSeries own = byRule.get(rule);
    return own != null ? own.values : byRule.size() < MOST_RULES ? none : unknown;
  }

  private static void add(float[][] values, int at, Tally tally, double share) {
    values[0][at] += (float) (tally.allowed() * share);
    values[1][at] += (float) (tally.denied() * share);
    values[2][at] += (float) (tally.unmetered() * share);
    values[3][at] += (float) (tally.shadowDenied() * share);
  }

  /**
   * The points of all rules together, or of one.
   *
   * @param complete until when all nodes have reported; later slots are left out
   */
  Points points(String rule, Instant complete) {
    long end = Math.min(newest, slotOf(complete) - 1);
    float[][] values = values(rule);
    float[][] ordered = new float[KINDS][slots];
    for (int i = 0; i < slots; i++) {
      long slot = end - slots + 1 + i;
      int at = (int) Math.floorMod(slot, (long) slots);
      boolean known = slot > newest - slots && slot >= 0 && !Float.isNaN(all[0][at]);
      for (int kind = 0; kind < KINDS; kind++) {
        ordered[kind][i] = known ? values[kind][at] : Float.NaN;
      }
    }
    return new Points(
        Instant.ofEpochMilli(Math.max(0, end - slots + 1) * slotMillis),
        Duration.ofMillis(slotMillis),
        ordered[0],
        ordered[1],
        ordered[2],
        ordered[3]);
  }

  /** The mean of the last slots before a moment, per second: by kind. NaN if it is not known. */
  double[] recent(String rule, int lastSlots, Instant complete) {
    long end = Math.min(newest, slotOf(complete) - 1);
    float[][] values = values(rule);
    double[] mean = new double[KINDS];
    int known = 0;
    for (int back = 0; back < lastSlots && end - back >= 0; back++) {
      int at = (int) ((end - back) % slots);
      if (!Float.isNaN(all[0][at])) {
        known++;
        for (int kind = 0; kind < KINDS; kind++) {
          mean[kind] += values[kind][at];
        }
      }
    }
    for (int kind = 0; kind < KINDS && known > 0; kind++) {
      mean[kind] /= known;
    }
    return mean;
  }
}
