package dev.sluice.spring.method;

import dev.sluice.Decision;
import dev.sluice.spring.call.EdgeRequest;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.call.PreparedCall;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.aop.ProxyMethodInvocation;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.ContextView;

/** Limits methods that return a Mono or a Flux. Loaded only if Reactor is present. */
public final class ReactiveMethods {
  private static final Executor PARALLEL =
      task -> {
        Disposable unused = Schedulers.parallel().schedule(task);
      };

  private ReactiveMethods() {}

  static boolean isReactive(Class<?> returned) {
    return Publisher.class.isAssignableFrom(returned);
  }

  /**
   * The answer of a store, on another thread than the one that reads from Redis. A handler that
   * blocked on that thread for another decision would wait for itself.
   */
  public static <T> Mono<T> answer(CompletionStage<T> stage) {
    Mono<T> answer = Mono.fromCompletionStage(stage);
    return stage.toCompletableFuture().isDone() ? answer : answer.publishOn(Schedulers.parallel());
  }

  /** A decision, on a thread of Reactor without the way over those of the store. */
  public static Mono<Decision> ask(Gate gate, PreparedCall call) {
    return Mono.fromCompletionStage(gate.ask(call, PARALLEL));
  }

  /** Decides on every subscription, and runs the method if it is allowed. */
  static Object guarded(
      RateLimitAdvice advice,
      MethodLimits guard,
      MethodInvocation invocation,
      @Nullable EdgeRequest known) {
    if (Mono.class.isAssignableFrom(invocation.getMethod().getReturnType())) {
      return Mono.deferContextual(
          context ->
              entered(advice, guard, invocation, known, context).flatMap(ReactiveMethods::mono));
    }
    return Flux.deferContextual(
        context ->
            entered(advice, guard, invocation, known, context).flatMapMany(ReactiveMethods::flux));
  }

  /** The method's own publisher, after the call was allowed. */
  private record Entered(Passage passage, Publisher<?> publisher) {}

  private static Mono<Entered> entered(
      RateLimitAdvice advice,
      MethodLimits guard,
      MethodInvocation invocation,
      @Nullable EdgeRequest known,
      ContextView context) {
    Object target = Objects.requireNonNull(invocation.getThis(), "target");
    MethodInvocation once = ((ProxyMethodInvocation) invocation).invocableClone();
    Mono<Optional<EdgeRequest>> request =
        Mono.justOrEmpty(context.<Mono<EdgeRequest>>getOrEmpty(EdgeRequest.class))
            .flatMap(found -> found)
            .map(Optional::of)
            .defaultIfEmpty(Optional.ofNullable(known));
    return request.flatMap(
        found -> {
          Passage passage = advice.passage(guard, once, target, found.orElse(null));
          return Mono.fromCompletionStage(advice.gate().askAll(passage.calls(), PARALLEL))
              .map(
                  decisions -> {
                    passage.enter(decisions);
                    return new Entered(passage, proceed(once));
                  });
        });
  }

  /** For a publisher from a method whose declared type is none, such as Object. */
  static Object settled(Passage passage, Object publisher) {
    Entered entered = new Entered(passage, (Publisher<?>) publisher);
    return publisher instanceof Mono ? mono(entered) : flux(entered);
  }

  private static Publisher<?> proceed(MethodInvocation invocation) {
    try {
      Object publisher = invocation.proceed();
      return publisher == null ? Mono.empty() : (Publisher<?>) publisher;
    } catch (Throwable e) {
      return Mono.error(e);
    }
  }

  private static Mono<Object> mono(Entered entered) {
    Passage passage = entered.passage;
    return Mono.from(entered.publisher)
        .map(Object.class::cast)
        .materialize()
        .flatMap(
            signal ->
                answer(passage.leave(signal.get(), signal.getThrowable())).then(Mono.just(signal)))
        .dematerialize()
        .doOnCancel(passage::cancel);
  }

  private static Flux<Object> flux(Entered entered) {
    Passage passage = entered.passage;
    AtomicBoolean begun = new AtomicBoolean();
    return Flux.from(entered.publisher)
        .map(Object.class::cast)
        .doOnNext(each -> begun.set(true))
        .onErrorResume(error -> answer(passage.leaveMany(error)).then(Mono.error(error)))
        .concatWith(Mono.defer(() -> answer(passage.leaveMany(null)).then(Mono.empty())))
        .doOnCancel(
            () -> {
              if (begun.get()) {
                passage.stop();
              } else {
                passage.cancel();
              }
            });
  }
}
