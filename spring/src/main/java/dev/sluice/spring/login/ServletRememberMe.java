package dev.sluice.spring.login;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.security.authentication.AuthenticationServiceException;
import org.springframework.security.core.AuthenticationException;
import org.springframework.security.core.context.SecurityContextHolderStrategy;
import org.springframework.security.web.authentication.RememberMeServices;
import org.springframework.security.web.authentication.rememberme.AbstractRememberMeServices;
import org.springframework.security.web.authentication.rememberme.RememberMeAuthenticationFilter;
import org.springframework.util.ReflectionUtils;

/** Counts remember-me cookies that are not valid. Replaces the filter that reads them. */
final class ServletRememberMe extends RememberMeAuthenticationFilter {
  /*
   * A bad cookie never reaches an AuthenticationManager. While its sender is locked out, a cookie is
   * ignored and the request continues without a user. With 429 the sender could not even load the
   * login page, because a browser sends the cookie with every request.
   */
  private static final String COOKIE = "remember-me";

  private final RememberMeAuthenticationFilter filter;
  private final Supplier<LoginGuard> guard;
  private final @Nullable String cookieName;
  private final SecurityContextHolderStrategy context;

  /**
   * Wraps the filter of Spring Security.
   *
   * @param context where that filter stores the authenticated user
   */
  ServletRememberMe(
      RememberMeAuthenticationFilter filter,
      Supplier<LoginGuard> guard,
      SecurityContextHolderStrategy context) {
    super(login -> login, filter.getRememberMeServices());
    this.filter = filter;
    this.guard = guard;
    this.context = context;
    this.cookieName = cookieName(filter.getRememberMeServices());
  }

  /** The cookie's name, whose getter is protected; null for services of another kind. */
  private static @Nullable String cookieName(RememberMeServices services) {
    if (!(services instanceof AbstractRememberMeServices)) {
      return null;
    }
    Method method = ReflectionUtils.findMethod(AbstractRememberMeServices.class, "getCookieName");
    if (method == null) {
      return COOKIE;
    }
    ReflectionUtils.makeAccessible(method);
    return (String) ReflectionUtils.invokeMethod(method, services);
  }

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    String cookie = isSignedIn() ? null : cookie(request);
    if (cookie == null) {
      filter.doFilter(request, response, chain);
      return;
    }
    LoginGuard.Try attempt = LoginGuard.await(guard.get().enterByCookie(null, cookie));
    if (!attempt.allowed()) {
      Long until = attempt.refusalForPage().until();
      if (until != null) {
        request.setAttribute(LoginRefusedException.RESTRICTED_UNTIL, until);
      }
      chain.doFilter(request, response);
      return;
    }
    try {
      filter.doFilter(
          request,
          response,
          (sameRequest, sameResponse) -> {
            end(attempt);
            chain.doFilter(sameRequest, sameResponse);
          });
      end(attempt); // a success handler may answer without calling the chain
    } catch (RuntimeException e) {
      // A stolen cookie throws. If the user database failed, no cookie was checked.
      if (e instanceof AuthenticationException && !(e instanceof AuthenticationServiceException)) {
        ServletLogins.setLockEnd(attempt.failed());
      } else {
        LoginGuard.await(attempt.undone());
      }
      throw e;
    }
  }

  private void end(LoginGuard.Try attempt) {
    if (isSignedIn()) {
      LoginGuard.await(attempt.undone()); // rules that count cookies are never cleared
    } else {
      LoginGuard.await(attempt.failed());
    }
  }

  private boolean isSignedIn() {
    return context.getContext().getAuthentication() != null;
  }

  private @Nullable String cookie(ServletRequest request) {
    Cookie[] cookies =
        cookieName != null && request instanceof HttpServletRequest http ? http.getCookies() : null;
    if (cookies != null) {
      for (Cookie each : cookies) {
        if (each.getName().equals(cookieName) && !each.getValue().isEmpty()) {
          return each.getValue();
        }
      }
    }
    return null;
  }
}
