package dev.sluice.server.admin;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;

/** A route for operators. It learns who has called it. */
@FunctionalInterface
public interface OperatorRoute {
  HttpResponse serve(ServiceRequestContext ctx, HttpRequest request, Operator operator)
      throws Exception;
}
