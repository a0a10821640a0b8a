package dev.sluice.spring.call;

import dev.sluice.Facet;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.RequestFacets;
import dev.sluice.spring.FacetResolver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds who asks: given by an annotation, told by a resolver, read from the request. */
public final class Facets {
  /*
   * The order: what the annotation gives, then FacetResolver beans, then the facets of the rules,
   * then what every application has: ip, member, session and route. A facet whose source is the caller
   * is told by one of the first two, never by the request.
   *
   * RequestFacets reads the facets of rules. Here each facet has to be asked for by itself, so it is
   * given rules of its own: one for each facet, of the facet's name, that counts by that facet.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Facets.class);
  static final String SESSION = "session";
  static final String MEMBER = "member";
  static final String ROUTE = "route";
  private static final String ADDRESS = "ip";

  private final Map<String, FacetResolver> resolvers = new LinkedHashMap<>();
  private final ClientAddress client;
  private volatile @Nullable Reader reader;

  private record Reader(Rules rules, RequestFacets request, boolean session) {}

  public Facets(Collection<FacetResolver> resolvers, ClientAddress client) {
    for (FacetResolver resolver : resolvers) {
      this.resolvers.putIfAbsent(resolver.facet(), resolver);
    }
    this.client = client;
  }

  /** Who asks, as far as these rules want to know. */
  Identity identity(
      Rules rules, Collection<String> ruleNames, Map<String, String> given, CallContext context) {
    Map<String, String> found = new LinkedHashMap<>(given);
    Set<String> ofRequest = new TreeSet<>();
    for (String name : wanted(rules, ruleNames, given)) {
      if (!given.containsKey(name) && !resolve(name, context, found) && context.edge() != null) {
        ofRequest.add(name);
      }
    }
    EdgeRequest request = context.edge();
    if (request != null && !ofRequest.isEmpty()) {
      read(rules, ofRequest, request, found);
    }
    return Identity.of(found);
  }

  /** The facets that these rules count by or look at. */
  public Set<String> wanted(Rules rules, Collection<String> names, Map<String, String> given) {
    Set<String> wanted = new TreeSet<>();
    for (String name : names) {
      Rule rule = rules.find(name);
      if (rule != null) {
        rule.by().forEach(identity -> wanted.addAll(Rule.facetsOf(identity)));
        if (rule.by().isEmpty() && given.isEmpty()) {
          wanted.addAll(rules.facets().keySet());
          wanted.addAll(resolvers.keySet());
        }
        rule.overrides().forEach(override -> wanted.addAll(override.when().keySet()));
        rule.exempt().forEach(exempt -> wanted.addAll(exempt.keySet()));
      }
    }
    return wanted;
  }

  /** Whether a facet is told by the request of the user who is signed in. */
  public boolean needsUser(Rules rules, String facet) {
    Facet known = facets(rules).get(facet);
    return !resolvers.containsKey(facet)
        && known != null
        && (known.source() == Facet.Source.PRINCIPAL || known.source() == Facet.Source.CLAIM);
  }

  /** Whether any rule looks at the session. */
  public boolean wantsSession(Rules rules) {
    return reader(rules).session;
  }

  /** Whether anybody but an annotation can tell a facet. */
  public boolean knows(Rules rules, String facet) {
    return resolvers.containsKey(facet) || ofRequest(rules, facet);
  }

  /** Whether only a request can tell a facet. */
  public boolean ofRequest(Rules rules, String facet) {
    return !resolvers.containsKey(facet)
        && (ofRequest(rules).containsKey(facet)
            || (facet.equals(ROUTE) && !rules.facets().containsKey(ROUTE)));
  }

  /** Whether a facet is the client's address, whoever tells it. */
  public boolean isAddress(Rules rules, String facet) {
    Facet known = facets(rules).get(facet);
    return facet.equals(ADDRESS)
        || (known != null && known.source() == Facet.Source.CLIENT_ADDRESS);
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

  private void read(
      Rules rules, Set<String> names, EdgeRequest request, Map<String, String> found) {
    Map<String, Facet> known = ofRequest(rules);
    List<String> readable = new ArrayList<>(names);
    readable.retainAll(known.keySet());
    String route = request.route();
    if (route != null && names.contains(ROUTE) && !rules.facets().containsKey(ROUTE)) {
      found.put(ROUTE, route);
    }
    if (!readable.isEmpty()) {
      found.putAll(reader(rules).request.identity(readable, request).facets());
    }
  }

  @SuppressWarnings("ReferenceEquality") // looked at on every call; a source gives the same object
  private Reader reader(Rules rules) {
    Reader known = reader;
    if (known == null || known.rules != rules) {
      List<Rule> each = new ArrayList<>();
      Map<String, Facet> facets = facets(rules);
      for (String name : facets.keySet()) {
        each.add(
            Rule.builder(name)
                .by(name)
                .missing(Rule.Missing.SKIP)
                .limit(Limit.slidingLog(1, Duration.ofSeconds(1)))
                .build());
      }
      List<String> names = rules.all().stream().map(Rule::name).toList();
      boolean session =
          wanted(rules, names, Map.of()).stream()
              .map(facets::get)
              .anyMatch(facet -> facet != null && facet.source() == Facet.Source.SESSION);
      client.tooFine(rules).forEach(LOG::warn);
      known = new Reader(rules, RequestFacets.of(Rules.of(each, facets.values()), client), session);
      reader = known;
    }
    return known;
  }

  /** Those that a request tells. */
  private static Map<String, Facet> ofRequest(Rules rules) {
    Map<String, Facet> told = facets(rules);
    told.values().removeIf(facet -> facet.source() == Facet.Source.CALLER);
    return told;
  }

  /** The facets of the rules and those that every application has. */
  private static Map<String, Facet> facets(Rules rules) {
    Map<String, Facet> facets = new LinkedHashMap<>();
    facets.put(ADDRESS, new Facet(ADDRESS, Facet.Source.CLIENT_ADDRESS, "", false));
    facets.put(MEMBER, new Facet(MEMBER, Facet.Source.PRINCIPAL, "", false));
    facets.put(SESSION, new Facet(SESSION, Facet.Source.SESSION, "", false));
    facets.putAll(rules.facets());
    return facets;
  }
}
