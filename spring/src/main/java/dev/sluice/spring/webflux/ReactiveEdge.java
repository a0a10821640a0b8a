package dev.sluice.spring.webflux;

import dev.sluice.Balance;
import dev.sluice.spring.call.EdgeRequest;
import dev.sluice.spring.call.Query;
import dev.sluice.spring.peer.Peer;
import dev.sluice.spring.peer.Peers;
import java.security.Principal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpCookie;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebSession;
import reactor.core.publisher.Mono;

/** A WebFlux request. */
public final class ReactiveEdge implements EdgeRequest {
  private static final String BALANCES = ReactiveEdge.class.getName() + ".balances";
  private static final String SENT = ReactiveEdge.class.getName() + ".sent";
  private static final String REFUSED = ReactiveEdge.class.getName() + ".refused";
  static final String ROUTE = ReactiveEdge.class.getName() + ".route";

  private final ServerWebExchange exchange;
  private final @Nullable Principal user;
  private final @Nullable WebSession session;

  private ReactiveEdge(
      ServerWebExchange exchange, @Nullable Principal user, @Nullable WebSession session) {
    this.exchange = exchange;
    this.user = user;
    this.session = session;
  }

  /** The request with its user and its session, which both have to be awaited. */
  static Mono<EdgeRequest> of(ServerWebExchange exchange, boolean withSession) {
    Mono<Optional<Principal>> user =
        exchange.<Principal>getPrincipal().map(Optional::of).defaultIfEmpty(Optional.empty());
    Mono<Optional<WebSession>> session =
        withSession
            ? exchange.getSession().map(Optional::of).defaultIfEmpty(Optional.empty())
            : Mono.just(Optional.empty());
    return Mono.zip(
        user, session, (u, s) -> new ReactiveEdge(exchange, u.orElse(null), s.orElse(null)));
  }

  /** The request among the arguments of a method; user and session only if they are ready. */
  public static @Nullable EdgeRequest among(@Nullable Object[] arguments) {
    for (Object argument : arguments) {
      if (argument instanceof ServerWebExchange exchange) {
        Principal user = exchange.<Principal>getPrincipal().toFuture().getNow(null);
        return new ReactiveEdge(exchange, user, exchange.getSession().toFuture().getNow(null));
      }
    }
    return null;
  }

  @Override
  public Object unwrap() {
    return exchange;
  }

  @Override
  public Peer connected() {
    ServerHttpRequest request = exchange.getRequest();
    Peer known = Peers.of(nativeRequest(request));
    return known == null ? Peer.of(request.getRemoteAddress(), this::ownHeaders) : known;
  }

  private static Object nativeRequest(ServerHttpRequest request) {
    try {
      return ServerHttpRequestDecorator.getNativeRequest(request);
    } catch (IllegalStateException mock) {
      return request; // a test without a server
    }
  }

  @Override
  public List<String> ownHeaders(String name) {
    // HttpHeaders is a Map in Spring 6 but not in 7; forEach exists in both.
    List<String> values = new ArrayList<>(1);
    exchange
        .getRequest()
        .getHeaders()
        .forEach(
            (header, lines) -> {
              if (header.equalsIgnoreCase(name)) {
                values.addAll(lines);
              }
            });
    return values;
  }

  @Override
  public List<String> cookies(String name) {
    List<HttpCookie> cookies = exchange.getRequest().getCookies().get(name);
    return cookies == null ? List.of() : cookies.stream().map(HttpCookie::getValue).toList();
  }

  @Override
  public List<String> queries(String name) {
    String query = exchange.getRequest().getURI().getRawQuery();
    return query == null ? List.of() : Query.values(query, name);
  }

  @Override
  public @Nullable Principal user() {
    return user;
  }

  @Override
  public @Nullable String session() {
    return session != null && session.isStarted() ? session.getId() : null;
  }

  @Override
  public @Nullable String route() {
    return exchange.getAttribute(ROUTE);
  }

  @Override
  public void setHeaders(Map<String, String> headers) {
    if (!exchange.getResponse().isCommitted()) {
      headers.forEach(exchange.getResponse().getHeaders()::set);
      exchange.getAttributes().put(SENT, headers);
    }
  }

  /**
   * Sets them just before the answer is committed, because an exception handler may clear or set
   * header fields. Only if the status is an error: the application may have caught the refusal.
   */
  @Override
  public void setHeadersOfRefusal(Map<String, String> headers) {
    if (exchange.getAttributes().put(REFUSED, headers) == null) {
      exchange.getResponse().beforeCommit(() -> Mono.fromRunnable(this::addHeadersOfRefusal));
    }
  }

  private void addHeadersOfRefusal() {
    ServerHttpResponse response = exchange.getResponse();
    HttpStatusCode status = response.getStatusCode();
    if (status != null && status.isError()) {
      Map<String, String> sent = exchange.getAttributeOrDefault(SENT, Map.of());
      Map<String, String> refused = exchange.getAttributeOrDefault(REFUSED, Map.of());
      refused.forEach(
          (name, value) -> {
            String now = response.getHeaders().getFirst(name);
            if (now == null || now.equals(sent.get(name))) {
              response.getHeaders().set(name, value);
            }
          });
    }
  }

  @Override
  public List<Balance> balances() {
    return exchange.getAttributeOrDefault(BALANCES, List.of());
  }

  @Override
  public void remember(List<Balance> balances) {
    exchange.getAttributes().put(BALANCES, balances);
  }
}
