package dev.sluice.spring.login;

import static dev.sluice.spring.login.LoginRefusedException.RESTRICTED_UNTIL;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpSession;
import java.io.IOException;
import org.springframework.web.filter.OncePerRequestFilter;

/** Passes the end of a lock from a refused login through its redirect to the login page. */
final class ServletCountdown extends OncePerRequestFilter {
  /*
   * It uses the session if there is one, and creates none. Only the next page gets the time, so that
   * a lock that was lifted meanwhile is not shown again and again.
   */
  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (request.getMethod().equals("GET") && ServletLogins.isPage(request)) {
      HttpSession session = request.getSession(false);
      if (session != null && session.getAttribute(RESTRICTED_UNTIL) instanceof Long until) {
        session.removeAttribute(RESTRICTED_UNTIL);
        if (until > System.currentTimeMillis()) {
          request.setAttribute(RESTRICTED_UNTIL, until);
        }
      }
      chain.doFilter(request, response);
      return;
    }
    try {
      chain.doFilter(request, response);
    } finally {
      if (request.getAttribute(RESTRICTED_UNTIL) instanceof Long until) {
        HttpSession session = request.getSession(false);
        if (session != null) {
          session.setAttribute(RESTRICTED_UNTIL, until);
        }
      }
    }
  }
}
