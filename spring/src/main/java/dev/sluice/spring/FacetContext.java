package dev.sluice.spring;

import dev.sluice.http.RequestParts;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a {@link FacetResolver} can see of a call. */
public interface FacetContext {
  /** The parts of the request around the call; empty outside of requests. */
  Optional<RequestParts> request();

  /** The request itself: a {@code HttpServletRequest} or a {@code ServerWebExchange}. */
  <T> Optional<T> request(Class<T> type);

  /** The annotated method; empty for a route. */
  Optional<Method> method();

  /** What the annotated method was called with. */
  List<@Nullable Object> arguments();
}
