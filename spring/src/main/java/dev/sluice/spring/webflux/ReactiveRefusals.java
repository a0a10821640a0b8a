package dev.sluice.spring.webflux;

import dev.sluice.spring.call.RefusedCall;
import dev.sluice.spring.web.Refusals;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.web.reactive.DispatchExceptionHandler;
import org.springframework.web.reactive.HandlerAdapter;
import org.springframework.web.reactive.HandlerResult;
import org.springframework.web.reactive.HandlerResultHandler;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Answers requests that a route refused, as if a WebFlux controller had thrown the refusal. */
public final class ReactiveRefusals {
  /*
   * Spring's dispatcher passes exceptions to controller advice. A refusal in a filter does not reach
   * the dispatcher, so this class does the same.
   */
  private final Refusals refusals;
  private final ObjectProvider<HandlerAdapter> adapters;
  private final ObjectProvider<HandlerResultHandler> handlers;

  public ReactiveRefusals(
      Refusals refusals,
      ObjectProvider<HandlerAdapter> adapters,
      ObjectProvider<HandlerResultHandler> handlers) {
    this.refusals = refusals;
    this.adapters = adapters;
    this.handlers = handlers;
  }

  Mono<Void> refuse(RefusedCall refusal, ServerWebExchange exchange) {
    if (!refusals.areHandled(null)) {
      return ReactiveRouteFilter.write(refusal.answer(), exchange);
    }
    return Mono.defer(() -> handled(refusal, exchange))
        .flatMap(result -> write(result, exchange))
        .onErrorResume(
            error ->
                exchange.getResponse().isCommitted()
                    ? Mono.error(error)
                    : ReactiveRouteFilter.write(refusal.answer(), exchange));
  }

  private Mono<HandlerResult> handled(RefusedCall refusal, ServerWebExchange exchange) {
    Mono<HandlerResult> result = Mono.error(refusal);
    for (HandlerAdapter adapter : adapters.orderedStream().toList()) {
      if (adapter instanceof DispatchExceptionHandler handler) {
        result = result.onErrorResume(error -> handler.handleError(exchange, error));
      }
    }
    return result;
  }

  private Mono<Void> write(HandlerResult result, ServerWebExchange exchange) {
    for (HandlerResultHandler handler : handlers.orderedStream().toList()) {
      if (handler.supports(result)) {
        return handler.handleResult(exchange, result);
      }
    }
    return Mono.error(
        new IllegalStateException("no HandlerResultHandler for " + result.getReturnValue()));
  }
}
