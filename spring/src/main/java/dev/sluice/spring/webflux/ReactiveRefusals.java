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

/** Answers requests that a route of WebFlux refused, as if a controller had thrown the refusal. */
public final class ReactiveRefusals {
  /*
   * Spring's dispatcher asks the advice for exceptions that come before any handler. A refusal in a
   * filter does not reach the dispatcher, so the same is done here.
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
    return Mono.defer(() -> asked(refusal, exchange))
        .flatMap(result -> write(result, exchange))
        .onErrorResume(
            error ->
                exchange.getResponse().isCommitted()
                    ? Mono.error(error)
                    : ReactiveRouteFilter.write(refusal.answer(), exchange));
  }

  private Mono<HandlerResult> asked(RefusedCall refusal, ServerWebExchange exchange) {
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
    return Mono.error(new IllegalStateException("nobody writes " + result.getReturnValue()));
  }
}
