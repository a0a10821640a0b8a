package dev.sluice.spring.web;

import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.SluiceProperties.Place;
import dev.sluice.spring.SluiceProperties.Route;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import org.springframework.web.util.pattern.PatternParseException;

/** The routes of {@code sluice.routes}. Immutable. */
public final class Routes {
  /*
   * All routes that match a request are one call. The facet `route` is the pattern of the most
   * specific one, never the path itself. PathReading decides what matches.
   */
  private static final PathPatternParser IGNORING_CASE = ignoringCase();

  private final List<Parsed> all;

  private record Parsed(
      PathPattern pattern, PathPattern inAnyCase, Set<String> methods, List<String> rules) {
    boolean matches(String method, PathReading path) {
      return (methods.isEmpty() || methods.contains(method))
          && path.matches(path.ignoresCase() ? inAnyCase : pattern);
    }
  }

  /** The rules of all matching routes, and the most specific pattern. */
  public record Match(List<String> rules, String pattern) {}

  private Routes(List<Parsed> all) {
    this.all = all;
  }

  private static PathPatternParser ignoringCase() {
    PathPatternParser parser = new PathPatternParser();
    parser.setCaseSensitive(false);
    return parser;
  }

  public static Routes at(Place place, SluiceProperties properties) {
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

  public static Place placeOf(Route route, SluiceProperties properties) {
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
      if (methods.contains("GET")) {
        methods.add("HEAD"); // Spring passes it to the handlers of GET
      }
      return new Parsed(
          PathPatternParser.defaultInstance.parse(path),
          IGNORING_CASE.parse(path),
          methods,
          route.allRules());
    } catch (PatternParseException e) {
      throw new IllegalStateException(
          "%s.path: '%s': %s (expected: a pattern such as /api/**)"
              .formatted(where, path, e.getMessage()),
          e);
    }
  }

  public boolean isEmpty() {
    return all.isEmpty();
  }

  public @Nullable Match match(String method, PathReading path) {
    List<PathPattern> patterns = new ArrayList<>(1);
    Set<String> rules = new TreeSet<>();
    for (Parsed route : all) {
      if (route.matches(method, path)) {
        rules.addAll(route.rules);
        patterns.add(route.pattern);
      }
    }
    if (patterns.isEmpty()) {
      return null;
    }
    // A pattern that matches the unchanged path is preferred: another spelling must not choose it.
    PathPattern best =
        Collections.min(
            patterns,
            Comparator.<PathPattern, Boolean>comparing(each -> !path.isPlainFor(each))
                .thenComparing(PathPattern.SPECIFICITY_COMPARATOR));
    return new Match(List.copyOf(rules), best.getPatternString());
  }
}
