package dev.sluice.server;

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
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The routes that anybody may ask: check, settle and gate. */
final class Decisions {
  private final Edge edge;
  private final Receipts receipts;
  private final Meters meters;
  private final Settings settings;

  Decisions(Edge edge, Receipts receipts, Meters meters, Settings settings) {
    this.edge = edge;
    this.receipts = receipts;
    this.meters = meters;
    this.settings = settings;
  }

  /** {@code POST /v1/check}. */
  HttpResponse check(ServiceRequestContext ctx, HttpRequest request) {
    return HttpResponse.of(body(request).thenCompose(this::check));
  }

  private CompletableFuture<byte[]> body(HttpRequest request) {
    return Body.read(request, settings.mostRequestBytes());
  }

  private CompletionStage<HttpResponse> check(byte[] body) {
    return ask(CheckRequest.parse(body, edge.facets())).thenApply(this::checked);
  }

  private HttpResponse checked(Decision decision) {
    String receipt =
        decision instanceof Decision.Allowed allowed ? receipts.seal(allowed.receipt()) : null;
    return Replies.ok(json -> DecisionJson.write(json, decision, receipt));
  }

  private CompletionStage<Decision> ask(Call call) {
    long start = System.nanoTime();
    Rules rules = edge.limiter().rules();
    try {
      return edge.limiter()
          .decideAsync(call)
          .whenComplete(
              (decision, error) -> {
                if (error == null) {
                  meters.decided(rules, call, decision, start);
                } else {
                  meters.undecided(start);
                }
              });
    } catch (RuntimeException e) { // the rules refused it
      meters.undecided(start);
      throw e;
    }
  }

  /** {@code POST /v1/settle}. */
  HttpResponse settle(ServiceRequestContext ctx, HttpRequest request) {
    return HttpResponse.of(body(request).thenCompose(this::settle));
  }

  private CompletionStage<HttpResponse> settle(byte[] body) {
    SettleRequest request = SettleRequest.parse(body, receipts);
    return edge.limiter().settleAsync(request.receipt(), request.settlement()).thenApply(this::settled);
  }

  private HttpResponse settled(Settled settled) {
    meters.settled(settled);
    return Replies.ok(
        json -> {
          json.writeBooleanField("settled", settled.done());
          DecisionJson.writeUncharged(json, settled);
        });
  }

  /** {@code ANY /v1/gate/{rule}}. */
  HttpResponse gate(ServiceRequestContext ctx, HttpRequest request) {
    String rule = String.valueOf(ctx.pathParam("rule"));
    RequestFacets facets = edge.facets();
    if (facets.rules().find(rule) == null) {
      throw new BadInput(List.of(CheckRequest.unknown(rule, facets.rules())), true);
    }
    Identity identity = facets.identity(List.of(rule), Edge.parts(ctx));
    Body.drop(request);
    CompletionStage<Decision> decision = ask(Call.of(rule, identity));
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
