package dev.sluice;

import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
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
  private final Forms forms;

  private Rules(Map<String, Compiled> byName, Map<String, Facet> facets, Forms forms) {
    this.byName = byName;
    this.facets = facets;
    this.forms = forms;
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
    Forms forms = Forms.of(facets);
    Map<String, Compiled> byName = new LinkedHashMap<>();
    for (Rule rule : rules) {
      if (byName.put(rule.name(), new Compiled(rule, forms)) != null) {
        throw new IllegalArgumentException(
            "rule '" + rule.name() + "' is there twice (expected: one rule of a name)");
      }
      for (String identity : rule.by()) {
        for (String facet : Rule.facetsOf(identity)) {
          if (!facetsByName.isEmpty() && !facetsByName.containsKey(facet)) {
            throw new IllegalArgumentException(
                "rule '%s': by names the unknown facet '%s' (expected: one of [%s])"
                    .formatted(rule.name(), facet, Text.listed(facetsByName.keySet())));
          }
        }
      }
    }
    return new Rules(byName, Collections.unmodifiableMap(facetsByName), forms);
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
      Compiled only = compiled(names.get(0));
      return call.id() == null
          ? only.plan(call.identity(), call.costBy(names.get(0)), call.intent(), clock)
          : named(
              only.charges(call.identity(), call.costBy(names.get(0)), clock), only.policy(), call);
    }
    List<Charge> charges = new ArrayList<>();
    int limits = 0;
    OnStoreFailure policy = OnStoreFailure.ALLOW;
    for (int i = 0; i < names.size(); i++) {
      if (names.indexOf(names.get(i)) == i) {
        Compiled each = compiled(names.get(i));
        List<Charge> its = each.charges(call.identity(), call.costBy(names.get(i)), clock);
        charges.addAll(its);
        limits += its.stream().mapToInt(charge -> charge.terms().limits().size()).sum();
        checkSize(charges.size(), limits);
        boolean stricter = each.policy().compareTo(policy) > 0;
        policy = !its.isEmpty() && stricter ? each.policy() : policy;
      }
    }
    return call.id() == null
        ? new Plan(charges, call.intent(), null, policy)
        : named(charges, policy, call);
  }

  /** The plan of a call with an id, which belongs to this caller and this question. */
  private Plan named(List<Charge> charges, OnStoreFailure policy, Call call) {
    TreeMap<String, Long> costs = new TreeMap<>();
    call.rules().forEach(rule -> costs.put(rule, call.costBy(rule)));
    Identity caller = forms.kept(forms.canonical(call.identity()));
    String question = Plan.questionOf(call.intent(), costs);
    return new Plan(charges, call.intent(), call.id(), policy, caller, question, Store.HOLD);
  }

  private static void checkSize(int accounts, int limits) {
    if (accounts > Bounds.MOST_ACCOUNTS) {
      throw new IllegalArgumentException(
          "accounts of the call: %d (expected: at most %d)"
              .formatted(accounts, Bounds.MOST_ACCOUNTS));
    }
    if (limits > Bounds.MOST_LIMITS) {
      throw new IllegalArgumentException(
          "limits of the call: %d (expected: at most %d)".formatted(limits, Bounds.MOST_LIMITS));
    }
  }

  /** The accounts of a rule that an identity names in full; at least one, or it is an error. */
  public List<Account> accounts(String ruleName, Identity identity) {
    Compiled compiled = compiled(ruleName);
    Identity caller = forms.canonical(identity);
    List<Account> accounts = new ArrayList<>();
    for (String[] by : compiled.by(caller)) {
      Identity part = caller.only(by);
      if (part != null) {
        accounts.add(compiled.charge(part, compiled.rule.terms(), 1).account());
      }
    }
    if (accounts.isEmpty()) {
      throw new IllegalArgumentException(
          "rule '%s': the identity has %s (expected: %s)"
              .formatted(
                  ruleName,
                  caller.isEmpty() ? "no facets" : caller.facets().keySet(),
                  compiled.rule.by().isEmpty()
                      ? "at least one facet"
                      : Text.listed(compiled.rule.by())));
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
              .orElseGet(() -> "expected: one of [" + Text.listed(byName.keySet()) + "]");
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

  /** What is done to an identity before it is counted. */
  private record Forms(Set<String> secret, Map<String, Facet> normalized) {
    static Forms of(Collection<Facet> facets) {
      return new Forms(
          facets.stream()
              .filter(Facet::secret)
              .map(Facet::name)
              .collect(Collectors.toUnmodifiableSet()),
          facets.stream()
              .filter(facet -> !facet.normalize().isEmpty())
              .collect(Collectors.toUnmodifiableMap(Facet::name, facet -> facet, (a, b) -> b)));
    }

    Identity canonical(Identity identity) {
      return normalized.isEmpty() ? identity : identity.canonical(normalized);
    }

    /** The values of facets as the canonical form of an identity has them. */
    Map<String, String> canonical(Map<String, String> values) {
      Map<String, String> canonical = new LinkedHashMap<>(values);
      canonical.replaceAll(
          (name, value) -> {
            Facet facet = normalized.get(name);
            return facet == null ? value : facet.canonical(value);
          });
      return canonical;
    }

    Identity kept(Identity identity) {
      return identity.kept(secret);
    }
  }

  /** A rule with its identities taken apart once, not on every call. */
  static final class Compiled {
    private final Rule rule;
    private final Forms forms;
    private final List<String[]> by;
    private final List<Map<String, String>> exempt;
    private final List<Rule.Special> overrides;

    private Compiled(Rule rule, Forms forms) {
      this.rule = rule;
      this.forms = forms;
      this.by =
          rule.by().stream()
              .map(identity -> Rule.facetsOf(identity).toArray(new String[0]))
              .toList();
      this.exempt = rule.exempt().stream().map(forms::canonical).toList();
      this.overrides =
          rule.overrides().stream()
              .map(
                  each ->
                      new Rule.Special(forms.canonical(each.when()), each.until(), each.terms()))
              .toList();
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
      return by.size() == 1 ? onlyOf(forms.canonical(identity), cost, clock) : null;
    }

    private @Nullable Charge onlyOf(Identity caller, long cost, InstantSource clock) {
      if (by.size() != 1 || isExempt(caller)) {
        return null;
      }
      Identity part = caller.only(by.get(0));
      return part == null ? null : charge(part, terms(caller, clock), cost);
    }

    /** The plan of a call by this rule. */
    Plan plan(Identity identity, long cost, Intent intent, InstantSource clock) {
      return new Plan(charges(identity, cost, clock), intent, null, policy());
    }

    List<Charge> charges(Identity identity, long cost, InstantSource clock) {
      Identity caller = forms.canonical(identity);
      Charge only = onlyOf(caller, cost, clock);
      if (only != null) {
        return List.of(only);
      }
      if (isExempt(caller)) {
        return List.of();
      }
      Terms terms = terms(caller, clock);
      List<String[]> wanted = by(caller);
      List<Charge> charges = new ArrayList<>(wanted.size());
      for (String[] facets : wanted) {
        Identity part = caller.only(facets);
        if (part != null) {
          charges.add(charge(part, terms, cost));
        } else {
          missing(caller);
        }
      }
      return charges.isEmpty() ? missing(caller) : charges;
    }

    private Charge charge(Identity part, Terms terms, long cost) {
      return new Charge(rule, forms.kept(part), terms, cost);
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
                  rule.by().isEmpty() ? "at least one facet" : Text.listed(rule.by())));
    }

    private boolean isExempt(Identity identity) {
      return !exempt.isEmpty() && isAmongExempt(identity);
    }

    private boolean isAmongExempt(Identity identity) {
      for (Map<String, String> each : exempt) {
        if (matches(each, identity)) {
          return true;
        }
      }
      return false;
    }

    private Terms terms(Identity identity, InstantSource clock) {
      return overrides.isEmpty() ? rule.terms() : specialTerms(identity, clock);
    }

    private Terms specialTerms(Identity identity, InstantSource clock) {
      for (Rule.Special special : overrides) {
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
