package dev.sluice.spring;

import dev.sluice.spring.SluiceProperties.Place;
import dev.sluice.spring.SluiceProperties.Route;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import org.springframework.web.util.pattern.PatternParseException;

/** The paths that filters limit. Immutable. */
final class Routes {
  /*
   * Paths are matched as Spring matches handlers: by decoded segments and without matrix variables,
   * so another spelling of a path is no way around its limit. All routes that match count, as one
   * call; the facet `route` is the pattern of the most specific one, never the path itself.
   */
  private final List<Parsed> all;

  private record Parsed(PathPattern pattern, Set<String> methods, List<String> rules) {}

  /** The routes of a request: their rules, and the most specific pattern. */
  record Match(List<String> rules, String pattern) {}

  private Routes(List<Parsed> all) {
    this.all = all;
  }

  static Routes at(Place place, SluiceProperties properties) {
    List<Parsed> parsed = new ArrayList<>();
    List<Route> routes = properties.routes();
    for (int i = 0; i < routes.size(); i++) {
      Route route = routes.get(i);
      if (placeOf(route, properties) == place) {
        parsed.add(parse("sluice.routes[" + i + "]", route));
      }
    }
    return new Routes(parsed);
  }

  static Place placeOf(Route route, SluiceProperties properties) {
    Place own = route.place();
    return own == null ? properties.place() : own;
  }

  private static Parsed parse(String where, Route route) {
    if (route.allRules().isEmpty()) {
      throw new IllegalStateException(where + ".rule: missing (expected: the name of a rule)");
    }
    String path = route.path();
    if (path == null || !path.startsWith("/")) {
      throw new IllegalStateException(
          where + ".path: '" + path + "' (expected: a pattern such as /api/**)");
    }
    try {
      Set<String> methods = new TreeSet<>();
      route.methods().forEach(method -> methods.add(method.toUpperCase(Locale.ROOT)));
      return new Parsed(PathPatternParser.defaultInstance.parse(path), methods, route.allRules());
    } catch (PatternParseException e) {
      throw new IllegalStateException(
          "%s.path: '%s': %s (expected: a pattern such as /api/**)"
              .formatted(where, path, e.getMessage()),
          e);
    }
  }

  boolean isEmpty() {
    return all.isEmpty();
  }

  @Nullable Match match(String method, PathContainer path) {
    Set<String> rules = null;
    PathPattern best = null;
    for (Parsed route : all) {
      boolean hit =
          (route.methods.isEmpty() || route.methods.contains(method))
              && route.pattern.matches(path);
      if (hit) {
        rules = rules == null ? new TreeSet<>() : rules;
        rules.addAll(route.rules);
        boolean closer =
            best == null || PathPattern.SPECIFICITY_COMPARATOR.compare(route.pattern, best) < 0;
        best = closer ? route.pattern : best;
      }
    }
    return rules == null || best == null
        ? null
        : new Match(List.copyOf(rules), best.getPatternString());
  }
}
