package dev.sluice.spring;

import dev.sluice.http.RequestParts;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a {@link FacetResolver} can see of a call. */
public final class FacetContext {
  private final @Nullable EdgeRequest request;
  private final @Nullable Method method;
  private final List<@Nullable Object> arguments;

  FacetContext(
      @Nullable EdgeRequest request, @Nullable Method method, @Nullable Object... arguments) {
    this.request = request;
    this.method = method;
    this.arguments = Collections.unmodifiableList(Arrays.asList(arguments));
  }

  /** The parts of the request around the call; empty outside of requests. */
  public Optional<RequestParts> request() {
    return Optional.ofNullable(request);
  }

  /** The request itself: a {@code HttpServletRequest} or a {@code ServerWebExchange}. */
  public <T> Optional<T> request(Class<T> type) {
    return request == null || !type.isInstance(request.unwrap())
        ? Optional.empty()
        : Optional.of(type.cast(request.unwrap()));
  }

  /** The annotated method; empty for a route. */
  public Optional<Method> method() {
    return Optional.ofNullable(method);
  }

  /** What the annotated method was called with. */
  public List<@Nullable Object> arguments() {
    return arguments;
  }

  @Nullable EdgeRequest edge() {
    return request;
  }
}
