package dev.sluice.spring.login;

import static dev.sluice.spring.login.LoginRefusedException.RESTRICTED_UNTIL;

import dev.sluice.spring.RateLimitedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.security.authentication.ReactiveAuthenticationManager;
import org.springframework.security.core.Authentication;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Signal;

/** Guards logins by name and password in WebFlux. Thread-safe. */
final class ReactiveLogins implements MethodInterceptor, LoginGuard.Post {
  private static final Object INSIDE = new Object();

  private final Supplier<LoginGuard> guard;
  private volatile boolean used;

  ReactiveLogins(Supplier<LoginGuard> guard) {
    this.guard = guard;
  }

  @Override
  public boolean isUsed() {
    return used;
  }

  ReactiveAuthenticationManager guarded(ReactiveAuthenticationManager manager) {
    used = true;
    return login -> authenticate(manager, login);
  }

  /** A guarded proxy of a manager bean, of the same type. */
  Object guardedBean(Object manager) {
    used = true;
    return Managers.guarded(manager, this);
  }

  @Override
  public @Nullable Object invoke(MethodInvocation call) throws Throwable {
    Authentication login = Managers.login(call);
    return login != null && call.getThis() instanceof ReactiveAuthenticationManager manager
        ? authenticate(manager, login)
        : call.proceed();
  }

  private Mono<Authentication> authenticate(
      ReactiveAuthenticationManager manager, Authentication login) {
    if (!Password.isIn(login)) {
      return manager.authenticate(login);
    }
    return Mono.deferContextual(
        context -> {
          if (context.hasKey(INSIDE)) {
            return manager.authenticate(login);
          }
          Optional<ServerWebExchange> exchange = context.getOrEmpty(ServerWebExchange.class);
          return Mono.fromCompletionStage(
                  guard.get().enter(exchange.orElse(null), login.getName(), Password.of(login)))
              .flatMap(
                  attempt ->
                      attempt.allowed()
                          ? checked(manager, login, attempt, exchange)
                          : refused(attempt, exchange));
        });
  }

  private static Mono<Authentication> checked(
      ReactiveAuthenticationManager manager,
      Authentication login,
      LoginGuard.Try attempt,
      Optional<ServerWebExchange> exchange) {
    return Mono.defer(() -> manager.authenticate(login))
        .contextWrite(context -> context.put(INSIDE, true))
        .materialize()
        .flatMap(signal -> ended(signal, manager, login, attempt, exchange).thenReturn(signal))
        .<Authentication>dematerialize()
        // A client that disconnects before the answer has tried all the same.
        .doOnCancel(attempt::failed);
  }

  private static Mono<Void> ended(
      Signal<Authentication> signal,
      ReactiveAuthenticationManager manager,
      Authentication login,
      LoginGuard.Try attempt,
      Optional<ServerWebExchange> exchange) {
    return Mono.fromCompletionStage(
            Password.end(attempt, manager, login, signal.get(), signal.getThrowable()))
        .flatMap(
            until ->
                until.isPresent() && exchange.isPresent()
                    ? remember(exchange.get(), until.get().toEpochMilli())
                    : Mono.empty());
  }

  private static Mono<Authentication> refused(
      LoginGuard.Try attempt, Optional<ServerWebExchange> found) {
    RateLimitedException refused = attempt.refusal();
    if (found.isEmpty()) {
      return Mono.error(refused);
    }
    ServerWebExchange exchange = found.get();
    Refusal shown = attempt.refusalForPage();
    Mono<Void> remembered =
        shown.until() == null ? Mono.empty() : remember(exchange, shown.until());
    if (!isPage(exchange)) {
      return remembered.then(Mono.error(refused));
    }
    attempt.setHeaders(refused);
    return remembered.then(Mono.error(shown.toException()));
  }

  /** Stores the end of the lock in the request and, for the next page, in an existing session. */
  private static Mono<Void> remember(ServerWebExchange exchange, long until) {
    exchange.getAttributes().put(RESTRICTED_UNTIL, until);
    return exchange
        .getSession()
        .doOnNext(
            session -> {
              if (session.isStarted()) {
                session.getAttributes().put(RESTRICTED_UNTIL, until);
              }
            })
        .then();
  }

  static boolean isPage(ServerWebExchange exchange) {
    return Browser.sent(
        name -> {
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
        });
  }
}
