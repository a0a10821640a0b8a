package dev.sluice;

import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An immutable, validated set of rules, and how HTTP edges find the facets they count by.
 *
 * <p>{@link #plan} is a pure function: the same call at the same moment gives the same plan.
 */
public final class Rules {
  public static final Rules NONE = Rules.of(List.of());

  private final Map<String, Compiled> byName;
  private final Map<String, Facet> facets;

  private Rules(Map<String, Compiled> byName, Map<String, Facet> facets) {
    this.byName = byName;
    this.facets = facets;
  }

  public static Rules of(Rule... rules) {
    return of(List.of(rules));
  }

  public static Rules of(Collection<Rule> rules) {
    return of(rules, List.of());
  }

  /** Rules with their facets; where any facet is named, a rule may count by no other. */
  public static Rules of(Collection<Rule> rules, Collection<Facet> facets) {
    Map<String, Facet> facetsByName = new LinkedHashMap<>();
    facets.forEach(facet -> facetsByName.put(facet.name(), facet));
    Set<String> secret =
        facets.stream()
            .filter(Facet::secret)
            .map(Facet::name)
            .collect(Collectors.toUnmodifiableSet());
    Map<String, Compiled> byName = new LinkedHashMap<>();
    for (Rule rule : rules) {
      if (byName.put(rule.name(), new Compiled(rule, secret)) != null) {
        throw new IllegalArgumentException(
            "rule '" + rule.name() + "' is there twice (expected: one rule of a name)");
      }
      for (String identity : rule.by()) {
        for (String facet : identity.split("\\+", -1)) {
          if (!facetsByName.isEmpty() && !facetsByName.containsKey(facet)) {
            throw new IllegalArgumentException(
                "rule '%s': by names the unknown facet '%s' (expected: one of %s)"
                    .formatted(rule.name(), facet, facetsByName.keySet()));
          }
        }
      }
    }
    return new Rules(byName, Collections.unmodifiableMap(facetsByName));
  }

  /** The rule of a name, or null. */
  public @Nullable Rule find(String name) {
    Compiled found = byName.get(name);
    return found == null ? null : found.rule;
  }

  /** All rules, in the order in which they were given. */
  public List<Rule> all() {
    return byName.values().stream().map(compiled -> compiled.rule).toList();
  }

  public int size() {
    return byName.size();
  }

  /** How HTTP edges find each facet. */
  public Map<String, Facet> facets() {
    return facets;
  }

  /**
   * Every charge that a call must pay.
   *
   * @param clock read only if an override has an end: decides which overrides have ended
   */
  public Plan plan(Call call, InstantSource clock) {
    List<String> names = call.rules();
    if (names.size() == 1) {
      return compiled(names.get(0))
          .plan(call.identity(), call.cost(), call.intent(), call.id(), clock);
    }
    List<Charge> charges = new ArrayList<>();
    OnStoreFailure policy = OnStoreFailure.ALLOW;
    for (int i = 0; i < names.size(); i++) {
      if (names.indexOf(names.get(i)) == i) {
        Compiled each = compiled(names.get(i));
        List<Charge> its = each.charges(call.identity(), call.cost(), clock);
        charges.addAll(its);
        boolean stricter = each.policy().compareTo(policy) > 0;
        policy = !its.isEmpty() && stricter ? each.policy() : policy;
      }
    }
    return new Plan(charges, call.intent(), call.id(), policy);
  }

  /** The accounts of a rule that an identity names in full; at least one, or it is an error. */
  public List<Account> accounts(String ruleName, Identity identity) {
    Compiled compiled = compiled(ruleName);
    List<Account> accounts = new ArrayList<>();
    for (String[] by : compiled.by(identity)) {
      Identity part = identity.only(by);
      if (part != null) {
        accounts.add(compiled.charge(part, compiled.rule.terms(), 1).account());
      }
    }
    if (accounts.isEmpty()) {
      throw new IllegalArgumentException(
          "rule '%s': the identity has %s (expected: %s)"
              .formatted(
                  ruleName,
                  identity.isEmpty() ? "no facets" : identity.facets().keySet(),
                  compiled.rule.by().isEmpty()
                      ? "at least one facet"
                      : String.join(" or ", compiled.rule.by())));
    }
    return accounts;
  }

  /** The rule of a name, ready to plan by; it is an error if there is none. */
  Compiled compiled(String name) {
    Compiled found = byName.get(name);
    if (found == null) {
      String hint =
          Text.nearest(name, byName.keySet())
              .map(near -> "did you mean '" + near + "'?")
              .orElseGet(() -> "expected: one of " + new TreeMap<>(byName).keySet());
      throw new IllegalArgumentException(
          "rule %s: unknown (%s)".formatted(Text.quoted(name), hint));
    }
    return found;
  }

  @Override
  public boolean equals(@Nullable Object object) {
    return object instanceof Rules other
        && all().equals(other.all())
        && facets.equals(other.facets);
  }

  @Override
  public int hashCode() {
    return all().hashCode();
  }

  @Override
  public String toString() {
    return byName.keySet().toString();
  }

  /** A rule with its identities taken apart once, not on every call. */
  static final class Compiled {
    private final Rule rule;
    private final Set<String> secret;
    private final List<String[]> by;

    Compiled(Rule rule, Set<String> secret) {
      this.rule = rule;
      this.secret = secret;
      this.by = rule.by().stream().map(Compiled::sortedFacets).toList();
    }

    private static String[] sortedFacets(String identity) {
      String[] facets = identity.split("\\+", -1);
      Arrays.sort(facets);
      return facets;
    }

    /** The identities to count; without `by`, each facet of the call. */
    List<String[]> by(Identity identity) {
      if (!by.isEmpty()) {
        return by;
      }
      return identity.facets().keySet().stream().map(name -> new String[] {name}).toList();
    }

    OnStoreFailure policy() {
      return rule.onStoreFailure();
    }

    /** The one charge of a call, the commonest way; null if it has to be {@link #plan}ned. */
    @Nullable Charge only(Identity identity, long cost, InstantSource clock) {
      if (by.size() != 1 || isExempt(identity)) {
        return null;
      }
      Identity part = identity.only(by.get(0));
      return part == null ? null : charge(part, terms(identity, clock), cost);
    }

    /** The plan of a call by this rule. */
    Plan plan(
        Identity identity, long cost, Intent intent, @Nullable String id, InstantSource clock) {
      return new Plan(charges(identity, cost, clock), intent, id, policy());
    }

    List<Charge> charges(Identity identity, long cost, InstantSource clock) {
      Charge only = only(identity, cost, clock);
      if (only != null) {
        return List.of(only);
      }
      if (isExempt(identity)) {
        return List.of();
      }
      Terms terms = terms(identity, clock);
      List<String[]> wanted = by(identity);
      List<Charge> charges = new ArrayList<>(wanted.size());
      for (String[] facets : wanted) {
        Identity part = identity.only(facets);
        if (part != null) {
          charges.add(charge(part, terms, cost));
        } else {
          missing(identity);
        }
      }
      return charges.isEmpty() ? missing(identity) : charges;
    }

    private Charge charge(Identity part, Terms terms, long cost) {
      return new Charge(rule, secret.isEmpty() ? part : part.hashing(secret), terms, cost);
    }

    private List<Charge> missing(Identity identity) {
      if (rule.missing() == Rule.Missing.SKIP) {
        return List.of();
      }
      throw new IllegalArgumentException(
          "rule '%s': the call has %s (expected: %s)"
              .formatted(
                  rule.name(),
                  identity.isEmpty() ? "no facets" : "only " + identity.facets().keySet(),
                  rule.by().isEmpty() ? "at least one facet" : String.join(", ", rule.by())));
    }

    private boolean isExempt(Identity identity) {
      return !rule.exempt().isEmpty() && isAmongExempt(identity);
    }

    private boolean isAmongExempt(Identity identity) {
      for (Map<String, String> exempt : rule.exempt()) {
        if (matches(exempt, identity)) {
          return true;
        }
      }
      return false;
    }

    private Terms terms(Identity identity, InstantSource clock) {
      return rule.overrides().isEmpty() ? rule.terms() : specialTerms(identity, clock);
    }

    private Terms specialTerms(Identity identity, InstantSource clock) {
      for (Rule.Special special : rule.overrides()) {
        Instant until = special.until();
        if ((until == null || clock.instant().isBefore(until))
            && matches(special.when(), identity)) {
          return special.terms();
        }
      }
      return rule.terms();
    }

    private static boolean matches(Map<String, String> wanted, Identity identity) {
      for (Map.Entry<String, String> facet : wanted.entrySet()) {
        if (!facet.getValue().equals(identity.facet(facet.getKey()))) {
          return false;
        }
      }
      return true;
    }
  }
}
