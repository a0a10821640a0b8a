package dev.sluice.spring.call;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Decision.CountedBy;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Rules;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.http.HeaderProfile;
import dev.sluice.http.HttpAnswer;
import dev.sluice.internal.Stages;
import dev.sluice.metrics.Metrics;
import dev.sluice.spring.RefusalBody;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the limiter for decisions on calls: finds the caller, observes, and sets the headers. */
public final class Gate {
  private static final Logger LOG = LoggerFactory.getLogger(Gate.class);

  private final Limiter limiter;
  private final Facets facets;
  private final HeaderProfile headers;
  private final ObservationRegistry observations;
  private final @Nullable RefusalBody body;

  /**
   * Creates the gate of an application.
   *
   * @param body writes the body of refusals, or null for Sluice's own
   */
  public Gate(
      Limiter limiter,
      Facets facets,
      HeaderProfile headers,
      ObservationRegistry observations,
      @Nullable RefusalBody body) {
    this.limiter = limiter;
    this.facets = facets;
    this.headers = headers;
    this.observations = observations;
    this.body = body;
  }

  /** The rules in force. Read them once for each call, so that all parts of it agree. */
  public Rules rules() {
    return limiter.rules();
  }

  /**
   * Finds the identity of the caller and prepares the call.
   *
   * @param rules the rules in force
   * @param names those that the call is counted by
   * @param given facets that an annotation or a login supplies
   */
  public PreparedCall call(
      Rules rules,
      Collection<String> names,
      Map<String, String> given,
      long cost,
      CallContext context) {
    try {
      Identity identity = facets.identity(rules, names, given, context);
      return new PreparedCall(Call.of(List.copyOf(names), identity).costing(cost), rules);
    } catch (IllegalArgumentException e) {
      throw new UncountableException(e);
    }
  }

  /** Decides a call. Never throws; errors are in the stage. */
  public CompletionStage<Decision> ask(PreparedCall prepared) {
    return ask(prepared, null);
  }

  /**
   * Decides a call. Never throws; errors are in the stage.
   *
   * @param executor completes the stage; null for the threads of the store
   */
  public CompletionStage<Decision> ask(PreparedCall prepared, @Nullable Executor executor) {
    Observation observation =
        Observation.createNotStarted(Metrics.CALLS, observations)
            .contextualName("sluice call")
            .highCardinalityKeyValue("rules", String.join(",", prepared.ruleNames()))
            .start();
    return stage(
            () ->
                executor == null
                    ? limiter.decideAsync(prepared.call(), prepared.rules())
                    : limiter.decideAsync(prepared.call(), prepared.rules(), executor))
        .handle(
            (decision, error) -> {
              if (error != null) {
                throw failed(observation, error);
              }
              tagged(observation, Metrics.outcome(decision), decision.countedBy()).stop();
              return decision;
            });
  }

  private static CompletionException failed(Observation observation, Throwable error) {
    Throwable cause = Stages.cause(error);
    tagged(observation, Metrics.FAILED, CountedBy.NOBODY).error(cause).stop();
    return new CompletionException(
        cause instanceof IllegalArgumentException e ? new UncountableException(e) : cause);
  }

  private static Observation tagged(Observation observation, String outcome, CountedBy by) {
    return observation
        .lowCardinalityKeyValue(Metrics.OUTCOME, outcome)
        .lowCardinalityKeyValue(Metrics.COUNTED_BY, Metrics.countedBy(by));
  }

  /** Decides several calls, all or nothing: if one is refused, those before it are refunded. */
  public CompletionStage<List<Decision>> askAll(
      List<PreparedCall> calls, @Nullable Executor executor) {
    return askFrom(calls, executor, 0, new ArrayList<>());
  }

  private CompletionStage<List<Decision>> askFrom(
      List<PreparedCall> calls, @Nullable Executor executor, int next, List<Decision> decisions) {
    if (next == calls.size()) {
      return CompletableFuture.completedFuture(decisions);
    }
    return ask(calls.get(next), executor)
        .handle(
            (decision, error) -> {
              if (error != null) {
                return giveBack(decisions)
                    .thenCompose(done -> CompletableFuture.<List<Decision>>failedFuture(error));
              }
              if (!decision.allowed()) {
                return giveBack(decisions)
                    .thenApply(
                        done -> {
                          decisions.add(decision);
                          return decisions;
                        });
              }
              decisions.add(decision);
              return askFrom(calls, executor, next + 1, decisions);
            })
        .thenCompose(all -> all);
  }

  /** Refunds these decisions. */
  private CompletionStage<Boolean> giveBack(List<Decision> decisions) {
    CompletionStage<Boolean> done = CompletableFuture.completedFuture(true);
    for (Decision decision : decisions) {
      done = done.thenCombine(settle(decision, Settlement.GIVEN_BACK), Boolean::logicalAnd);
    }
    return done;
  }

  /**
   * Settles a decision; false if there was nothing to settle. The stage never fails: if the store
   * does not answer, the cost stays counted, which is the safe side.
   */
  public CompletionStage<Boolean> settle(Decision decision, Settlement settlement) {
    return decision instanceof Decision.Allowed allowed
        ? Gate.<Settled>stage(() -> limiter.settleAsync(allowed.receipt(), settlement))
            .thenApply(Settled::done)
            .exceptionally(error -> false)
        : CompletableFuture.completedFuture(false);
  }

  /** The stage of an action; an exception that it throws is in the stage, too. */
  public static <T> CompletionStage<T> stage(Supplier<CompletionStage<T>> action) {
    return CompletableFuture.completedFuture(action).thenCompose(Supplier::get);
  }

  /** Sets the rate-limit headers, by these decisions and earlier ones on the same request. */
  public void setHeaders(@Nullable EdgeRequest request, List<Decision> decisions) {
    if (request != null) {
      List<Balance> all = balances(request, decisions);
      if (!all.isEmpty()) {
        request.remember(all);
        request.setHeaders(HttpAnswer.headers(all, headers));
      }
    }
  }

  /** The exception for a refused call. Whoever answers the request, the headers are sent. */
  public RefusedCall refused(List<String> names, Decision denied, @Nullable EdgeRequest request) {
    Answer answer = refusal(request, denied);
    if (request != null) {
      request.setHeadersOfRefusal(answer.headers());
    }
    return new RefusedCall(names, denied, answer);
  }

  /** The answer to a refused request. */
  private Answer refusal(@Nullable EdgeRequest request, Decision denied) {
    if (request == null || denied instanceof Decision.Unmetered) {
      return withBody(Answer.of(HttpAnswer.of(denied, headers)), denied);
    }
    List<Balance> balances = balances(request, List.of(denied));
    Decision sum = new Decision.Denied(balances, denied.countedBy());
    return withBody(Answer.of(HttpAnswer.of(sum, headers)), denied);
  }

  private Answer withBody(Answer answer, Decision denied) {
    if (body == null) {
      return answer;
    }
    try {
      return answer.with(body.contentType(), Objects.requireNonNull(body.write(denied), "body"));
    } catch (RuntimeException e) {
      LOG.error("{} failed; the answer has Sluice's own body", body.getClass().getName(), e);
      return answer;
    }
  }

  private static List<Balance> balances(EdgeRequest request, List<Decision> decisions) {
    List<Balance> all = new ArrayList<>(request.balances());
    for (Decision decision : decisions) {
      for (Balance balance : decision.balances()) {
        all.removeIf(
            old -> old.account().equals(balance.account()) && old.limit().equals(balance.limit()));
        all.add(balance);
      }
    }
    return all;
  }

  public Limiter limiter() {
    return limiter;
  }

  public Facets facets() {
    return facets;
  }
}
