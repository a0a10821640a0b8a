package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
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
 * An immutable, validated set of rules, with the facets that they count by.
 *
 * <p>{@link #plan} is a pure function: the same call at the same time gives the same plan.
 */
public final class Rules {
  /** No rules. */
  public static final Rules NONE = Rules.of(List.of());

  private final Map<String, Compiled> byName;
  private final Map<String, Facet> facets;
  private final Forms forms;
  private final List<String> warnings;

  private Rules(
      Map<String, Compiled> byName, Map<String, Facet> facets, Forms forms, List<String> warnings) {
    this.byName = byName;
    this.facets = facets;
    this.forms = forms;
    this.warnings = warnings;
  }

  /** Rules that count by any facets. */
  public static Rules of(Rule... rules) {
    return of(List.of(rules));
  }

  /** Rules that count by any facets. */
  public static Rules of(Collection<Rule> rules) {
    return of(rules, List.of());
  }

  /** Rules and their facets. If any facet is defined, rules may count only by defined ones. */
  public static Rules of(Collection<Rule> rules, Collection<Facet> facets) {
    Rules made = open(rules, facets);
    if (!made.facets.isEmpty()) {
      made.checkFacets();
    }
    return made;
  }

  /** Rules that may also count by undefined facets, which the calling code supplies. */
  public static Rules open(Collection<Rule> rules, Collection<Facet> facets) {
    Map<String, Facet> facetsByName = new LinkedHashMap<>();
    facets.forEach(facet -> facetsByName.put(facet.name(), facet));
    Forms forms = Forms.of(facets);
    Map<String, Compiled> byName = new LinkedHashMap<>();
    for (Rule rule : rules) {
      if (byName.put(rule.name(), new Compiled(rule, forms, facetsByName)) != null) {
        throw InvalidValueException.of(
            null, "rule '" + rule.name() + "' twice", "one rule of each name");
      }
    }
    return new Rules(byName, Collections.unmodifiableMap(facetsByName), forms, List.of());
  }

  private void checkFacets() {
    for (Rule rule : all()) {
      for (String identity : rule.by()) {
        for (String facet : Rule.facetsOf(identity)) {
          if (!facets.containsKey(facet)) {
            throw InvalidValueException.advising(
                    "by",
                    "the unknown facet " + Text.quoted(facet),
                    Text.advice(facet, facets.keySet()))
                .in("rule '" + rule.name() + "'");
          }
        }
      }
    }
  }

  /** The same rules with warnings for their author. */
  public Rules warning(List<String> warnings) {
    return new Rules(byName, facets, forms, List.copyOf(warnings));
  }

  /**
   * Warnings about what is valid but probably not intended, such as a lock that has no effect. Each
   * has its file and line. Warnings do not affect equality.
   */
  public List<String> warnings() {
    return warnings;
  }

  /** The rule of a name, or null. */
  public @Nullable Rule find(String name) {
    Compiled found = byName.get(name);
    return found == null ? null : found.rule;
  }

  /** All rules, in their original order. */
  public List<Rule> all() {
    return byName.values().stream().map(compiled -> compiled.rule).toList();
  }

  /** The number of rules. */
  public int size() {
    return byName.size();
  }

  /** The defined facets by name: where a request carries each of them. */
  public Map<String, Facet> facets() {
    return facets;
  }

  /**
   * The charges of a call.
   *
   * @param clock decides which overrides have ended; read only if an override has an end
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

  /** The single charge of a call, the common case; null if it needs a {@link #plan}. */
  @Nullable Charge only(Call call, InstantSource clock) {
    if (call.rules().size() > 1 || call.id() != null || call.intent() != Intent.TAKE) {
      return null;
    }
    String rule = call.rules().get(0);
    return compiled(rule).only(call.identity(), call.costBy(rule), clock);
  }

  /**
   * The plan of a call with an id. The id is valid for this caller and these rules, costs and
   * intent.
   */
  private Plan named(List<Charge> charges, OnStoreFailure policy, Call call) {
    TreeMap<String, Long> costs = new TreeMap<>();
    call.rules().forEach(rule -> costs.put(rule, call.costBy(rule)));
    Identity caller = forms.kept(forms.canonical(call.identity()));
    String question = Plan.questionOf(call.intent(), costs);
    return new Plan(charges, call.intent(), call.id(), policy, caller, question, Store.HOLD);
  }

  private static void checkSize(int accounts, int limits) {
    if (accounts > Bounds.MOST_ACCOUNTS) {
      throw InvalidValueException.of(
          "accounts of the call",
          Long.toString(accounts),
          "at most %d".formatted(Bounds.MOST_ACCOUNTS));
    }
    if (limits > Bounds.MOST_LIMITS) {
      throw InvalidValueException.of(
          "limits of the call", Long.toString(limits), "at most %d".formatted(Bounds.MOST_LIMITS));
    }
  }

  /** Whether a caller is exempt from a rule. */
  public boolean isExempt(String ruleName, Identity identity) {
    return compiled(ruleName).isExempt(forms.canonical(identity));
  }

  /**
   * The accounts of a rule for which the identity has all facets; throws if there are none. The
   * account of all callers needs an identity without facets or {@code everyone=all}: unlocking one
   * caller must not unlock all.
   */
  public List<Account> accounts(String ruleName, Identity identity) {
    Compiled compiled = compiled(ruleName);
    return named(compiled, forms.canonical(identity), compiled.rule.terms()).stream()
        .map(Charge::account)
        .toList();
  }

  /** The plan that inspects those accounts, also for exempt callers. */
  Plan look(String ruleName, Identity identity, InstantSource clock) {
    Compiled compiled = compiled(ruleName);
    Identity caller = forms.canonical(identity);
    List<Charge> charges = named(compiled, caller, compiled.terms(caller, clock));
    return new Plan(charges, Intent.PEEK, null, compiled.policy());
  }

  private static List<Charge> named(Compiled compiled, Identity caller, Terms terms) {
    boolean everyone = caller.isEmpty() || caller.facet(Rule.EVERYONE) != null;
    List<Charge> charges = new ArrayList<>();
    for (String[] by : compiled.by(caller)) {
      Identity part = by.length > 0 || everyone ? caller.only(by) : null;
      if (part != null) {
        charges.add(compiled.charge(part, terms, 1));
      }
    }
    if (charges.isEmpty()) {
      throw InvalidValueException.of(
          "rule '%s'".formatted(compiled.rule.name()),
          "the identity has %s"
              .formatted(caller.isEmpty() ? "no facets" : caller.facets().keySet()),
          compiled.rule.by().isEmpty()
              ? "at least one facet"
              : Text.listed(
                  compiled.rule.by().stream()
                      .map(by -> by.equals(Rule.EVERYONE) ? by + "=all, or no facets" : by)
                      .toList()));
    }
    return charges;
  }

  /**
   * Whether a facet holds client addresses; {@code ip} does unless the rules define it otherwise.
   */
  public boolean isClientAddress(String facet) {
    return Facet.isAddress(facet, facets);
  }

  /**
   * Facet values for an override or exemption, without secrets: each secret value is replaced by
   * its hash, which matches the same callers.
   */
  public Map<String, String> withoutSecrets(Map<String, String> values) {
    Map<String, String> shown = new LinkedHashMap<>();
    values.forEach(
        (name, value) -> {
          Facet facet = facets.get(name);
          shown.put(
              name,
              facet == null || !facet.secret() || Identity.isShownHash(value)
                  ? value
                  : Identity.shown(Identity.kept(facet.canonical(value), true)));
        });
    return shown;
  }

  /**
   * The overrides of a rule that are for a caller, as positions in {@link Rule#overrides}. The
   * first of them that has not ended applies.
   */
  public int[] overridesFor(String ruleName, Identity identity) {
    return compiled(ruleName).overrides.matching(forms.canonical(identity));
  }

  /**
   * When the overrides of a rule last applied to a call, in seconds since the epoch, in the order
   * of {@link Rule#overrides}; 0 for one that did not since these rules are in force.
   */
  public long[] overridesApplied(String ruleName) {
    return compiled(ruleName).overrides.appliedSeconds();
  }

  /** The compiled rule of a name; throws if there is none. */
  Compiled compiled(String name) {
    Compiled found = byName.get(name);
    if (found == null) {
      throw new UnknownRuleException(name, byName.keySet());
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

  /** How identities are normalized and hashed before they are counted. */
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

    Identity kept(Identity identity) {
      return identity.kept(secret);
    }
  }

  /** A rule whose identities are parsed once, not on every call. */
  static final class Compiled {
    private final Rule rule;
    private final Forms forms;
    private final List<String[]> by;
    private final List<Who> exempt;
    private final SpecialTerms overrides;

    private Compiled(Rule rule, Forms forms, Map<String, Facet> facets) {
      this.rule = rule;
      this.forms = forms;
      this.by =
          rule.by().stream()
              .map(identity -> Rule.facetsOf(identity).toArray(new String[0]))
              .toList();
      this.exempt =
          rule.exempt().stream().map(who -> Who.of(rule.name(), "exempt", who, facets)).toList();
      this.overrides =
          new SpecialTerms(
              rule.overrides(),
              rule.overrides().stream()
                  .map(each -> Who.of(rule.name(), "when", each.when(), facets))
                  .toList());
    }

    /** The identities to count; without {@code by}, each facet of the call. */
    List<String[]> by(Identity identity) {
      if (!by.isEmpty()) {
        return by;
      }
      return identity.facets().keySet().stream().map(name -> new String[] {name}).toList();
    }

    OnStoreFailure policy() {
      return rule.onStoreFailure();
    }

    /** The single charge of a call, the common case; null if it needs a {@link #plan}. */
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

    /** The plan of a call that names only this rule. */
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
      throw InvalidValueException.of(
          "rule '%s'".formatted(rule.name()),
          "the call has %s"
              .formatted(identity.isEmpty() ? "no facets" : "only " + identity.facets().keySet()),
          rule.by().isEmpty() ? "at least one facet" : Text.listed(rule.by()));
    }

    private boolean isExempt(Identity identity) {
      return !exempt.isEmpty() && isAmongExempt(identity);
    }

    private boolean isAmongExempt(Identity identity) {
      Who.Addresses addresses = new Who.Addresses(identity);
      for (Who each : exempt) {
        if (each.holds(identity, addresses)) {
          return true;
        }
      }
      return false;
    }

    private Terms terms(Identity identity, InstantSource clock) {
      Rule.Special special = overrides.isEmpty() ? null : overrides.find(identity, clock);
      return special == null ? rule.terms() : special.terms();
    }
  }
}
