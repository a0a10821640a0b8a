package dev.sluice.spring.login;

import static dev.sluice.spring.login.LoginRefusedException.RESTRICTED_UNTIL;

import org.springframework.core.Ordered;
import org.springframework.http.HttpMethod;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/** Gives logins their request, and passes the end of a lock to the next page. */
final class ReactiveCountdown implements WebFilter, Ordered {
  private static final int BEFORE_SECURITY = -104;

  @Override
  public int getOrder() {
    return BEFORE_SECURITY;
  }

  @Override
  public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
    Mono<Void> rest =
        chain
            .filter(exchange)
            .contextWrite(context -> context.put(ServerWebExchange.class, exchange));
    boolean page =
        HttpMethod.GET.equals(exchange.getRequest().getMethod()) && ReactiveLogins.isPage(exchange);
    return page ? fromSession(exchange).then(rest) : rest;
  }

  private static Mono<Void> fromSession(ServerWebExchange exchange) {
    return exchange
        .getSession()
        .doOnNext(
            session -> {
              if (session.isStarted()
                  && session.getAttributes().remove(RESTRICTED_UNTIL) instanceof Long until
                  && until > System.currentTimeMillis()) {
                exchange.getAttributes().put(RESTRICTED_UNTIL, until);
              }
            })
        .then();
  }
}
