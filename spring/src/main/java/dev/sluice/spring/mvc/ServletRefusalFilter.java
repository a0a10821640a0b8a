package dev.sluice.spring.mvc;

import dev.sluice.spring.call.Answer;
import dev.sluice.spring.call.RefusedCall;
import dev.sluice.spring.call.UncountableException;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.function.Supplier;
import org.springframework.core.Ordered;
import org.springframework.web.filter.OncePerRequestFilter;

/** Answers refusals that other filters throw, which no controller advice sees. */
public final class ServletRefusalFilter extends OncePerRequestFilter implements Ordered {
  private final Supplier<ServletRouteFilter.Refuser> refuser;
  private final int order;

  public ServletRefusalFilter(Supplier<ServletRouteFilter.Refuser> refuser, int order) {
    this.refuser = refuser;
    this.order = order;
  }

  @Override
  public int getOrder() {
    return order;
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    try {
      chain.doFilter(request, response);
    } catch (RefusedCall e) {
      clear(response, e);
      refuser.get().refuse(e, request, response);
    } catch (UncountableException e) {
      clear(response, e);
      ServletRouteFilter.write(Answer.to(e), response);
    }
  }

  /** Discards the buffered answer; if it is committed already, throws the refusal. */
  private static void clear(HttpServletResponse response, RuntimeException e) {
    if (response.isCommitted()) {
      throw e;
    }
    response.resetBuffer();
  }
}
