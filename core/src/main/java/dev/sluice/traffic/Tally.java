package dev.sluice.traffic;

import dev.sluice.metrics.Metrics;
import java.util.List;

/**
 * How many calls were decided, and how.
 *
 * @param unmetered calls that nobody counted, because the store did not answer
 * @param shadowAllowed of rules in shadow mode
 * @param shadowDenied what rules in shadow mode would have refused
 * @param local of the allowed and denied ones: counted by a node alone, in an outage
 */
public record Tally(
    long allowed, long denied, long unmetered, long shadowAllowed, long shadowDenied, long local) {
  /** No calls. */
  public static final Tally NONE = new Tally(0, 0, 0, 0, 0, 0);

  static Tally of(Metrics.Count count, long n) {
    boolean shadow = count.meter().equals(Metrics.SHADOW_DECISIONS);
    boolean allowed = count.outcome().equals(Metrics.ALLOWED);
    boolean denied = count.outcome().equals(Metrics.DENIED);
    boolean alone = count.countedBy().equals("local");
    return new Tally(
        allowed && !shadow ? n : 0,
        denied && !shadow ? n : 0,
        !allowed && !denied && !shadow ? n : 0,
        !denied && shadow ? n : 0,
        denied && shadow ? n : 0,
        alone && !shadow ? n : 0);
  }

  /** Both together. */
  public Tally plus(Tally other) {
    return new Tally(
        allowed + other.allowed,
        denied + other.denied,
        unmetered + other.unmetered,
        shadowAllowed + other.shadowAllowed,
        shadowDenied + other.shadowDenied,
        local + other.local);
  }

  /** What came since an earlier tally; nothing is ever negative. */
  Tally since(Tally earlier) {
    return new Tally(
        Math.max(0, allowed - earlier.allowed),
        Math.max(0, denied - earlier.denied),
        Math.max(0, unmetered - earlier.unmetered),
        Math.max(0, shadowAllowed - earlier.shadowAllowed),
        Math.max(0, shadowDenied - earlier.shadowDenied),
        Math.max(0, local - earlier.local));
  }

  /** A part of it, rounded down; all of it if the part is the whole. */
  Tally part(long some, long all) {
    return some == all
        ? this
        : new Tally(
            part(allowed, some, all),
            part(denied, some, all),
            part(unmetered, some, all),
            part(shadowAllowed, some, all),
            part(shadowDenied, some, all),
            part(local, some, all));
  }

  private static long part(long number, long some, long all) {
    return (long) (number * ((double) some / all));
  }

  /** All decisions. */
  public long sum() {
    return allowed + denied + unmetered + shadowAllowed + shadowDenied;
  }

  void write(Lines lines, String kind, String name) {
    if (sum() > 0) {
      lines.add(kind, name, allowed, denied, unmetered, shadowAllowed, shadowDenied, local);
    }
  }

  static Tally read(List<String> words, int from) {
    return new Tally(
        Lines.number(words, from),
        Lines.number(words, from + 1),
        Lines.number(words, from + 2),
        Lines.number(words, from + 3),
        Lines.number(words, from + 4),
        Lines.number(words, from + 5));
  }
}
