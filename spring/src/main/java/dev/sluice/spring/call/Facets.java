package dev.sluice.spring.call;

import dev.sluice.Facet;
import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.RequestFacets;
import dev.sluice.spring.FacetResolver;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the identity of a caller, facet by facet. Thread-safe. */
public final class Facets {
  /*
   * The first of these that has a value for a facet supplies it: the annotation, a FacetResolver bean,
   * the request. Where in a request a facet is found is said by the rules, or else by the defaults
   * below. A facet whose source is the caller never comes from the request.
   *
   * Everything that depends on the rules alone is computed once for each version of them.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Facets.class);
  static final String SESSION = "session";
  static final String MEMBER = "member";
  static final String ROUTE = "route";
  private static final String ADDRESS = "ip";

  private final Map<String, FacetResolver> resolvers = new LinkedHashMap<>();
  private final ClientAddress client;
  private volatile @Nullable Known known;

  /**
   * What is known of one version of the rules.
   *
   * @param sources where each facet is found: those of the rules and the defaults
   * @param read which facets to find for a rule
   * @param session whether any rule looks at the session
   */
  private record Known(
      Rules rules, Map<String, Facet> sources, Map<String, Read> read, boolean session) {}

  /**
   * The facets to find for a rule.
   *
   * @param always those that it counts by, and those that its overrides and exemptions compare
   * @param ifNoneGiven the same, and all others if the rule counts by whatever facets there are
   */
  private record Read(Set<String> always, Set<String> ifNoneGiven) {}

  public Facets(Collection<FacetResolver> resolvers, ClientAddress client) {
    for (FacetResolver resolver : resolvers) {
      this.resolvers.putIfAbsent(resolver.facet(), resolver);
    }
    this.client = client;
  }

  /** The identity of a caller: the facets that the named rules look at. */
  Identity identity(
      Rules rules, Collection<String> ruleNames, Map<String, String> given, CallContext context) {
    Map<String, Facet> sources = known(rules).sources;
    EdgeRequest request = context.edge();
    Map<String, String> found = new TreeMap<>(given);
    List<Facet> ofRequest = new ArrayList<>();
    for (String name : wanted(rules, ruleNames, given)) {
      if (given.containsKey(name) || resolve(name, context, found) || request == null) {
        continue;
      }
      Facet facet = sources.get(name);
      String route = facet == null && name.equals(ROUTE) ? request.route() : null;
      if (facet != null) {
        ofRequest.add(facet);
      } else if (route != null) {
        found.put(ROUTE, route);
      }
    }
    if (request != null && !ofRequest.isEmpty()) {
      found.putAll(RequestFacets.read(ofRequest, client, request));
    }
    return Identity.of(found);
  }

  /** The facets that these rules count by or compare. */
  public Set<String> wanted(Rules rules, Collection<String> names, Map<String, String> given) {
    Map<String, Read> read = known(rules).read;
    Set<String> wanted = new TreeSet<>();
    for (String name : names) {
      Read ofRule = read.get(name);
      if (ofRule != null) {
        wanted.addAll(given.isEmpty() ? ofRule.ifNoneGiven : ofRule.always);
      }
    }
    return wanted;
  }

  /** Whether a facet is known only once a user is signed in. */
  public boolean needsUser(Rules rules, String facet) {
    Facet source = known(rules).sources.get(facet);
    return !resolvers.containsKey(facet)
        && source != null
        && (source.source() == Facet.Source.PRINCIPAL || source.source() == Facet.Source.CLAIM);
  }

  /** Whether any rule looks at the session. */
  public boolean wantsSession(Rules rules) {
    return known(rules).session;
  }

  /** Whether a resolver or the request supplies a facet, so that an annotation need not. */
  public boolean knows(Rules rules, String facet) {
    return resolvers.containsKey(facet) || ofRequest(rules, facet);
  }

  /** Whether only a request supplies a facet. */
  public boolean ofRequest(Rules rules, String facet) {
    Facet source = known(rules).sources.get(facet);
    boolean inRequest =
        source == null ? facet.equals(ROUTE) : source.source() != Facet.Source.CALLER;
    return inRequest && !resolvers.containsKey(facet);
  }

  /** Whether a facet is the client's address, from whatever source. */
  public boolean isAddress(Rules rules, String facet) {
    Facet source = known(rules).sources.get(facet);
    return facet.equals(ADDRESS)
        || (source != null && source.source() == Facet.Source.CLIENT_ADDRESS);
  }

  private boolean resolve(String name, CallContext context, Map<String, String> found) {
    FacetResolver resolver = resolvers.get(name);
    if (resolver == null) {
      return false;
    }
    String value;
    try {
      value = resolver.resolve(context);
    } catch (RuntimeException e) {
      throw new IllegalStateException(
          "facet '%s': %s failed: %s".formatted(name, resolver.getClass().getName(), e), e);
    }
    if (value != null) {
      found.put(name, value);
    }
    return true;
  }

  @SuppressWarnings("ReferenceEquality") // looked at on every call; a source gives the same object
  private Known known(Rules rules) {
    Known last = known;
    if (last == null || last.rules != rules) {
      last = learn(rules);
      known = last;
    }
    return last;
  }

  private Known learn(Rules rules) {
    client.tooFine(rules).forEach(LOG::warn);
    Map<String, Facet> sources = new LinkedHashMap<>();
    sources.put(ADDRESS, new Facet(ADDRESS, Facet.Source.CLIENT_ADDRESS, "", false));
    sources.put(MEMBER, new Facet(MEMBER, Facet.Source.PRINCIPAL, "", false));
    sources.put(SESSION, new Facet(SESSION, Facet.Source.SESSION, "", false));
    sources.putAll(rules.facets());
    Map<String, Read> read = new LinkedHashMap<>();
    boolean session = false;
    for (Rule rule : rules.all()) {
      Read ofRule = read(rule, rules);
      read.put(rule.name(), ofRule);
      session |=
          ofRule.ifNoneGiven.stream()
              .map(sources::get)
              .anyMatch(facet -> facet != null && facet.source() == Facet.Source.SESSION);
    }
    return new Known(rules, sources, read, session);
  }

  private Read read(Rule rule, Rules rules) {
    Set<String> always = new TreeSet<>();
    rule.by().forEach(identity -> always.addAll(Rule.facetsOf(identity)));
    rule.overrides().forEach(override -> always.addAll(override.when().keySet()));
    rule.exempt().forEach(exempt -> always.addAll(exempt.keySet()));
    Set<String> ifNoneGiven = new TreeSet<>(always);
    if (rule.by().isEmpty()) {
      ifNoneGiven.addAll(rules.facets().keySet());
      ifNoneGiven.addAll(resolvers.keySet());
    }
    return new Read(always, ifNoneGiven);
  }
}
