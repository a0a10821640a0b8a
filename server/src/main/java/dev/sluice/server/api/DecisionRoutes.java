package dev.sluice.server.api;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Rules;
import dev.sluice.Settled;
import dev.sluice.http.HttpAnswer;
import dev.sluice.http.RequestFacets;
import dev.sluice.server.http.Body;
import dev.sluice.server.http.Replies;
import dev.sluice.server.http.Settings;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The routes that anybody may ask: check, settle and gate. */
public final class DecisionRoutes {
  private final CallerFacets edge;
  private final Receipts receipts;
  private final Settings settings;

  public DecisionRoutes(CallerFacets edge, Receipts receipts, Settings settings) {
    this.edge = edge;
    this.receipts = receipts;
    this.settings = settings;
  }

  /** {@code POST /v1/check}. */
  public HttpResponse check(ServiceRequestContext ctx, HttpRequest request) {
    return HttpResponse.of(body(request).thenCompose(body -> check(ctx, body)));
  }

  private CompletableFuture<byte[]> body(HttpRequest request) {
    return Body.read(request, settings.mostRequestBytes());
  }

  private CompletionStage<HttpResponse> check(ServiceRequestContext ctx, byte[] body) {
    RequestFacets facets = edge.facets();
    CheckRequest.Check check = CheckRequest.parse(body, facets);
    return decide(ctx, check.call(), facets.rules())
        .thenApply(decision -> checked(decision, check.receipt()));
  }

  /** The answer is written on the event loop of its request, so it is made there, too. */
  private CompletionStage<Decision> decide(ServiceRequestContext ctx, Call call, Rules rules) {
    return edge.limiter().decideAsync(call, rules, ctx.eventLoop().withoutContext());
  }

  private HttpResponse checked(Decision decision, boolean wantsReceipt) {
    String receipt =
        wantsReceipt && decision instanceof Decision.Allowed allowed
            ? receipts.seal(allowed.receipt())
            : null;
    return Replies.ok(json -> DecisionJson.write(json, decision, receipt));
  }

  /** {@code POST /v1/settle}. */
  public HttpResponse settle(ServiceRequestContext ctx, HttpRequest request) {
    return HttpResponse.of(body(request).thenCompose(this::settle));
  }

  private CompletionStage<HttpResponse> settle(byte[] body) {
    SettleRequest request = SettleRequest.parse(body, receipts);
    return edge.limiter()
        .settleAsync(request.receipt(), request.settlement())
        .thenApply(DecisionRoutes::settled);
  }

  private static HttpResponse settled(Settled settled) {
    return Replies.ok(
        json -> {
          json.writeBooleanField("settled", settled.done());
          DecisionJson.writeUncharged(json, settled);
        });
  }

  /** {@code ANY /v1/gate/{rules}}: one rule, or several with commas between them. */
  public HttpResponse gate(ServiceRequestContext ctx, HttpRequest request) {
    List<String> rules = List.of(String.valueOf(ctx.pathParam("rules")).split(",", -1));
    RequestFacets facets = edge.facets();
    CheckRequest.checkKnown(rules, facets.rules());
    Identity identity = facets.identity(rules, CallerFacets.parts(ctx));
    Body.drop(request);
    CompletionStage<Decision> decision = decide(ctx, Call.of(rules, identity), facets.rules());
    boolean head = ctx.method() == HttpMethod.HEAD;
    return HttpResponse.of(decision.thenApply(decided -> gated(decided, head)));
  }

  private HttpResponse gated(Decision decision, boolean head) {
    HttpAnswer answer = HttpAnswer.of(decision, settings.headers());
    ResponseHeadersBuilder headers = ResponseHeaders.builder(HttpStatus.valueOf(answer.status()));
    answer.headers().forEach(headers::add);
    headers.add(HttpHeaderNames.CACHE_CONTROL, "no-store");
    byte[] body = bodyOf(answer.problem());
    headers.contentType(answer.problem() == null ? MediaType.PLAIN_TEXT_UTF_8 : Replies.PROBLEM);
    headers.contentLength(body.length);
    return head
        ? HttpResponse.of(headers.build())
        : HttpResponse.of(headers.build(), HttpData.wrap(body));
  }

  private static byte[] bodyOf(@Nullable String problem) {
    return problem == null ? new byte[0] : problem.getBytes(StandardCharsets.UTF_8);
  }
}
