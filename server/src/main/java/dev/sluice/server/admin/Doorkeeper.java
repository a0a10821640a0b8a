package dev.sluice.server.admin;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
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
import dev.sluice.internal.Text;
import dev.sluice.memory.MemoryStore;
import dev.sluice.server.api.CallerFacets;
import dev.sluice.server.http.Replies;
import dev.sluice.server.tls.Certificates;
import dev.sluice.server.tls.ClientCertificate;
import dev.sluice.server.tls.Subject;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Tells operators by their token or client certificate, and limits wrong tokens for each address.
 * Thread-safe.
 */
public final class Doorkeeper {
  /*
   * After ten wrong tokens from an address within a minute, every token from there is refused, also
   * the right one: otherwise guessing could go on. A wrong token is checked and counted in one step,
   * so concurrent guesses do not exceed the ten. The counts are in memory, because they must work
   * also when Redis does not answer.
   *
   * A request with a token is judged by the token alone. Without one, a client certificate decides;
   * nobody can guess a certificate, so wrong ones are not counted, and an operator with a good one
   * comes in also from an address whose tokens are refused.
   */
  static final int MOST_WRONG = 10;

  private static final String RULE = "AdminToken";
  private static final long MOST_ADDRESSES = 100_000;

  /** One subscriber has all addresses of a /64, whatever --ipv6-prefix says. */
  private static final ClientAddress BY_64 = ClientAddress.ofPeer();

  private final Operators operators;
  private final @Nullable Certificates certificates;
  private final ClientAddress client;
  private final InstantSource clock;
  private final Limiter wrong;

  /** Whether somebody is let in. */
  public sealed interface Entry {
    /** Somebody is, as this operator. */
    record Admitted(Operator operator) implements Entry {}

    /** Nobody is; the answer says why. */
    record Refused(HttpResponse answer) implements Entry {}
  }

  /**
   * A doorkeeper.
   *
   * @param certificates the authorities of client certificates; null without TLS
   * @param clock the time for wrong tokens and for certificates
   */
  public Doorkeeper(
      Operators operators,
      @Nullable Certificates certificates,
      ClientAddress client,
      InstantSource clock) {
    this.operators = operators;
    this.certificates = certificates;
    this.client = client;
    this.clock = clock;
    Rule rule =
        Rule.builder(RULE)
            .by("ip")
            .limit(Limit.slidingLog(MOST_WRONG, Duration.ofMinutes(1)))
            .build();
    this.wrong = Limiter.of(MemoryStore.create(clock, MOST_ADDRESSES), Rules.of(rule));
  }

  /** Passes the request of an operator to a route; answers any other with 401, 403 or 429. */
  public HttpResponse serve(OperatorRoute route, ServiceRequestContext ctx, HttpRequest request) {
    Entry entry = admit(ctx, request);
    if (entry instanceof Entry.Refused refused) {
      return refused.answer;
    }
    Operator operator = ((Entry.Admitted) entry).operator;
    if (!operator.mayChange() && request.method() != HttpMethod.GET) {
      return mayOnlyLook(operator);
    }
    return route.serveAside(ctx, request, operator);
  }

  /** Who sent a request. */
  public Entry admit(ServiceRequestContext ctx, HttpRequest request) {
    String shown = AdminToken.sentWith(request.headers());
    return shown == null ? byCertificate(ctx) : byToken(ctx, shown);
  }

  /** Who has a token. */
  public Entry admit(ServiceRequestContext ctx, String token) {
    return byToken(ctx, token);
  }

  private Entry byToken(ServiceRequestContext ctx, String shown) {
    Identity address = Identity.of("ip", BY_64.canonical(client.of(CallerFacets.parts(ctx))));
    Optional<Operator> operator = operators.withToken(shown);
    Call call = Call.of(RULE, address);
    Decision decision = wrong.decide(operator.isPresent() ? call.peeking() : call);
    if (!decision.allowed()) {
      return new Entry.Refused(tooManyWrong(decision));
    }
    return operator
        .<Entry>map(Entry.Admitted::new)
        .orElseGet(() -> unauthorized("admin token: not the one of this service"));
  }

  private Entry byCertificate(ServiceRequestContext ctx) {
    List<X509Certificate> authorities =
        certificates == null ? List.of() : certificates.authorities();
    Optional<ClientCertificate> shown =
        authorities.isEmpty() ? Optional.empty() : Certificates.shownIn(ctx.sslSession());
    if (shown.isEmpty()) {
      return unauthorized("this route needs the admin token");
    }
    try {
      Subject subject = shown.get().provenBy(authorities, clock.instant());
      return operators
          .withSubject(subject)
          .<Entry>map(Entry.Admitted::new)
          .orElseGet(
              () ->
                  unauthorized(
                      "client certificate: %s is no operator"
                          .formatted(Text.quoted(subject.toString()))));
    } catch (ClientCertificate.NotAccepted e) {
      return unauthorized("client certificate: " + e.getMessage());
    }
  }

  private static Entry unauthorized(String found) {
    return new Entry.Refused(
        refusal(
            HttpStatus.UNAUTHORIZED,
            found + " (expected: Authorization: Bearer and the token)",
            Map.of("WWW-Authenticate", "Bearer realm=\"sluice\"")));
  }

  private static HttpResponse mayOnlyLook(Operator operator) {
    return refusal(
        HttpStatus.FORBIDDEN,
        "operator '%s': may look and not change (expected: an operator with role: change)"
            .formatted(operator.name()),
        Map.of());
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
