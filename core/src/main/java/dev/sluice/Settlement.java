package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a call really cost, and whose usage is forgiven.
 *
 * @param cost what it cost by every rule that {@code costs} does not name; null if what was taken
 * @param costs what it cost, by rule
 * @param forgiven the accounts whose usage is forgotten, by their facets: {@code login+ip}
 */
public record Settlement(@Nullable Long cost, Map<String, Long> costs, Set<String> forgiven) {
  /** What was taken stands; of a reservation, for good. */
  public static final Settlement CONFIRMED = new Settlement(null, Map.of(), Set.of());

  /** All that was taken is given back. */
  public static final Settlement GIVEN_BACK = of(0);

  public Settlement {
    if (cost != null) {
      checkCost("actualCost", cost);
    }
    costs.forEach((rule, each) -> checkCost("costs: " + rule, each));
    costs = Map.copyOf(costs);
    forgiven = Set.copyOf(forgiven);
    if (forgiven.size() > Bounds.MOST_ACCOUNTS) {
      throw InvalidValueException.of(
          "forgiven",
          "%,d".formatted(forgiven.size()),
          "at most %d".formatted(Bounds.MOST_ACCOUNTS));
    }
  }

  /** One cost by every rule of the call. */
  public static Settlement of(long cost) {
    return new Settlement(cost, Map.of(), Set.of());
  }

  /** The same with another cost by one rule. */
  public Settlement costing(String rule, long actualCost) {
    Map<String, Long> more = new TreeMap<>(costs);
    more.put(rule, actualCost);
    return new Settlement(cost, more, forgiven);
  }

  /**
   * The same, forgetting what accounts have used.
   *
   * @param facets the facets of an account, joined by '+'
   */
  public Settlement forgiving(String... facets) {
    return new Settlement(cost, costs, Set.copyOf(Arrays.asList(facets)));
  }

  /** What the call cost an account. */
  public long costOf(Receipt.Entry entry) {
    Long named = costs.get(entry.account().rule());
    return named != null ? named : cost != null ? cost : entry.cost();
  }

  /** Whether the usage of an account is forgotten. */
  public boolean forgives(Account account) {
    return forgiven.stream()
        .anyMatch(facets -> namesOf(facets).equals(account.identity().facets().keySet()));
  }

  /** Refuses a cost by a rule that the call did not name. */
  void checkAgainst(Receipt receipt) {
    for (String rule : costs.keySet()) {
      if (!receipt.rules().contains(rule)) {
        throw InvalidValueException.of(
            "costs", "rule %s".formatted(Text.quoted(rule)), "a rule of the receipt");
      }
    }
  }

  /**
   * Refuses to forgive what no account of the call counts by, and the usage of an address: between
   * two guesses a log-in to one's own account would clear it.
   */
  void checkForgiven(Receipt receipt, Rules rules) {
    List<String> known = forgiven.isEmpty() ? List.of() : combinations(receipt, rules);
    for (String facets : forgiven) {
      Set<String> names = namesOf(facets);
      if (names.stream()
          .allMatch(each -> each.equals(Facet.ADDRESS) || rules.isClientAddress(each))) {
        throw InvalidValueException.of(
            "forgive",
            "%s is the client's address alone, whose usage is never forgiven"
                .formatted(Text.quoted(facets)),
            "facets such as login or login+ip");
      }
      if (names.contains(Rule.EVERYONE)) {
        throw InvalidValueException.of(
            "forgive",
            "%s is shared by all callers, so no caller can clear it".formatted(Text.quoted(facets)),
            "facets such as login or login+ip");
      }
      if (!known.isEmpty() && known.stream().noneMatch(each -> namesOf(each).equals(names))) {
        throw InvalidValueException.of(
            "forgive",
            "no rule of the call counts by %s".formatted(Text.quoted(facets)),
            "one of %s".formatted(Text.listed(known)));
      }
    }
  }

  /** What the rules of a call count by, now and when it was counted. */
  private static List<String> combinations(Receipt receipt, Rules rules) {
    return receipt.entries().stream()
        .map(Receipt.Entry::account)
        .flatMap(
            account -> {
              Rule rule = rules.find(account.rule());
              Stream<String> counted =
                  Stream.of(String.join("+", account.identity().facets().keySet()));
              return rule == null ? counted : Stream.concat(rule.by().stream(), counted);
            })
        .distinct()
        .toList();
  }

  private static Set<String> namesOf(String facets) {
    return Set.copyOf(Rule.split(facets));
  }

  private static void checkCost(String name, long cost) {
    if (cost < 0 || cost > Limit.LARGEST) {
      throw InvalidValueException.of(name, Long.toString(cost), "0 to 2^52");
    }
  }
}
