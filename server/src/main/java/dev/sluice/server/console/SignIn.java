package dev.sluice.server.console;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.admin.Doorkeeper;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.api.CallerFacets;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.Body;
import dev.sluice.server.http.JsonInput;
import dev.sluice.server.http.Replies;
import dev.sluice.server.http.Settings;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Signing in to the console and out again. */
final class SignIn {
  private static final int LONGEST_TOKEN = 1_024;

  private final Sessions sessions;
  private final Doorkeeper doorkeeper;
  private final Settings settings;

  SignIn(Sessions sessions, Doorkeeper doorkeeper, Settings settings) {
    this.sessions = sessions;
    this.doorkeeper = doorkeeper;
    this.settings = settings;
  }

  /** {@code POST session}: begins a session if the token is one of an operator. */
  HttpResponse signIn(ServiceRequestContext ctx, HttpRequest request) {
    return SessionGuard.refusedChange(request)
        .orElseGet(
            () ->
                HttpResponse.of(
                    Body.read(request, settings.mostRequestBytes())
                        .thenCompose(body -> signIn(ctx, token(body)))));
  }

  private static String token(byte[] body) {
    String[] token = {""};
    List<String> errors =
        JsonInput.read(
            body,
            List.of("token"),
            (name, input) -> {
              String text = input.string(name, LONGEST_TOKEN);
              token[0] = text == null ? "" : text.strip();
            });
    if (!errors.isEmpty() || token[0].isEmpty()) {
      throw new BadInput(
          errors.isEmpty() ? List.of("token: missing (expected: the admin token)") : errors, false);
    }
    return token[0];
  }

  private CompletionStage<HttpResponse> signIn(ServiceRequestContext ctx, String token) {
    Doorkeeper.Entry entry = doorkeeper.admit(ctx, token);
    if (entry instanceof Doorkeeper.Entry.Refused refused) {
      return CompletableFuture.completedFuture(refused.answer());
    }
    return sessions
        .begin(token)
        .thenApply(session -> withCookie(Sessions.cookie(session, isSecure(ctx))));
  }

  /** {@code DELETE session}. */
  HttpResponse signOut(ServiceRequestContext ctx, HttpRequest request) {
    return SessionGuard.refusedChange(request)
        .orElseGet(
            () ->
                HttpResponse.of(
                    sessions
                        .remove(request.headers())
                        .handle((ended, error) -> signedOut(ctx, error))));
  }

  /** The browser forgets the session also if the store could not be told. */
  private HttpResponse signedOut(ServiceRequestContext ctx, @Nullable Throwable error) {
    String cookie = Sessions.cookie("", isSecure(ctx));
    return error == null
        ? withCookie(cookie)
        : Replies.problem(
                HttpStatus.SERVICE_UNAVAILABLE,
                "the store does not answer: the session is over here, and on other services when it"
                    + " is signed out there or ends")
            .mapHeaders(
                headers -> headers.toBuilder().add(HttpHeaderNames.SET_COOKIE, cookie).build());
  }

  private static HttpResponse withCookie(String cookie) {
    return HttpResponse.of(
        ResponseHeaders.builder(HttpStatus.NO_CONTENT)
            .add(HttpHeaderNames.SET_COOKIE, cookie)
            .add(HttpHeaderNames.CACHE_CONTROL, "no-store")
            .build());
  }

  /** Whether the browser uses TLS: to this service, or to a trusted proxy before it. */
  private boolean isSecure(ServiceRequestContext ctx) {
    return ctx.sessionProtocol().isTls()
        || (settings.client().trusts(CallerFacets.parts(ctx).peer())
            && "https".equals(ctx.request().headers().get("x-forwarded-proto")));
  }

  /** {@code GET session}: who is signed in, and until when. */
  HttpResponse session(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(
        sessions
            .end(request.headers())
            .thenApply(
                end ->
                    Replies.ok(
                        json -> {
                          json.writeStringField("operator", operator.name());
                          json.writeStringField("role", operator.role().toString());
                          json.writeStringField("expires", end.map(Instant::toString).orElse(null));
                        })));
  }
}
