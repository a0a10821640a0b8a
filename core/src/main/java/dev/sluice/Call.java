package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One request to the limiter.
 *
 * @param rules the names of the rules; all must allow the call
 * @param identity who makes the call
 * @param cost how much it takes; 0 checks whether there is room for one and takes nothing
 * @param costs the cost by rule, where it differs from {@code cost}
 * @param id makes the call safe to send again, or null. Within a minute the first decision is
 *     repeated, and the call is counted once for as long as any of its limits remembers it. An id
 *     belongs to one caller and one question: other rules, costs or intent throw an {@link
 *     IdReusedException}
 * @param intent what to do with the cost
 */
public record Call(
    List<String> rules,
    Identity identity,
    long cost,
    Map<String, Long> costs,
    @Nullable String id,
    Intent intent) {
  /** Checks the bounds of a call. */
  public Call {
    Objects.requireNonNull(identity, "identity");
    Objects.requireNonNull(intent, "intent");
    Bounds.checkRuleCount(rules.size());
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
      Bounds.checkId(id);
    }
  }

  /** A call with the same cost for every rule. */
  public Call(
      List<String> rules, Identity identity, long cost, @Nullable String id, Intent intent) {
    this(rules, identity, cost, Map.of(), id, intent);
  }

  /** A call of cost 1 by one rule. */
  public static Call of(String rule, Identity identity) {
    return new Call(List.of(rule), identity, 1, null, Intent.TAKE);
  }

  /** A call of cost 1 by several rules; all must allow it. */
  public static Call of(List<String> rules, Identity identity) {
    return new Call(rules, identity, 1, null, Intent.TAKE);
  }

  /** The same call with another cost, for every rule without a cost of its own. */
  public Call costing(long cost) {
    return new Call(rules, identity, cost, costs, id, intent);
  }

  /** The same call with another cost for one of its rules. */
  public Call costing(String rule, long cost) {
    Map<String, Long> more = new TreeMap<>(costs);
    more.put(rule, cost);
    return new Call(rules, identity, this.cost, more, id, intent);
  }

  /** The cost for a rule. */
  public long costBy(String rule) {
    return costs.isEmpty() ? cost : costs.getOrDefault(rule, cost);
  }

  /** The same call with an id, so that it can be sent again safely. */
  public Call withId(String id) {
    return new Call(rules, identity, cost, costs, id, intent);
  }

  /** The same call, but nothing is counted: see {@link Intent#PEEK}. */
  public Call peeking() {
    return new Call(rules, identity, cost, costs, id, Intent.PEEK);
  }

  /** The same call, counted even where it does not fit: see {@link Intent#RECORD}. */
  public Call recording() {
    return new Call(rules, identity, cost, costs, id, Intent.RECORD);
  }

  /** The same call as a reservation, to be settled later: see {@link Intent#RESERVE}. */
  public Call reserving() {
    return new Call(rules, identity, cost, costs, id, Intent.RESERVE);
  }
}
