package dev.sluice.server;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.concurrent.atomic.AtomicInteger;

/** What every request passes first: refused when too many are in work, or told to leave. */
final class Intake implements DecoratingHttpServiceFunction {
  /*
   * While the service drains, each answer closes its connection (HTTP/1) or says GOAWAY (HTTP/2). A
   * client with kept connections thus never sends a request into one that is about to be cut.
   */
  private final int most;
  private final Meters meters;
  private final AtomicInteger inFlight = new AtomicInteger();
  private volatile boolean draining;

  Intake(int most, Meters meters) {
    this.most = most;
    this.meters = meters;
  }

  void drain() {
    draining = true;
  }

  boolean isDraining() {
    return draining;
  }

  @Override
  public HttpResponse serve(HttpService service, ServiceRequestContext ctx, HttpRequest request)
      throws Exception {
    if (draining) {
      var unused = ctx.initiateConnectionShutdown();
    }
    if (inFlight.incrementAndGet() > most) {
      inFlight.decrementAndGet();
      meters.overloaded();
      return Replies.problem(
          HttpStatus.SERVICE_UNAVAILABLE, "the service is overloaded; try again later");
    }
    HttpResponse response;
    try {
      response = service.serve(ctx, request);
    } catch (Throwable e) {
      inFlight.decrementAndGet();
      throw e;
    }
    var unused =
        response.whenComplete().whenComplete((done, failure) -> inFlight.decrementAndGet());
    return response;
  }
}
