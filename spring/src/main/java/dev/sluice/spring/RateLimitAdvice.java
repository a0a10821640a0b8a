package dev.sluice.spring;

import dev.sluice.Call;
import dev.sluice.Decision;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.util.ClassUtils;

/** Stands before every annotated method. */
final class RateLimitAdvice implements MethodInterceptor {
  /*
   * A method that returns at once waits for the decision on its own thread, so that what the method
   * does stays on the thread it was called on; the store's deadline bounds the wait. A Mono or Flux
   * asks when it is subscribed to, and never blocks.
   */
  private static final boolean REACTOR =
      ClassUtils.isPresent("reactor.core.publisher.Mono", RateLimitAdvice.class.getClassLoader());

  private final Supplier<Gate> gate;
  private final Expressions expressions;
  private final List<Function<@Nullable Object[], @Nullable EdgeRequest>> edges;
  private final ConcurrentHashMap<Place, Optional<Guard>> guards = new ConcurrentHashMap<>();

  private record Place(Method method, Class<?> type) {}

  /**
   * Made before the beans it works with.
   *
   * @param edges where the request around a call may be found, given the arguments
   */
  RateLimitAdvice(
      Supplier<Gate> gate,
      Expressions expressions,
      List<Function<@Nullable Object[], @Nullable EdgeRequest>> edges) {
    this.gate = gate;
    this.expressions = expressions;
    this.edges = edges;
  }

  @Override
  public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
    Object target = invocation.getThis();
    Method method = invocation.getMethod();
    Guard guard = target == null ? null : guard(method, target.getClass());
    if (guard == null || target == null) {
      return invocation.proceed();
    }
    EdgeRequest request = request(invocation.getArguments());
    Class<?> returned = method.getReturnType();
    if (REACTOR && Reactive.isReactive(returned)) {
      return Reactive.guarded(this, guard, invocation, request);
    }
    Passage passage = passage(guard, invocation, target, request);
    try {
      passage.enter(Gate.await(gate.get().askAll(passage.calls())));
    } catch (RateLimitedException e) {
      if (CompletionStage.class.isAssignableFrom(returned)) {
        return CompletableFuture.failedFuture(e);
      }
      throw e;
    }
    Object result;
    try {
      result = invocation.proceed();
    } catch (Throwable error) {
      Gate.await(passage.leave(null, error));
      throw error;
    }
    if (!guard.countsFailures()) {
      return result;
    }
    return left(passage, result);
  }

  private static @Nullable Object left(Passage passage, @Nullable Object result) {
    if (REACTOR
        && result != null
        && Reactive.isReactive(result.getClass())) { // some are Callables too
      return Reactive.left(passage, result);
    }
    if (result instanceof CompletionStage<?> stage) {
      return stage
          .handle((value, error) -> passage.leave(value, error).thenApply(done -> stage))
          .thenCompose(done -> done)
          .thenComposeAsync(original -> original); // off the thread that reads from Redis
    }
    if (result instanceof Callable<?> later) {
      return (Callable<@Nullable Object>)
          () -> {
            Object value;
            try {
              value = later.call();
            } catch (Exception error) {
              Gate.await(passage.leave(null, error));
              throw error;
            }
            Gate.await(passage.leave(value, null));
            return value;
          };
    }
    Gate.await(passage.leave(result, null));
    return result;
  }

  @Nullable Guard guard(Method method, Class<?> type) {
    return guards
        .computeIfAbsent(
            new Place(method, type),
            place -> Optional.ofNullable(Guard.of(method, type, expressions)))
        .orElse(null);
  }

  Gate gate() {
    return gate.get();
  }

  Passage passage(
      Guard guard, MethodInvocation invocation, Object target, @Nullable EdgeRequest request) {
    @Nullable Object[] arguments = invocation.getArguments();
    Method method = invocation.getMethod();
    EvaluationContext values = expressions.context(target, method, arguments, request);
    FacetContext context = new FacetContext(request, method, arguments);
    return new Passage(gate.get(), guard.ask(gate.get(), context, values), values, request);
  }

  private @Nullable EdgeRequest request(@Nullable Object[] arguments) {
    for (Function<@Nullable Object[], @Nullable EdgeRequest> edge : edges) {
      EdgeRequest found = edge.apply(arguments);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /** One invocation on its way through. */
  static final class Passage {
    private final Gate gate;
    private final List<Guard.Asked> asked;
    private final EvaluationContext values;
    private final @Nullable EdgeRequest request;
    private List<Decision> decisions = List.of();

    Passage(
        Gate gate,
        List<Guard.Asked> asked,
        EvaluationContext values,
        @Nullable EdgeRequest request) {
      this.gate = gate;
      this.asked = asked;
      this.values = values;
      this.request = request;
    }

    List<Call> calls() {
      return asked.stream().map(Guard.Asked::call).toList();
    }

    /** Goes in, or throws the refusal. */
    void enter(List<Decision> all) {
      decisions = all;
      Decision last = all.get(all.size() - 1);
      if (!last.allowed()) {
        throw new RateLimitedException(asked.get(all.size() - 1).call().rules(), last);
      }
      gate.tell(request, all);
    }

    /** Comes out: what counts only failures is given back if there was none. */
    CompletionStage<?> leave(@Nullable Object result, @Nullable Throwable error) {
      Throwable cause =
          error instanceof CompletionException && error.getCause() != null
              ? error.getCause()
              : error;
      List<Decision> back = new ArrayList<>();
      List<Call> looks = new ArrayList<>();
      for (int i = 0; i < asked.size(); i++) {
        Guard.Asked each = asked.get(i);
        if (each.count() == RateLimit.Count.ON_FAILURE && !failed(each, result, cause)) {
          back.add(decisions.get(i));
          looks.add(each.call().peeking());
        }
      }
      if (back.isEmpty()) {
        return CompletableFuture.completedFuture(true);
      }
      CompletionStage<Boolean> given = gate.giveBack(back);
      return request == null
          ? given
          : given
              .thenCompose(done -> gate.askAll(looks))
              .thenAccept(now -> gate.tell(request, now))
              .exceptionally(lost -> null);
    }

    private boolean failed(Guard.Asked each, @Nullable Object result, @Nullable Throwable error) {
      if (each.failedIf() == null) {
        return error != null;
      }
      values.setVariable("result", result);
      values.setVariable("error", error);
      return Boolean.TRUE.equals(each.failedIf().getValue(values, Boolean.class));
    }
  }
}
