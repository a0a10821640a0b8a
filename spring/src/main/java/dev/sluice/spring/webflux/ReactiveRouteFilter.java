package dev.sluice.spring.webflux;

import dev.sluice.Rules;
import dev.sluice.spring.call.Answer;
import dev.sluice.spring.call.CallContext;
import dev.sluice.spring.call.EdgeRequest;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.call.UncountableException;
import dev.sluice.spring.method.ReactiveMethods;
import dev.sluice.spring.web.PathReading;
import dev.sluice.spring.web.Routes;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.springframework.core.Ordered;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.server.RequestPath;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/** Limits the paths of {@code sluice.routes}, and gives annotated methods their request. */
public final class ReactiveRouteFilter implements WebFilter, Ordered {
  private final Routes routes;
  private final BooleanSupplier ignoresCase;
  private final Gate gate;
  private final ReactiveRefusals refusals;
  private final int order;

  public ReactiveRouteFilter(
      Routes routes, BooleanSupplier ignoresCase, Gate gate, ReactiveRefusals refusals, int order) {
    this.routes = routes;
    this.ignoresCase = ignoresCase;
    this.gate = gate;
    this.refusals = refusals;
    this.order = order;
  }

  @Override
  public int getOrder() {
    return order;
  }

  @Override
  public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
    ServerHttpRequest request = exchange.getRequest();
    Routes.Match match =
        routes.isEmpty() ? null : routes.match(request.getMethod().name(), read(request.getPath()));
    Mono<Void> rest =
        chain
            .filter(exchange)
            .contextWrite(context -> context.put(EdgeRequest.class, edge(exchange)));
    if (match == null) {
      return rest;
    }
    exchange.getAttributes().put(ReactiveEdge.ROUTE, match.pattern());
    return Mono.defer(
        () -> {
          Rules rules = gate.rules();
          return edge(exchange, rules).flatMap(edge -> limited(edge, match, rules, exchange, rest));
        });
  }

  /** Runs the rest of the chain if the rules allow it; else answers the request. */
  private Mono<Void> limited(
      EdgeRequest edge,
      Routes.Match match,
      Rules rules,
      ServerWebExchange exchange,
      Mono<Void> rest) {
    CallContext context = new CallContext(edge, null);
    return Mono.defer(
            () -> ReactiveMethods.ask(gate, gate.call(rules, match.rules(), Map.of(), 1, context)))
        .map(
            decision -> {
              if (decision.allowed()) {
                gate.setHeaders(edge, List.of(decision));
                return rest;
              }
              return refusals.refuse(gate.refused(match.rules(), decision, edge), exchange);
            })
        .onErrorResume(UncountableException.class, e -> Mono.just(write(Answer.to(e), exchange)))
        // Outside of onErrorResume: an exception of the application is not a bad request.
        .flatMap(next -> next);
  }

  private PathReading read(RequestPath path) {
    return PathReading.of(
        path.pathWithinApplication(),
        List.of(path.contextPath().value()),
        ignoresCase.getAsBoolean(),
        pattern -> false);
  }

  private Mono<EdgeRequest> edge(ServerWebExchange exchange) {
    return Mono.defer(() -> edge(exchange, gate.rules()));
  }

  private Mono<EdgeRequest> edge(ServerWebExchange exchange, Rules rules) {
    return ReactiveEdge.of(exchange, gate.facets().wantsSession(rules));
  }

  public static Mono<Void> write(Answer answer, ServerWebExchange exchange) {
    ServerHttpResponse response = exchange.getResponse();
    response.setStatusCode(HttpStatusCode.valueOf(answer.status()));
    answer.headers().forEach(response.getHeaders()::set);
    response.getHeaders().setContentType(MediaType.parseMediaType(answer.contentType()));
    byte[] body = answer.body().getBytes(StandardCharsets.UTF_8);
    return response.writeWith(Mono.fromSupplier(() -> response.bufferFactory().wrap(body)));
  }
}
