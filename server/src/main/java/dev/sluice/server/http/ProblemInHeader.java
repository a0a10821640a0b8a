package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServiceRequestContext;

/**
 * Sends the body of a refusal as a header, for a proxy that asks for it. nginx throws away the body
 * of an {@code auth_request}: its client would not learn what was wrong, and a connection with an
 * unread body cannot be kept.
 */
public final class ProblemInHeader implements HttpService {
  /** In a request with the value {@link #WANTED}, in the answer with the problem as JSON. */
  static final String NAME = "Sluice-Problem";

  private static final String WANTED = "header";

  /** A longer one stays the body: a proxy gives up on an answer whose head outgrows its buffer. */
  public static final int LONGEST = 4 * 1024;

  private final HttpService route;
  private final ErrorResponses refusals;

  public ProblemInHeader(HttpService route, ErrorResponses refusals) {
    this.route = route;
    this.refusals = refusals;
  }

  @Override
  public HttpResponse serve(ServiceRequestContext ctx, HttpRequest request) throws Exception {
    return WANTED.equals(request.headers().get(NAME))
        ? HttpResponse.of(
            answer(ctx, request)
                .recover(failure -> refused(ctx, failure))
                .aggregate()
                .thenApply(ProblemInHeader::moved))
        : route.serve(ctx, request);
  }

  private HttpResponse answer(ServiceRequestContext ctx, HttpRequest request) {
    try {
      return route.serve(ctx, request);
    } catch (Exception e) {
      return HttpResponse.ofFailure(e);
    }
  }

  private HttpResponse refused(ServiceRequestContext ctx, Throwable failure) {
    HttpResponse refusal = refusals.onServiceException(ctx, failure);
    return refusal == null ? HttpResponse.ofFailure(failure) : refusal;
  }

  private static HttpResponse moved(AggregatedHttpResponse answer) {
    String problem =
        Replies.PROBLEM.equals(answer.contentType()) ? ascii(answer.contentUtf8()) : "";
    return problem.isEmpty() || problem.length() > LONGEST
        ? answer.toHttpResponse()
        : HttpResponse.of(answer.headers().toBuilder().set(NAME, problem).contentLength(0).build());
  }

  /**
   * The same JSON in visible ASCII. Other characters occur only inside strings, so they can be
   * escaped.
   */
  private static String ascii(String json) {
    StringBuilder ascii = new StringBuilder(json.length());
    for (int i = 0; i < json.length(); i++) {
      char c = json.charAt(i);
      if (c < ' ' || c > '~') {
        ascii.append("\\u%04x".formatted((int) c));
      } else {
        ascii.append(c);
      }
    }
    return ascii.toString();
  }

  @Override
  public ExchangeType exchangeType(RoutingContext ctx) {
    return route.exchangeType(ctx);
  }
}
