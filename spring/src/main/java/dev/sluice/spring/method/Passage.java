package dev.sluice.spring.method;

import dev.sluice.Decision;
import dev.sluice.Settlement;
import dev.sluice.internal.Stages;
import dev.sluice.spring.RateLimit;
import dev.sluice.spring.call.EdgeRequest;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.call.PreparedCall;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.expression.EvaluationContext;

/** One invocation of an annotated method. Thread-safe after {@link #enter}. */
final class Passage {
  /*
   * With count = ON_FAILURE the cost is reserved first and settled once, when the invocation ends:
   * confirmed if it failed, refunded if not. If the process dies in between, the store counts it when
   * the reservation ends. In doubt an invocation counts as failed, also if an expression cannot be
   * evaluated or the result can still fail. Otherwise password guesses could be free.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Passage.class);

  private final Gate gate;
  private final String place;
  private final List<MethodLimits.Asked> asked;
  private final EvaluationContext values;
  private final @Nullable EdgeRequest request;
  private final AtomicBoolean settled = new AtomicBoolean();
  private volatile List<Decision> decisions = List.of();

  Passage(
      Gate gate,
      String place,
      List<MethodLimits.Asked> asked,
      EvaluationContext values,
      @Nullable EdgeRequest request) {
    this.gate = gate;
    this.place = place;
    this.asked = asked;
    this.values = values;
    this.request = request;
  }

  List<PreparedCall> calls() {
    return asked.stream().map(MethodLimits.Asked::call).toList();
  }

  /** Lets the invocation proceed, or throws the refusal. */
  void enter(List<Decision> all) {
    decisions = all;
    Decision last = all.get(all.size() - 1);
    if (!last.allowed()) {
      throw gate.refused(asked.get(all.size() - 1).call().ruleNames(), last, request);
    }
    gate.setHeaders(request, all);
  }

  /** Settles an invocation that ended with a result or an error. The stage never fails. */
  CompletionStage<?> leave(@Nullable Object result, @Nullable Throwable error) {
    Throwable cause = error == null ? null : Stages.cause(error);
    return settle(each -> failed(each, result, cause) ? Settlement.CONFIRMED : each.success());
  }

  /** Settles an invocation that ended after several results; {@code failedIf} sees none of them. */
  CompletionStage<?> leaveMany(@Nullable Throwable error) {
    return settle(
        each -> {
          if (each.seesResult()) {
            LOG.error(
                "{}: failedIf cannot use #result of a Flux; the call counts as failed", place);
            return Settlement.CONFIRMED;
          }
          return failed(each, null, error) ? Settlement.CONFIRMED : each.success();
        });
  }

  /**
   * Settles an invocation whose caller cancelled after some results: neither failure nor success.
   */
  void stop() {
    settle(each -> each.seesResult() ? Settlement.CONFIRMED : Settlement.GIVEN_BACK);
  }

  /** Settles an invocation that was cancelled before its first result; it counts as failed. */
  void cancel() {
    settle(each -> Settlement.CONFIRMED);
  }

  private CompletionStage<?> settle(Function<MethodLimits.Asked, Settlement> settlement) {
    if (!settled.compareAndSet(false, true)) {
      return CompletableFuture.completedFuture(true);
    }
    List<PreparedCall> looks = new ArrayList<>();
    CompletionStage<Boolean> done = CompletableFuture.completedFuture(true);
    for (int i = 0; i < asked.size(); i++) {
      MethodLimits.Asked each = asked.get(i);
      if (each.count() == RateLimit.Count.ON_FAILURE) {
        Settlement how = settlement.apply(each);
        done = done.thenCombine(gate.settle(decisions.get(i), how), Boolean::logicalAnd);
        if (!how.equals(Settlement.CONFIRMED)) {
          looks.add(each.call().peeking());
        }
      }
    }
    return request == null || looks.isEmpty()
        ? done
        : done.thenCompose(all -> gate.askAll(looks, null))
            .thenAccept(now -> gate.setHeaders(request, now))
            .exceptionally(lost -> null);
  }

  private boolean failed(
      MethodLimits.Asked each, @Nullable Object result, @Nullable Throwable error) {
    if (error == null && Endings.isOpen(result)) {
      LOG.error(
          "{}: count = ON_FAILURE cannot see how the returned {} ends; the call counts as failed",
          place,
          result == null ? "null" : result.getClass().getName());
      return true;
    }
    if (each.failedIf() == null) {
      return error != null;
    }
    try {
      values.setVariable("result", result);
      values.setVariable("error", error);
      return Boolean.TRUE.equals(each.failedIf().getValue(values, Boolean.class));
    } catch (RuntimeException e) {
      LOG.warn(
          "{}: failedIf {} cannot be evaluated; the call counts as failed: {}",
          place,
          each.failedIf().getExpressionString(),
          e.toString());
      return true;
    }
  }
}
