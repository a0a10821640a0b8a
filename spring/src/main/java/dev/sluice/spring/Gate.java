package dev.sluice.spring;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Decision.CountedBy;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rules;
import dev.sluice.http.HeaderProfile;
import dev.sluice.http.HttpAnswer;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The one way from Spring to the limiter: finds who asks, asks, observes, tells the answer. */
final class Gate {
  private final Limiter limiter;
  private final Facets facets;
  private final HeaderProfile headers;
  private final ObservationRegistry observations;

  Gate(Limiter limiter, Facets facets, HeaderProfile headers, ObservationRegistry observations) {
    this.limiter = limiter;
    this.facets = facets;
    this.headers = headers;
    this.observations = observations;
  }

  /** The call to these rules by whoever asks. */
  Call call(Collection<String> names, Map<String, String> given, long cost, FacetContext context) {
    Rules rules = limiter.rules();
    try {
      Identity identity = facets.identity(rules, names, given, context);
      return Call.of(List.copyOf(names), identity).costing(cost);
    } catch (IllegalArgumentException e) {
      throw new UncountableException(e);
    }
  }

  /** Asks; whatever goes wrong is in the stage. */
  CompletionStage<Decision> ask(Call call) {
    Observation observation =
        Observation.createNotStarted("sluice.decisions", observations)
            .contextualName("sluice decision")
            .lowCardinalityKeyValue("rule", String.join(",", call.rules()))
            .lowCardinalityKeyValue("outcome", "unknown")
            .lowCardinalityKeyValue("countedBy", name(CountedBy.NOBODY))
            .start();
    return stage(() -> limiter.ask(call))
        .handle(
            (decision, error) -> {
              if (error != null) {
                throw failed(observation, error);
              }
              observation
                  .lowCardinalityKeyValue("outcome", outcome(decision))
                  .lowCardinalityKeyValue("countedBy", name(decision.countedBy()))
                  .stop();
              return decision;
            });
  }

  private static CompletionException failed(Observation observation, Throwable error) {
    Throwable cause =
        error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    boolean uncountable = cause instanceof IllegalArgumentException;
    observation
        .lowCardinalityKeyValue("outcome", uncountable ? "uncountable" : "error")
        .error(cause)
        .stop();
    return new CompletionException(
        cause instanceof IllegalArgumentException e ? new UncountableException(e) : cause);
  }

  /** Asks for several calls, all or nothing: what the first ones took is given back. */
  CompletionStage<List<Decision>> askAll(List<Call> calls) {
    return askFrom(calls, 0, new ArrayList<>());
  }

  private CompletionStage<List<Decision>> askFrom(
      List<Call> calls, int next, List<Decision> decisions) {
    if (next == calls.size()) {
      return CompletableFuture.completedFuture(decisions);
    }
    return ask(calls.get(next))
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
              return askFrom(calls, next + 1, decisions);
            })
        .thenCompose(all -> all);
  }

  /**
   * Gives back what these decisions took; a store that is away keeps it, which is the safe side.
   */
  CompletionStage<Boolean> giveBack(List<Decision> decisions) {
    CompletionStage<Boolean> done = CompletableFuture.completedFuture(true);
    for (Decision decision : decisions) {
      if (decision instanceof Decision.Allowed allowed) {
        done =
            done.thenCombine(
                stage(() -> limiter.giveBack(allowed.receipt())).exceptionally(error -> false),
                Boolean::logicalAnd);
      }
    }
    return done;
  }

  /** What an action gives, also if it throws at once. */
  private static <T> CompletionStage<T> stage(Supplier<CompletionStage<T>> action) {
    return CompletableFuture.completedFuture(action).thenCompose(Supplier::get);
  }

  /** Tells a client where it stands after these decisions and those before on its request. */
  void tell(@Nullable EdgeRequest request, List<Decision> decisions) {
    if (request != null) {
      List<Balance> all = balances(request, decisions);
      if (!all.isEmpty()) {
        request.remember(all);
        Decision sum = Decision.Allowed.of(all, () -> new Receipt("-", 0, List.of()));
        request.tell(HttpAnswer.of(sum, headers).headers());
      }
    }
  }

  /** The answer to a refused request. */
  HttpAnswer refusal(@Nullable EdgeRequest request, Decision denied) {
    if (request == null || denied instanceof Decision.Unmetered) {
      return HttpAnswer.of(denied, headers);
    }
    List<Balance> balances = balances(request, List.of(denied));
    return HttpAnswer.of(new Decision.Denied(balances, denied.countedBy()), headers);
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

  Limiter limiter() {
    return limiter;
  }

  Facets facets() {
    return facets;
  }

  /** Waits for an answer; the store's deadline bounds the wait. */
  static <T> T await(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  private static String name(CountedBy countedBy) {
    return countedBy.name().toLowerCase(Locale.ROOT);
  }

  static String outcome(Decision decision) {
    if (decision instanceof Decision.Unmetered) {
      return decision.allowed() ? "unmetered-allowed" : "unmetered-denied";
    }
    return decision.allowed() ? "allowed" : decision.locked() ? "locked" : "denied";
  }
}
