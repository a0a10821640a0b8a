package dev.sluice.spring.web;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;
import org.springframework.http.server.PathContainer;
import org.springframework.util.StringUtils;
import org.springframework.web.util.pattern.PathPattern;

/**
 * All the ways in which the application may read the path of a request.
 *
 * @param paths the readings
 * @param ignoresCase whether handlers ignore the case of a path
 * @param handlers whether a handler of this pattern would match by the application's own matchers
 */
public record PathReading(List<Path> paths, boolean ignoresCase, Predicate<String> handlers) {
  /*
   * A route has to match whenever a handler of the same pattern would; otherwise another spelling of
   * the path would bypass the limit. But handlers read paths differently. PathPattern keeps //, /./
   * and a trailing slash; AntPathMatcher and static resources ignore them. Static resources also
   * trim blanks, and behind a servlet path they decode twice. So a path is matched as it is, and
   * again with all of that removed. If a request is counted that no handler answers, no harm is done.
   *
   * Handlers do not see the context path, the servlet path and the base path of WebFlux. People
   * write routes with and without them, so both are matched.
   */
  private static final int MOST_DECODINGS = 3;

  private static final PathContainer.Options DECODED = PathContainer.Options.create('/', false);

  /**
   * One reading.
   *
   * @param prefix this reading matches only routes that begin with it
   */
  private record Path(String prefix, PathContainer path) {}

  /**
   * Reads a path.
   *
   * @param asHandlersSee the path without prefixes
   * @param prefixes prefixes that a route may have, such as {@code /shop}
   */
  public static PathReading of(
      PathContainer asHandlersSee,
      List<String> prefixes,
      boolean ignoresCase,
      Predicate<String> handlers) {
    List<Path> paths = new ArrayList<>(1);
    paths.add(new Path("", asHandlersSee));
    String raw = asHandlersSee.value();
    String plain = isPlain(raw) ? raw : plain(raw);
    if (!plain.equals(raw)) {
      paths.add(new Path("", PathContainer.parsePath(plain, DECODED)));
      paths.add(new Path("", PathContainer.parsePath(plain + "/", DECODED)));
    }
    for (String prefix : prefixes) {
      if (!prefix.isEmpty()) {
        paths.add(new Path(prefix, PathContainer.parsePath(prefix + raw)));
        paths.add(new Path(prefix, PathContainer.parsePath(prefix + plain, DECODED)));
        paths.add(new Path(prefix, PathContainer.parsePath(prefix + plain + "/", DECODED)));
      }
    }
    return new PathReading(paths, ignoresCase, handlers);
  }

  boolean matches(PathPattern pattern) {
    String text = pattern.getPatternString();
    for (Path path : paths) {
      if (text.startsWith(path.prefix) && pattern.matches(path.path)) {
        return true;
      }
    }
    return handlers.test(text);
  }

  /** Whether a pattern matches the unchanged path, as Spring matches by default. */
  boolean isPlainFor(PathPattern pattern) {
    return pattern.matches(paths.get(0).path);
  }

  /** Whether all handlers read a path in the same way. */
  private static boolean isPlain(String path) {
    for (int i = 0; i < path.length(); i++) {
      char c = path.charAt(i);
      boolean afterSlash = i > 0 && path.charAt(i - 1) == '/';
      if (c <= ' ' || c >= 0x7f || c == '%' || c == ';' || c == '\\') {
        return false;
      }
      if (afterSlash && (c == '/' || c == '.')) {
        return false;
      }
    }
    return path.startsWith("/") && (path.length() == 1 || !path.endsWith("/"));
  }

  /** A path without anything that some handlers ignore. */
  public static String plain(String path) {
    String text = path;
    for (int i = 0; i < MOST_DECODINGS && text.indexOf('%') >= 0; i++) {
      text = decoded(text);
    }
    Deque<String> segments = new ArrayDeque<>();
    for (String segment : text.replace('\\', '/').split("/", -1)) {
      int semicolon = segment.indexOf(';');
      String name = (semicolon < 0 ? segment : segment.substring(0, semicolon)).trim();
      if (name.equals("..")) {
        segments.pollLast();
      } else if (!name.isEmpty() && !name.equals(".")) {
        segments.addLast(name);
      }
    }
    return "/" + String.join("/", segments);
  }

  private static String decoded(String text) {
    try {
      return StringUtils.uriDecode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return text;
    }
  }
}
