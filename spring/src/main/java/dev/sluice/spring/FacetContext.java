package dev.sluice.spring;

import dev.sluice.http.RequestParts;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The call for which a {@link FacetResolver} is asked. */
public interface FacetContext {
  /** The parts of the current request; empty outside of requests. */
  Optional<RequestParts> request();

  /** The request itself: a {@code HttpServletRequest} or a {@code ServerWebExchange}. */
  <T> Optional<T> request(Class<T> type);

  /** The annotated method; empty for a route. */
  Optional<Method> method();

  /** The arguments of the annotated method. */
  List<@Nullable Object> arguments();
}
