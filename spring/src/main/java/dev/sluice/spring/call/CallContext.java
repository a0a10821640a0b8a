package dev.sluice.spring.call;

import dev.sluice.http.RequestParts;
import dev.sluice.spring.FacetContext;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The request, the method and the arguments of a call. Immutable. */
public final class CallContext implements FacetContext {
  private final @Nullable EdgeRequest request;
  private final @Nullable Method method;
  private final List<@Nullable Object> arguments;

  public CallContext(
      @Nullable EdgeRequest request, @Nullable Method method, @Nullable Object... arguments) {
    this.request = request;
    this.method = method;
    this.arguments = Collections.unmodifiableList(Arrays.asList(arguments));
  }

  @Override
  public Optional<RequestParts> request() {
    return Optional.ofNullable(request);
  }

  @Override
  public <T> Optional<T> request(Class<T> type) {
    return request == null || !type.isInstance(request.unwrap())
        ? Optional.empty()
        : Optional.of(type.cast(request.unwrap()));
  }

  @Override
  public Optional<Method> method() {
    return Optional.ofNullable(method);
  }

  @Override
  public List<@Nullable Object> arguments() {
    return arguments;
  }

  /** The request around the call, or null. */
  @Nullable EdgeRequest edge() {
    return request;
  }
}
