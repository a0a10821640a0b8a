package dev.sluice.spring.mvc;

import dev.sluice.Decision;
import dev.sluice.internal.Stages;
import dev.sluice.spring.call.Answer;
import dev.sluice.spring.call.CallContext;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.call.RefusedCall;
import dev.sluice.spring.call.UncountableException;
import dev.sluice.spring.web.Routes;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.springframework.core.Ordered;
import org.springframework.web.filter.OncePerRequestFilter;

/** Limits the paths of {@code sluice.routes} in a servlet container. */
public final class ServletRouteFilter extends OncePerRequestFilter implements Ordered {
  /** Answers a refused request. */
  public interface Refuser {
    /** Without Spring MVC. */
    Refuser PLAIN = (refusal, request, response) -> write(refusal.answer(), response);

    void refuse(RefusedCall refusal, HttpServletRequest request, HttpServletResponse response)
        throws IOException;
  }

  private final Routes routes;
  private final ServletPaths paths;
  private final Gate gate;
  private final Supplier<Refuser> refuser;
  private final int order;

  public ServletRouteFilter(
      Routes routes, ServletPaths paths, Gate gate, Supplier<Refuser> refuser, int order) {
    this.routes = routes;
    this.paths = paths;
    this.gate = gate;
    this.refuser = refuser;
    this.order = order;
  }

  @Override
  public int getOrder() {
    return order;
  }

  @Override
  protected boolean shouldNotFilter(HttpServletRequest request) {
    return routes.isEmpty();
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    Routes.Match match = routes.match(request.getMethod(), paths.read(request));
    if (match == null) {
      chain.doFilter(request, response);
      return;
    }
    request.setAttribute(ServletEdge.ROUTE, match.pattern());
    ServletEdge edge = new ServletEdge(request, response);
    Decision decision;
    try {
      CallContext context = new CallContext(edge, null);
      decision =
          Stages.await(gate.ask(gate.call(gate.rules(), match.rules(), Map.of(), 1, context)));
    } catch (UncountableException e) {
      write(Answer.to(e), response);
      return;
    }
    if (decision.allowed()) {
      gate.setHeaders(edge, List.of(decision));
      chain.doFilter(request, response);
    } else {
      refuser.get().refuse(gate.refused(match.rules(), decision, edge), request, response);
    }
  }

  static void write(Answer answer, HttpServletResponse response) throws IOException {
    byte[] body = answer.body().getBytes(StandardCharsets.UTF_8);
    response.setStatus(answer.status());
    answer.headers().forEach(response::setHeader);
    response.setContentType(answer.contentType());
    response.setContentLength(body.length);
    response.getOutputStream().write(body);
    response.flushBuffer();
  }
}
