package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ContentTooLargeException;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.HttpResponseException;
import com.linecorp.armeria.server.HttpStatusException;
import com.linecorp.armeria.server.RequestTimeoutException;
import com.linecorp.armeria.server.ServerErrorHandler;
import com.linecorp.armeria.server.ServiceConfig;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.IdReusedException;
import dev.sluice.UnknownRuleException;
import dev.sluice.http.UnreadableRequest;
import dev.sluice.internal.Stages;
import dev.sluice.store.StoreException;
import dev.sluice.store.StoreFullException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whatever goes wrong with a request, as the one kind of body that this service refuses with. */
public final class ErrorResponses implements ServerErrorHandler {
  private static final Logger LOG = LoggerFactory.getLogger("sluice.service");

  @Override
  public @Nullable HttpResponse onServiceException(ServiceRequestContext ctx, Throwable thrown) {
    Throwable cause = Stages.cause(thrown);
    if (cause instanceof BadInput bad) {
      HttpStatus status = bad.isUnknownRule() ? HttpStatus.NOT_FOUND : HttpStatus.BAD_REQUEST;
      return Replies.problem(status, bad.errors());
    }
    if (cause instanceof UnreadableRequest unreadable) {
      return Replies.problem(HttpStatus.BAD_REQUEST, unreadable.errors());
    }
    if (cause instanceof UnknownRuleException) {
      return Replies.problem(HttpStatus.NOT_FOUND, String.valueOf(cause.getMessage()));
    }
    if (cause instanceof IdReusedException) {
      return Replies.problem(HttpStatus.UNPROCESSABLE_ENTITY, String.valueOf(cause.getMessage()));
    }
    if (cause instanceof IllegalArgumentException) {
      return Replies.problem(HttpStatus.BAD_REQUEST, String.valueOf(cause.getMessage()));
    }
    if (cause instanceof ContentTooLargeException tooLarge) {
      return Replies.problem(
          HttpStatus.REQUEST_ENTITY_TOO_LARGE,
          "body: too large (expected: at most %,d bytes)".formatted(tooLarge.maxContentLength()));
    }
    if (cause instanceof RequestTimeoutException) {
      return Replies.problem(HttpStatus.SERVICE_UNAVAILABLE, "the service took too long");
    }
    if (cause instanceof StoreFullException full) {
      return Replies.problem(HttpStatus.SERVICE_UNAVAILABLE, String.valueOf(full.getMessage()));
    }
    if (cause instanceof StoreException fault) {
      LOG.warn("{} {}: the store failed: {}", ctx.method(), route(ctx), fault.getMessage());
      return Replies.problem(
          HttpStatus.SERVICE_UNAVAILABLE,
          "store: %s%s"
              .formatted(
                  fault.getMessage(),
                  fault.unclear() ? "; it may have been carried out all the same" : ""));
    }
    if (cause instanceof StoreAway) {
      return Replies.problem(HttpStatus.SERVICE_UNAVAILABLE, String.valueOf(cause.getMessage()));
    }
    if (cause instanceof HttpStatusException || cause instanceof HttpResponseException) {
      return null; // rendered below
    }
    LOG.error("{} {} failed", ctx.method(), route(ctx), cause);
    return Replies.problem(
        HttpStatus.INTERNAL_SERVER_ERROR, "the service failed; its log says why");
  }

  private static String route(ServiceRequestContext ctx) {
    return ctx.config().route().patternString();
  }

  @Override
  public AggregatedHttpResponse renderStatus(
      @Nullable ServiceRequestContext ctx,
      ServiceConfig config,
      @Nullable RequestHeaders headers,
      HttpStatus status,
      @Nullable String description,
      @Nullable Throwable cause) {
    String what =
        cause instanceof Framing.UnknownCoding unknown
            ? String.valueOf(unknown.getMessage())
            : described(status);
    byte[] body = Replies.problemBytes(status, List.of(what));
    ResponseHeaders rendered =
        ResponseHeaders.builder(status)
            .contentType(Replies.PROBLEM)
            .contentLength(body.length)
            .build();
    return AggregatedHttpResponse.of(rendered, HttpData.wrap(body));
  }

  private static String described(HttpStatus status) {
    return switch (status.code()) {
      case 400 -> "the request is malformed (a query needs whole escapes such as %2F, and no %00)";
      case 404 -> "no such route (expected: one of those in /openapi.yaml)";
      case 405 -> "no such method on this route (expected: one of those in /openapi.yaml)";
      case 413 -> "body: too large";
      case 503 -> "the service is overloaded; try again later";
      default -> status.reasonPhrase();
    };
  }
}
