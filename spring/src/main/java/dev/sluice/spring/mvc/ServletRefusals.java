package dev.sluice.spring.mvc;

import dev.sluice.spring.call.Answer;
import dev.sluice.spring.call.RefusedCall;
import dev.sluice.spring.web.Refusals;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.Ordered;
import org.springframework.http.HttpStatusCode;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.web.context.request.RequestAttributes;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.ModelAndView;
import org.springframework.web.servlet.View;
import org.springframework.web.servlet.ViewResolver;

/** Answers refused requests with Spring MVC, for annotations and for routes. */
public final class ServletRefusals
    implements HandlerExceptionResolver, ServletRouteFilter.Refuser, Ordered {
  /*
   * This is the first of all exception resolvers. If the application has a handler for refusals, it
   * sets the header fields and calls the other resolvers, as for any exception. Otherwise it answers
   * by itself.
   */
  private static final Logger LOG = LoggerFactory.getLogger(ServletRefusals.class);

  private final Refusals refusals;
  private final Supplier<List<HandlerExceptionResolver>> others;
  private final ObjectProvider<ViewResolver> views;

  public ServletRefusals(
      Refusals refusals,
      ObjectProvider<HandlerExceptionResolver> resolvers,
      ObjectProvider<ViewResolver> views) {
    this.refusals = refusals;
    this.others =
        SingletonSupplier.of(
            () -> resolvers.orderedStream().filter(each -> !equals(each)).toList());
    this.views = views;
  }

  @Override
  public int getOrder() {
    return HIGHEST_PRECEDENCE;
  }

  @Override
  public @Nullable ModelAndView resolveException(
      HttpServletRequest request,
      HttpServletResponse response,
      @Nullable Object handler,
      Exception error) {
    Answer answer = Refusals.answerTo(error);
    if (answer == null || response.isCommitted()) {
      return null;
    }
    Class<?> controller = handler instanceof HandlerMethod method ? method.getBeanType() : null;
    if (Refusals.refusalIn(error) != null && refusals.areHandled(controller)) {
      ModelAndView theirs = askOthers(request, response, handler, error, answer.headers());
      if (theirs != null) {
        return theirs;
      }
    }
    try {
      ServletRouteFilter.write(answer, response);
    } catch (IOException e) {
      LOG.debug("A refused client disconnected before the answer was written", e);
    }
    return new ModelAndView();
  }

  private @Nullable ModelAndView askOthers(
      HttpServletRequest request,
      HttpServletResponse response,
      @Nullable Object handler,
      Exception error,
      Map<String, String> headers) {
    headers.forEach(response::setHeader);
    HttpServletResponse once = new HeadersOnce(response, headers.keySet());
    for (HandlerExceptionResolver each : others.get()) {
      ModelAndView theirs = each.resolveException(request, once, handler, error);
      if (theirs != null) {
        return theirs;
      }
    }
    return null;
  }

  /** Answers a request that a route refused, as if a controller had thrown the refusal. */
  @Override
  public void refuse(RefusedCall refusal, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    RequestAttributes before = RequestContextHolder.getRequestAttributes();
    ServletRequestAttributes attributes = new ServletRequestAttributes(request, response);
    RequestContextHolder.setRequestAttributes(attributes);
    try {
      ModelAndView answer = resolveException(request, response, null, refusal);
      if (answer != null && !answer.isEmpty()) {
        render(answer, request, response);
      }
    } catch (Exception e) {
      if (response.isCommitted()) {
        throw new IOException("the answer to a refusal cannot be written", e);
      }
      LOG.warn("The view for a refusal failed; the answer is Sluice's own", e);
      ServletRouteFilter.write(refusal.answer(), response);
    } finally {
      attributes.requestCompleted();
      RequestContextHolder.setRequestAttributes(before);
    }
  }

  /** Renders a view as the dispatcher servlet does, which a filter does not reach. */
  private void render(ModelAndView answer, HttpServletRequest request, HttpServletResponse response)
      throws Exception {
    HttpStatusCode status = answer.getStatus();
    if (status != null) {
      request.setAttribute(View.RESPONSE_STATUS_ATTRIBUTE, status);
      response.setStatus(status.value());
    }
    view(answer, request.getLocale()).render(answer.getModel(), request, response);
  }

  private View view(ModelAndView answer, Locale locale) throws Exception {
    View view = answer.getView();
    String name = answer.getViewName();
    if (view == null && name != null) {
      for (ViewResolver each : views.orderedStream().toList()) {
        View found = each.resolveViewName(name, locale);
        if (found != null) {
          return found;
        }
      }
    }
    if (view == null) {
      throw new IllegalStateException(
          "view '%s': not found (expected: a view that a ViewResolver knows)".formatted(name));
    }
    return view;
  }

  /** Makes the first addHeader of these names replace the value: Spring adds and does not set. */
  private static final class HeadersOnce extends HttpServletResponseWrapper {
    private final Set<String> names = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);

    HeadersOnce(HttpServletResponse response, Set<String> names) {
      super(response);
      this.names.addAll(names);
    }

    @Override
    public void addHeader(String name, String value) {
      if (names.remove(name)) {
        setHeader(name, value);
      } else {
        super.addHeader(name, value);
      }
    }
  }
}
