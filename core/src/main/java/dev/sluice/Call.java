package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One request reduced to what rules can see.
 *
 * @param rules the rules that must all agree
 * @param cost how much it takes; 0 asks whether there is room for one, and takes nothing
 * @param costs how much it takes by rule, where that is not {@code cost}
 * @param id makes the call safe to send again: within a minute the first decision comes back, and
 *     it is counted once for as long as a limit counts it. It belongs to the caller and the
 *     question: with other rules, another cost or intent it is an {@link IdReusedException}
 */
public record Call(
    List<String> rules,
    Identity identity,
    long cost,
    Map<String, Long> costs,
    @Nullable String id,
    Intent intent) {
  public Call {
    if (rules.size() > Bounds.MOST_RULES) {
      throw InvalidValueException.of(
          "rules", "%,d".formatted(rules.size()), "at most %d".formatted(Bounds.MOST_RULES));
    }
    rules = List.copyOf(rules);
    if (rules.isEmpty()) {
      throw InvalidValueException.of("rules", "none", "at least one");
    }
    if (cost < 0 || cost > Limit.LARGEST) {
      throw InvalidValueException.of("cost", Long.toString(cost), "0 to 2^52");
    }
    for (Map.Entry<String, Long> each : costs.entrySet()) {
      if (!rules.contains(each.getKey())) {
        throw InvalidValueException.of(
            "costs", "rule %s".formatted(Text.quoted(each.getKey())), "a rule that the call names");
      }
      if (each.getValue() < 0 || each.getValue() > Limit.LARGEST) {
        throw InvalidValueException.of(
            "costs", "%s: %d".formatted(each.getKey(), each.getValue()), "0 to 2^52");
      }
    }
    costs = Map.copyOf(costs);
    if (id != null) {
      checkId(id);
    }
  }

  /** A call that costs the same by every rule. */
  public Call(
      List<String> rules, Identity identity, long cost, @Nullable String id, Intent intent) {
    this(rules, identity, cost, Map.of(), id, intent);
  }

  public static Call of(String rule, Identity identity) {
    return new Call(List.of(rule), identity, 1, null, Intent.TAKE);
  }

  public static Call of(List<String> rules, Identity identity) {
    return new Call(rules, identity, 1, null, Intent.TAKE);
  }

  /** The same call at another cost, by every rule for which it has none of its own. */
  public Call costing(long cost) {
    return new Call(rules, identity, cost, costs, id, intent);
  }

  /** The same call at another cost by one of its rules. */
  public Call costing(String rule, long cost) {
    Map<String, Long> more = new TreeMap<>(costs);
    more.put(rule, cost);
    return new Call(rules, identity, this.cost, more, id, intent);
  }

  /** What it takes by a rule. */
  public long costBy(String rule) {
    return costs.isEmpty() ? cost : costs.getOrDefault(rule, cost);
  }

  public Call withId(String id) {
    return new Call(rules, identity, cost, costs, id, intent);
  }

  /** The same call, only looking. */
  public Call peeking() {
    return new Call(rules, identity, cost, costs, id, Intent.PEEK);
  }

  /** The same call, counted even where it does not fit. */
  public Call recording() {
    return new Call(rules, identity, cost, costs, id, Intent.RECORD);
  }

  /** The same call, whose fate is open until it is settled. */
  public Call reserving() {
    return new Call(rules, identity, cost, costs, id, Intent.RESERVE);
  }

  private static void checkId(String id) {
    boolean good = !id.isEmpty() && id.length() <= Bounds.LONGEST_ID;
    for (int i = 0; good && i < id.length(); i++) {
      good = id.charAt(i) > ' ' && id.charAt(i) < 0x7f;
    }
    if (!good) {
      throw InvalidValueException.of(
          "id", Text.quoted(id), "1 to %d visible ASCII characters".formatted(Bounds.LONGEST_ID));
    }
  }
}
