package dev.sluice.spring.mvc;

import dev.sluice.spring.web.PathReading;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.MappingMatch;
import java.util.List;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.ServletRequestPathUtils;

/** Reads the paths of servlet requests. */
public final class ServletPaths {
  /** How the application matches paths to handlers. */
  public interface Handlers {
    /** Without Spring MVC. */
    Handlers NONE =
        new Handlers() {
          @Override
          public boolean ignoreCase() {
            return false;
          }

          @Override
          public boolean match(String pattern, HttpServletRequest request) {
            return false;
          }
        };

    /** Whether some handlers ignore the case of a path. */
    boolean ignoreCase();

    /** Whether a handler of this pattern would match in a way that PathPattern does not. */
    boolean match(String pattern, HttpServletRequest request);
  }

  private final Handlers handlers;

  public ServletPaths(Handlers handlers) {
    this.handlers = handlers;
  }

  PathReading read(HttpServletRequest request) {
    boolean prefixed = request.getHttpServletMapping().getMappingMatch() == MappingMatch.PATH;
    String servlet = prefixed ? request.getServletPath() : "";
    String context = request.getServletContext().getContextPath();
    return PathReading.of(
        behindPrefixes(request, prefixed),
        List.of(servlet, context + servlet),
        handlers.ignoreCase(),
        pattern -> handlers.match(pattern, request));
  }

  private static PathContainer behindPrefixes(HttpServletRequest request, boolean prefixed) {
    try {
      return ServletRequestPathUtils.parse(request).pathWithinApplication();
    } catch (IllegalArgumentException e) {
      // Only the container understands another spelling of the prefix, such as /x/../app.
      String info = request.getPathInfo();
      return PathContainer.parsePath(
          (prefixed ? "" : request.getServletPath()) + (info == null ? "" : info));
    }
  }
}
