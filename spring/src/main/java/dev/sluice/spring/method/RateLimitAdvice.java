package dev.sluice.spring.method;

import dev.sluice.internal.Stages;
import dev.sluice.spring.RateLimitedException;
import dev.sluice.spring.call.CallContext;
import dev.sluice.spring.call.EdgeRequest;
import dev.sluice.spring.call.Gate;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.util.ClassUtils;

/** The interceptor of annotated methods. */
public final class RateLimitAdvice implements MethodInterceptor {
  /*
   * An ordinary method blocks its caller until the decision is there, so that the method runs on the
   * caller's thread; the timeout of the store bounds the wait. A method that returns a Mono or Flux
   * never blocks: the decision is made on each subscription.
   */
  private static final boolean REACTOR =
      ClassUtils.isPresent("reactor.core.publisher.Mono", RateLimitAdvice.class.getClassLoader());

  private final Supplier<Gate> gate;
  private final Expressions expressions;
  private final List<Function<@Nullable Object[], @Nullable EdgeRequest>> edges;
  private final ConcurrentHashMap<Place, Optional<MethodLimits>> guards = new ConcurrentHashMap<>();

  private record Place(Method method, Class<?> type) {}

  /**
   * Created before the beans that it uses.
   *
   * @param edges each finds the current request, given the arguments of a method
   */
  public RateLimitAdvice(
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
    MethodLimits guard = target == null ? null : guard(method, target.getClass());
    if (guard == null || target == null) {
      return invocation.proceed();
    }
    EdgeRequest request = request(invocation.getArguments());
    Class<?> returned = method.getReturnType();
    if (REACTOR && ReactiveMethods.isReactive(returned)) {
      return ReactiveMethods.guarded(this, guard, invocation, request);
    }
    Passage passage = passage(guard, invocation, target, request);
    try {
      passage.enter(Stages.await(gate.get().askAll(passage.calls(), null)));
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
      Stages.await(passage.leave(null, error));
      throw error;
    }
    if (!guard.countsFailures()) {
      return result;
    }
    return settled(passage, result);
  }

  private static @Nullable Object settled(Passage passage, @Nullable Object result) {
    if (REACTOR
        && result != null
        && ReactiveMethods.isReactive(result.getClass())) { // Mono and Flux may be Callables, too
      return ReactiveMethods.settled(passage, result);
    }
    if (result instanceof CompletionStage<?> stage) {
      return new Followed(passage, stage);
    }
    if (result instanceof Callable<?> later) {
      return (Callable<@Nullable Object>)
          () -> {
            Object value;
            try {
              value = later.call();
            } catch (Exception error) {
              Stages.await(passage.leave(null, error));
              throw error;
            }
            Stages.await(passage.leave(value, null));
            return value;
          };
    }
    Stages.await(passage.leave(result, null));
    return result;
  }

  @Nullable MethodLimits guard(Method method, Class<?> type) {
    return guards
        .computeIfAbsent(
            new Place(method, type),
            place -> Optional.ofNullable(MethodLimits.of(method, type, expressions)))
        .orElse(null);
  }

  Gate gate() {
    return gate.get();
  }

  Passage passage(
      MethodLimits guard,
      MethodInvocation invocation,
      Object target,
      @Nullable EdgeRequest request) {
    @Nullable Object[] arguments = invocation.getArguments();
    Method method = invocation.getMethod();
    EvaluationContext values = expressions.context(target, method, arguments, request);
    CallContext context = new CallContext(request, method, arguments);
    return new Passage(
        gate.get(), guard.place(), guard.ask(gate.get(), context, values), values, request);
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

  /** Completes like the method's own stage, after the outcome has been counted. */
  private static final class Followed extends CompletableFuture<@Nullable Object> {
    private final Passage passage;
    private final CompletionStage<?> own;

    Followed(Passage passage, CompletionStage<?> own) {
      this.passage = passage;
      this.own = own;
      own.whenComplete(
          (value, error) ->
              passage
                  .leave(value, error)
                  // Not on the thread that reads from Redis.
                  .whenCompleteAsync((done, lost) -> end(value, error)));
    }

    private void end(@Nullable Object value, @Nullable Throwable error) {
      if (error == null) {
        complete(value);
      } else {
        completeExceptionally(error);
      }
    }

    @Override
    public boolean cancel(boolean mayInterrupt) {
      if (!isDone()) {
        passage.cancel();
        cancelOwn(mayInterrupt);
      }
      return super.cancel(mayInterrupt);
    }

    private void cancelOwn(boolean mayInterrupt) {
      try {
        own.toCompletableFuture().cancel(mayInterrupt);
      } catch (UnsupportedOperationException e) {
        // A stage that is no future cannot be cancelled.
      }
    }
  }
}
