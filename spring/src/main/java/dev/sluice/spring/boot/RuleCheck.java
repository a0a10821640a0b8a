package dev.sluice.spring.boot;

import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.internal.Text;
import dev.sluice.spring.call.Gate;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Checks that the rules which a place names exist, and that something supplies their facets. */
final class RuleCheck {
  private final Gate gate;
  private final Rules rules;
  private final List<String> mistakes;
  private final Map<String, Set<String>> supplied = new LinkedHashMap<>();
  private final Set<String> used = new LinkedHashSet<>();

  /**
   * A check that has found nothing yet.
   *
   * @param mistakes where to add what is wrong
   */
  RuleCheck(Gate gate, List<String> mistakes) {
    this.gate = gate;
    this.rules = gate.limiter().rules();
    this.mistakes = mistakes;
  }

  /** The names of all rules that were found. */
  Set<String> used() {
    return used;
  }

  /** Whether a facet is known only once the user is. */
  boolean needsUser(String facet) {
    return gate.facets().needsUser(rules, facet);
  }

  /** The rule of a name; if there is none, that is a mistake. */
  @Nullable Rule known(String place, String name) {
    Rule rule = rules.find(name);
    if (rule == null) {
      List<String> all = rules.all().stream().map(Rule::name).toList();
      String hint = Text.nearest(name, all).map(Text::didYouMean).orElse("expected: one of " + all);
      mistakes.add("%s: no rule %s (%s)".formatted(place, Text.quoted(name), hint));
    } else {
      used.add(name);
    }
    return rule;
  }

  /** The rule must count by what a success clears, and not by the address alone. */
  void checkForgiven(String place, Rule rule, Set<String> forgive) {
    for (String identity : forgive) {
      Set<String> facets = Rule.facetsOf(identity);
      boolean counted =
          rule.by().isEmpty()
              ? facets.size() == 1
              : rule.by().stream().anyMatch(each -> Rule.facetsOf(each).equals(facets));
      if (!counted) {
        mistakes.add(
            "%s: forgive is %s, and rule '%s' does not count by that (expected: %s)"
                .formatted(
                    place,
                    Text.quoted(identity),
                    rule.name(),
                    rule.by().isEmpty() ? "one facet" : "one of " + rule.by()));
      } else if (facets.stream().allMatch(facet -> gate.facets().isAddress(rules, facet))) {
        mistakes.add(
            "%s: forgive is %s, the client's address alone (expected: an account such as login;"
                    .formatted(place, Text.quoted(identity))
                + " an attacker could clear the address by logging in between guesses)");
      }
    }
  }

  /**
   * Something must supply every facet that a rule counts by.
   *
   * @param given the facets that the place itself supplies
   * @param findsRequest whether the facets of the request can be found there
   */
  void checkFacets(String place, Rule rule, Set<String> given, boolean findsRequest) {
    supplied.computeIfAbsent(rule.name(), name -> new TreeSet<>()).addAll(given);
    if (rule.by().isEmpty()) {
      boolean any =
          !given.isEmpty()
              || !gate.facets().wanted(rules, List.of(rule.name()), Map.of()).isEmpty();
      if (!any) {
        mistakes.add(
            "%s: rule '%s' has no 'by', and no facet is supplied (expected: by on the"
                    .formatted(place, rule.name())
                + " rule or the annotation)");
      }
      return;
    }
    for (String facet : counted(rule)) {
      if (given.contains(facet)) {
        continue;
      }
      // Also if the request supplies it: then the annotation's value would be ignored.
      Optional<String> misspelt = Text.nearest(facet, unused(rule, given));
      if (misspelt.isPresent()) {
        mistakes.add(
            "%s: by supplies '%s', which rule '%s' does not count by (did you mean '%s'?)"
                .formatted(place, misspelt.get(), rule.name(), facet));
      } else if (!gate.facets().knows(rules, facet)) {
        mistakes.add(
            "%s: rule '%s' counts by '%s', which nothing supplies (expected: by = \"%s=…\", a"
                    .formatted(place, rule.name(), facet, facet)
                + " FacetResolver bean, or sluice.facets."
                + facet
                + " with a part of the request)");
      } else if (!findsRequest && gate.facets().ofRequest(rules, facet)) {
        mistakes.add(
            "%s: rule '%s' counts by '%s', and in WebFlux only methods that return a Mono or Flux,"
                    .formatted(place, rule.name(), facet)
                + " or take a ServerWebExchange, find their request");
      }
    }
  }

  /** Facets that an annotation supplies and the rule does not use. */
  private static Set<String> unused(Rule rule, Set<String> given) {
    Set<String> unused = new TreeSet<>(given);
    unused.removeAll(counted(rule));
    unused.removeAll(compared(rule));
    return unused;
  }

  /** An override or exemption by a facet that nothing supplies would never match. */
  void checkCompared() {
    supplied.forEach(
        (name, given) -> {
          Rule rule = rules.find(name);
          for (String facet : rule == null ? Set.<String>of() : compared(rule)) {
            if (!given.contains(facet) && !gate.facets().knows(rules, facet)) {
              mistakes.add(
                  "rule '%s': an override or exemption compares '%s', which nothing supplies"
                          .formatted(name, facet)
                      + " (expected: a facet that a request, a FacetResolver bean or an annotation"
                      + " supplies)");
            }
          }
        });
  }

  /** The rules in use that count or compare the address of a request. */
  List<String> byAddress() {
    return used.stream()
        .filter(
            name ->
                gate.facets().wanted(rules, List.of(name), Map.of()).stream()
                    .filter(facet -> !supplied.getOrDefault(name, Set.of()).contains(facet))
                    .filter(facet -> gate.facets().isAddress(rules, facet))
                    .anyMatch(facet -> gate.facets().ofRequest(rules, facet)))
        .toList();
  }

  private static Set<String> compared(Rule rule) {
    Set<String> facets = new TreeSet<>();
    rule.overrides().forEach(override -> facets.addAll(override.when().keySet()));
    rule.exempt().forEach(exempt -> facets.addAll(exempt.keySet()));
    return facets;
  }

  /** All facets that a rule counts by. */
  static Set<String> counted(Rule rule) {
    Set<String> facets = new LinkedHashSet<>();
    rule.by().forEach(identity -> facets.addAll(Rule.facetsOf(identity)));
    return facets;
  }
}
