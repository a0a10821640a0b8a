package dev.sluice;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The result of a settlement.
 *
 * @param done false if nothing happened: the receipt was settled before, or nothing is left of what
 *     was taken
 * @param unchargedBy by rule, how much of a higher cost could not be charged because a limit was
 *     already used up; rules that charged everything are absent
 */
public record Settled(boolean done, Map<String, Long> unchargedBy) {
  /** Nothing happened. */
  public static final Settled NOT_DONE = new Settled(false, Map.of());

  /** Copies the map. */
  public Settled {
    unchargedBy = Map.copyOf(unchargedBy);
  }

  /**
   * A settlement that was carried out.
   *
   * @param uncharged for each entry, what could not be charged to its account
   */
  public static Settled of(List<Receipt.Entry> entries, long[] uncharged) {
    Map<String, Long> byRule = new TreeMap<>();
    for (int i = 0; i < uncharged.length; i++) {
      if (uncharged[i] > 0) {
        byRule.merge(entries.get(i).account().rule(), uncharged[i], Long::sum);
      }
    }
    return new Settled(true, byRule);
  }

  /** Combines the results of the parts of a settlement: done if any part was. */
  public static Settled together(Collection<Settled> parts) {
    Map<String, Long> byRule = new TreeMap<>();
    for (Settled part : parts) {
      part.unchargedBy.forEach((rule, cost) -> byRule.merge(rule, cost, Long::sum));
    }
    return new Settled(parts.stream().anyMatch(Settled::done), byRule);
  }

  /** How much of a higher cost could not be charged, for all rules together. */
  public long uncharged() {
    return unchargedBy.values().stream().mapToLong(Long::longValue).sum();
  }
}
