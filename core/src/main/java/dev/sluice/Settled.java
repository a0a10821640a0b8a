package dev.sluice;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The answer to a settlement.
 *
 * @param done false if the receipt was settled before, or there is nothing left of what was taken;
 *     then nothing happened
 * @param unchargedBy how much of a higher cost could not be charged by each rule, because a limit
 *     can be no further used; rules that could charge everything are not in it
 */
public record Settled(boolean done, Map<String, Long> unchargedBy) {
  /** Nothing happened. */
  public static final Settled NOT_DONE = new Settled(false, Map.of());

  public Settled {
    unchargedBy = Map.copyOf(unchargedBy);
  }

  /**
   * A settlement that was carried out.
   *
   * @param uncharged what could not be charged to the account of each entry
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

  /** The answer to a settlement that was carried out in parts: done if any of them was. */
  public static Settled together(Collection<Settled> parts) {
    Map<String, Long> byRule = new TreeMap<>();
    for (Settled part : parts) {
      part.unchargedBy.forEach((rule, cost) -> byRule.merge(rule, cost, Long::sum));
    }
    return new Settled(parts.stream().anyMatch(Settled::done), byRule);
  }

  /** How much of a higher cost could not be charged, by all rules together. */
  public long uncharged() {
    return unchargedBy.values().stream().mapToLong(Long::longValue).sum();
  }
}
