package dev.sluice.spring.mvc;

import dev.sluice.spring.web.PathReading;
import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.springframework.util.PathMatcher;
import org.springframework.util.StringUtils;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.web.servlet.handler.AbstractHandlerMapping;
import org.springframework.web.util.UrlPathHelper;
import org.springframework.web.util.pattern.PathPatternParser;

/** Matches patterns as the handler mappings of Spring MVC do. Loaded only if it is present. */
public final class ServletHandlers implements ServletPaths.Handlers {
  /*
   * A handler mapping has a PathPatternParser or, with ant_path_matcher, a PathMatcher and a
   * UrlPathHelper. With the latter, /x may also match /x/ and /x.json. Not every version of Spring
   * can say whether it does, so paths are always tried without slash and extension, too.
   *
   * Mappings are looked up with the first request, because filters are created before them.
   */
  private final Supplier<Known> known;

  private record Known(boolean ignoreCase, List<Matcher> matchers) {}

  private record Matcher(PathMatcher matcher, UrlPathHelper paths) {}

  public ServletHandlers(Supplier<List<AbstractHandlerMapping>> mappings) {
    this.known = SingletonSupplier.of(() -> known(mappings.get()));
  }

  private static Known known(List<AbstractHandlerMapping> mappings) {
    boolean ignoreCase = false;
    List<Matcher> matchers = new ArrayList<>();
    for (AbstractHandlerMapping mapping : mappings) {
      PathPatternParser parser = mapping.getPatternParser();
      if (parser == null) {
        matchers.add(new Matcher(mapping.getPathMatcher(), mapping.getUrlPathHelper()));
      } else {
        ignoreCase |= !parser.isCaseSensitive();
      }
    }
    return new Known(ignoreCase, matchers.stream().distinct().toList());
  }

  @Override
  public boolean ignoreCase() {
    return known.get().ignoreCase;
  }

  @Override
  public boolean match(String pattern, HttpServletRequest request) {
    for (Matcher each : known.get().matchers) {
      String path = each.paths.getLookupPathForRequest(request);
      String plain = PathReading.plain(path);
      if (each.matcher.match(pattern, path)
          || each.matcher.match(pattern, plain)
          || each.matcher.match(pattern, StringUtils.stripFilenameExtension(plain))) {
        return true;
      }
    }
    return false;
  }
}
