package dev.sluice.spring.mvc;

import dev.sluice.Balance;
import dev.sluice.spring.call.EdgeRequest;
import dev.sluice.spring.call.Query;
import dev.sluice.spring.peer.Peer;
import dev.sluice.spring.peer.Peers;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpSession;
import java.security.Principal;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;

/** A servlet request. */
public final class ServletEdge implements EdgeRequest {
  private static final String BALANCES = ServletEdge.class.getName() + ".balances";
  static final String ROUTE = ServletEdge.class.getName() + ".route";

  private final HttpServletRequest request;
  private final @Nullable HttpServletResponse response;

  ServletEdge(HttpServletRequest request, @Nullable HttpServletResponse response) {
    this.request = request;
    this.response = response;
  }

  /** The request of the current thread, or null. */
  public static @Nullable EdgeRequest current(@Nullable Object[] arguments) {
    return RequestContextHolder.getRequestAttributes() instanceof ServletRequestAttributes known
        ? new ServletEdge(known.getRequest(), known.getResponse())
        : null;
  }

  @Override
  public Object unwrap() {
    return request;
  }

  @Override
  public Peer connected() {
    return Objects.requireNonNull(Peers.of(request));
  }

  @Override
  public List<String> ownHeaders(String name) {
    return Collections.list(request.getHeaders(name));
  }

  @Override
  public List<String> cookies(String name) {
    Cookie[] cookies = request.getCookies();
    return cookies == null
        ? List.of()
        : Arrays.stream(cookies)
            .filter(cookie -> cookie.getName().equals(name))
            .map(Cookie::getValue)
            .toList();
  }

  /** Reads the query string only: getParameter would also read a form in the body. */
  @Override
  public List<String> queries(String name) {
    String query = request.getQueryString();
    return query == null ? List.of() : Query.values(query, name);
  }

  @Override
  public @Nullable Principal user() {
    return request.getUserPrincipal();
  }

  @Override
  public @Nullable String session() {
    HttpSession session = request.getSession(false);
    return session == null ? null : session.getId();
  }

  @Override
  public @Nullable String route() {
    return (String) request.getAttribute(ROUTE);
  }

  @Override
  public void setHeaders(Map<String, String> headers) {
    if (response != null && !response.isCommitted()) {
      headers.forEach(response::setHeader);
    }
  }

  @Override
  @SuppressWarnings("unchecked") // only remember() writes it
  public List<Balance> balances() {
    Object known = request.getAttribute(BALANCES);
    return known == null ? List.of() : (List<Balance>) known;
  }

  @Override
  public void remember(List<Balance> balances) {
    request.setAttribute(BALANCES, balances);
  }
}
