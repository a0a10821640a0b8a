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

/** Lets operators in who show the admin token, and stops those who guess it. Thread-safe. */
public final class Doorkeeper {
  /*
   * Ten wrong tokens from an address in a minute, and every token from there is refused, the right
   * one too: a guess that is not judged says nothing. Wrong tokens are counted in one step, so
   * guesses sent at once are no more than ten either. The counts are this process' own: they must
   * not depend on a store that may be away.
   */
  static final int MOST_WRONG = 10;

  private static final String RULE = "AdminToken";
  private static final long MOST_ADDRESSES = 100_000;

  /** One subscriber has all addresses of a /64, whatever counts as a client elsewhere. */
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

  /** Serves a request that shows the token; answers any other. */
  public HttpResponse serve(HttpService service, ServiceRequestContext ctx, HttpRequest request)
      throws Exception {
    String shown = AdminToken.shownBy(request.headers());
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
        "admin token: %d wrong ones came from this address within a minute (expected: wait; until then no token is taken)"
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
