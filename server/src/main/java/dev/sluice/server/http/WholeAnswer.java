package dev.sluice.server.http;

import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServiceRequestContext;

/** A route whose answer is written in one go, which spares Armeria the machinery of a stream. */
public final class WholeAnswer implements HttpService {
  /*
   * The request stays a stream all the same: Armeria would hand over a whole one only when its last
   * byte has come, and the request's timeout would not hold for a client that never sends it.
   */
  private final HttpService route;

  public WholeAnswer(HttpService route) {
    this.route = route;
  }

  @Override
  public HttpResponse serve(ServiceRequestContext ctx, HttpRequest request) throws Exception {
    return route.serve(ctx, request);
  }

  @Override
  public ExchangeType exchangeType(RoutingContext ctx) {
    return ExchangeType.REQUEST_STREAMING;
  }
}
