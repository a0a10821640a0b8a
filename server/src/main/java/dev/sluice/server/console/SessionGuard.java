package dev.sluice.server.console;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.admin.OperatorRoute;
import dev.sluice.server.http.Replies;
import java.util.Optional;

/**
 * Lets requests of the console through that have a session and, to change anything, come from its
 * own pages.
 */
final class SessionGuard {
  /*
   * The cookie is SameSite=Strict, so browsers send it only from pages of this site. A site can be
   * more than this host, so a change must also say that it comes from the same origin: browsers set
   * Sec-Fetch-Site or Origin, and no page can.
   */
  private final Sessions sessions;

  SessionGuard(Sessions sessions) {
    this.sessions = sessions;
  }

  /** A route for operators who are signed in. */
  HttpService guarded(OperatorRoute route) {
    return (ctx, request) -> {
      Optional<HttpResponse> refusal = refusedChange(request);
      return refusal.isPresent()
          ? refusal.get()
          : HttpResponse.of(
              (isRead(request)
                      ? sessions.reader(request.headers())
                      : sessions.operator(request.headers()))
                  .thenApply(operator -> serve(route, ctx, request, operator)));
    };
  }

  private static HttpResponse serve(
      OperatorRoute route,
      ServiceRequestContext ctx,
      HttpRequest request,
      Optional<Operator> operator) {
    if (operator.isEmpty()) {
      return Replies.problem(
          HttpStatus.UNAUTHORIZED, "the session is over, or there was none (expected: sign in)");
    }
    if (!isRead(request) && !operator.get().mayChange()) {
      return Replies.problem(
          HttpStatus.FORBIDDEN,
          "operator '%s': has role read (expected: role change)".formatted(operator.get().name()));
    }
    return route.serveAside(ctx, request, operator.get());
  }

  static boolean isRead(HttpRequest request) {
    return request.method() == HttpMethod.GET || request.method() == HttpMethod.HEAD;
  }

  /** The answer to a change that does not come from a page of this service. */
  static Optional<HttpResponse> refusedChange(HttpRequest request) {
    if (isRead(request)) {
      return Optional.empty();
    }
    if (!isFromOwnPage(request.headers())) {
      return Optional.of(
          Replies.problem(
              HttpStatus.FORBIDDEN,
              "the request comes from another site (expected: a page of this service)"));
    }
    MediaType type = request.contentType();
    if (request.method() != HttpMethod.DELETE && (type == null || !type.is(MediaType.JSON))) {
      return Optional.of(
          Replies.problem(
              HttpStatus.UNSUPPORTED_MEDIA_TYPE,
              "Content-Type: %s (expected: application/json)".formatted(type)));
    }
    return Optional.empty();
  }

  private static boolean isFromOwnPage(RequestHeaders headers) {
    String site = headers.get("sec-fetch-site");
    if (site != null) {
      return site.equals("same-origin");
    }
    String origin = headers.get(HttpHeaderNames.ORIGIN);
    String authority = headers.authority();
    return origin != null
        && authority != null
        && (origin.equals("https://" + authority) || origin.equals("http://" + authority));
  }
}
