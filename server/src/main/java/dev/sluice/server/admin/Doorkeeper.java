package dev.sluice.server.admin;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.HeaderProfile;
import dev.sluice.http.HttpAnswer;
import dev.sluice.memory.MemoryStore;
import dev.sluice.server.api.CallerFacets;
import dev.sluice.server.http.Replies;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;

/** Checks the admin token, and limits wrong tokens for each address. Thread-safe. */
public final class Doorkeeper {
  /*
   * After ten wrong tokens from an address within a minute, every token from there is refused, also
   * the right one: otherwise guessing could go on. A wrong token is checked and counted in one step,
   * so concurrent guesses do not exceed the ten. The counts are in memory, because they must work
   * also when Redis does not answer.
   */
  static final int MOST_WRONG = 10;

  private static final String RULE = "AdminToken";
  private static final long MOST_ADDRESSES = 100_000;

  /** One subscriber has all addresses of a /64, whatever --ipv6-prefix says. */
  private static final ClientAddress BY_64 = ClientAddress.ofPeer();

  private final AdminToken token;
  private final ClientAddress client;
  private final Limiter wrong;

  public Doorkeeper(AdminToken token, ClientAddress client, InstantSource clock) {
    this.token = token;
    this.client = client;
    Rule rule =
        Rule.builder(RULE)
            .by("ip")
            .limit(Limit.slidingLog(MOST_WRONG, Duration.ofMinutes(1)))
            .build();
    this.wrong = Limiter.of(MemoryStore.create(clock, MOST_ADDRESSES), Rules.of(rule));
  }

  /** Passes a request with the right token to the service; answers any other with 401 or 429. */
  public HttpResponse serve(HttpService service, ServiceRequestContext ctx, HttpRequest request)
      throws Exception {
    String shown = AdminToken.sentWith(request.headers());
    if (shown == null) {
      return unauthorized("this route needs the admin token");
    }
    Identity address = Identity.of("ip", BY_64.canonical(client.of(CallerFacets.parts(ctx))));
    boolean right = token.is(shown);
    Call call = Call.of(RULE, address);
    Decision decision = wrong.decide(right ? call.peeking() : call);
    if (!decision.allowed()) {
      return tooManyWrong(decision);
    }
    return right
        ? service.serve(ctx, request)
        : unauthorized("admin token: not the one of this service");
  }

  private static HttpResponse unauthorized(String found) {
    return refusal(
        HttpStatus.UNAUTHORIZED,
        found + " (expected: Authorization: Bearer and the token)",
        Map.of("WWW-Authenticate", "Bearer realm=\"sluice\""));
  }

  private static HttpResponse tooManyWrong(Decision decision) {
    return refusal(
        HttpStatus.TOO_MANY_REQUESTS,
        "admin token: %d wrong ones came from this address within a minute (expected: wait; until then every token is refused)"
            .formatted(MOST_WRONG),
        HttpAnswer.of(decision, HeaderProfile.NONE).headers());
  }

  private static HttpResponse refusal(HttpStatus status, String error, Map<String, String> fields) {
    byte[] body = Replies.problemBytes(status, List.of(error));
    ResponseHeadersBuilder headers =
        ResponseHeaders.builder(status).contentType(Replies.PROBLEM).contentLength(body.length);
    fields.forEach(headers::add);
    headers.add(HttpHeaderNames.CACHE_CONTROL, "no-store");
    return HttpResponse.of(headers.build(), HttpData.wrap(body));
  }
}
