package dev.sluice.spring.login;

import dev.sluice.spring.RateLimitedException;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Instant;
import java.util.Collections;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.security.authentication.AuthenticationManager;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.context.SecurityContextHolderStrategy;
import org.springframework.security.web.authentication.rememberme.RememberMeAuthenticationFilter;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;

/** Guards logins by name and password in servlet applications. Thread-safe. */
final class ServletLogins implements MethodInterceptor, LoginGuard.Post {
  /*
   * It wraps AuthenticationManager: form login, HTTP basic and controllers that authenticate all call
   * it, with the name and the password already read. A provider would be too deep, because the next
   * provider may accept the password. A filter would have to read the password itself. A manager may
   * call its parent manager: only the outermost counts.
   */
  private static final ThreadLocal<Boolean> INSIDE = new ThreadLocal<>();

  private final Supplier<LoginGuard> guard;
  private final Supplier<SecurityContextHolderStrategy> context;
  private volatile boolean used;

  ServletLogins(Supplier<LoginGuard> guard, Supplier<SecurityContextHolderStrategy> context) {
    this.guard = guard;
    this.context = context;
  }

  @Override
  public boolean isUsed() {
    return used;
  }

  AuthenticationManager guarded(AuthenticationManager manager) {
    used = true;
    return login -> authenticate(manager, login);
  }

  ServletRememberMe guarded(RememberMeAuthenticationFilter filter) {
    return new ServletRememberMe(filter, guard, context.get());
  }

  /** A guarded proxy of a manager bean, of the same type. */
  Object guardedBean(Object manager) {
    used = true;
    return Managers.guarded(manager, this);
  }

  @Override
  public @Nullable Object invoke(MethodInvocation call) throws Throwable {
    Authentication login = Managers.login(call);
    return login != null && call.getThis() instanceof AuthenticationManager manager
        ? authenticate(manager, login)
        : call.proceed();
  }

  private Authentication authenticate(AuthenticationManager manager, Authentication login) {
    if (!Password.isIn(login) || INSIDE.get() != null) {
      return manager.authenticate(login);
    }
    LoginGuard.Try attempt =
        LoginGuard.await(guard.get().enter(null, login.getName(), Password.of(login)));
    if (!attempt.allowed()) {
      throw refusal(attempt);
    }
    Authentication done;
    INSIDE.set(true);
    try {
      done = manager.authenticate(login);
    } catch (RuntimeException | Error e) {
      setLockEnd(Password.end(attempt, manager, login, null, e));
      throw e;
    } finally {
      INSIDE.remove();
    }
    setLockEnd(Password.end(attempt, manager, login, done, null));
    return done;
  }

  private static RuntimeException refusal(LoginGuard.Try attempt) {
    RateLimitedException refused = attempt.refusal();
    HttpServletRequest request = request();
    if (request == null) {
      return refused;
    }
    Refusal shown = attempt.refusalForPage();
    if (shown.until() != null) {
      request.setAttribute(LoginRefusedException.RESTRICTED_UNTIL, shown.until());
    }
    if (!isPage(request)) {
      return refused;
    }
    attempt.setHeaders(refused);
    return shown.toException();
  }

  /** Waits for the end of a try; if it began a lock, the login page gets the end of the lock. */
  static void setLockEnd(CompletionStage<Optional<Instant>> ended) {
    HttpServletRequest request = request();
    LoginGuard.await(ended)
        .ifPresent(
            until -> {
              if (request != null) {
                request.setAttribute(LoginRefusedException.RESTRICTED_UNTIL, until.toEpochMilli());
              }
            });
  }

  static boolean isPage(HttpServletRequest request) {
    return Browser.sent(name -> Collections.list(request.getHeaders(name)));
  }

  private static @Nullable HttpServletRequest request() {
    return RequestContextHolder.getRequestAttributes() instanceof ServletRequestAttributes known
        ? known.getRequest()
        : null;
  }
}
