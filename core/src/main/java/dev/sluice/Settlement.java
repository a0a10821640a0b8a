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
 * How to settle a call: its real cost, and which usage to forgive.
 *
 * @param cost the real cost for every rule that {@code costs} does not name; null to keep what was
 *     taken
 * @param costs the real cost by rule
 * @param forgiven the accounts whose usage is forgotten, by their facets such as {@code login+ip}
 */
public record Settlement(@Nullable Long cost, Map<String, Long> costs, Set<String> forgiven) {
  /** Confirms the call: it keeps what it took. Makes a reservation final. */
  public static final Settlement CONFIRMED = new Settlement(null, Map.of(), Set.of());

  /** Refunds everything that was taken. */
  public static final Settlement GIVEN_BACK = of(0);

  /** Checks the costs. */
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

  /** The same real cost for every rule of the call. */
  public static Settlement of(long cost) {
    return new Settlement(cost, Map.of(), Set.of());
  }

  /** The same settlement with another cost for one rule. */
  public Settlement costing(String rule, long actualCost) {
    Map<String, Long> more = new TreeMap<>(costs);
    more.put(rule, actualCost);
    return new Settlement(cost, more, forgiven);
  }

  /**
   * The same settlement, which also forgets the usage of accounts.
   *
   * @param facets for each kind of account its facets, joined by '+'
   */
  public Settlement forgiving(String... facets) {
    return new Settlement(cost, costs, Set.copyOf(Arrays.asList(facets)));
  }

  /** The real cost for the account of an entry. */
  public long costOf(Receipt.Entry entry) {
    Long named = costs.get(entry.account().rule());
    return named != null ? named : cost != null ? cost : entry.cost();
  }

  /** Whether the usage of an account is forgotten. */
  public boolean forgives(Account account) {
    return forgiven.stream()
        .anyMatch(facets -> namesOf(facets).equals(account.identity().facets().keySet()));
  }

  /** Throws if there is a cost for a rule that the call did not name. */
  void checkAgainst(Receipt receipt) {
    for (String rule : costs.keySet()) {
      if (!receipt.rules().contains(rule)) {
        throw InvalidValueException.of(
            "costs", "rule %s".formatted(Text.quoted(rule)), "a rule of the receipt");
      }
    }
  }

  /**
   * Throws if no rule of the call counts by the facets to forgive. Also throws if they are only the
   * client address: an attacker could log in to an account of its own between two guesses, and so
   * clear the usage of its address.
   *
   * <p>What the receipt counted by can always be forgiven, also if its rule is gone. The rules in
   * force say two things that no receipt does: which facets hold client addresses, and what its
   * rules would count by if the call had had more facets.
   *
   * @param rules the rules in force
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

  /** The facet combinations that the rules of a call count by, now and when it was counted. */
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
