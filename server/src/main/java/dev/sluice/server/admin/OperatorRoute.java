package dev.sluice.server.admin;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.concurrent.CompletableFuture;

/** A route for operators. It learns who has called it. */
@FunctionalInterface
public interface OperatorRoute {
  HttpResponse serve(ServiceRequestContext ctx, HttpRequest request, Operator operator)
      throws Exception;

  /** Serves on a thread for blocking tasks, so that no decision waits for an operator's request. */
  default HttpResponse serveAside(
      ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return serve(ctx, request, operator);
              } catch (Exception e) {
                return HttpResponse.ofFailure(e);
              }
            },
            ctx.blockingTaskExecutor()));
  }
}
