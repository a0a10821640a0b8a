package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.Decision;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** What docs/proxies.md promises of every proxy. */
abstract class ProxyContract extends BehindProxy {
  @Test
  void threePassAndTheFourthHasARetryAfter() throws Exception {
    start(one());

    for (int left = 2; left >= 0; left--) {
      Wire.Answer allowed = client.get("/some/page?x=1");
      assertThat(allowed.status()).isEqualTo(200);
      assertThat(allowed.body()).isEqualTo("application");
      assertThat(allowed.header("X-RateLimit-Limit")).isEqualTo("3");
      assertThat(allowed.header("X-RateLimit-Remaining")).isEqualTo("" + left);
      assertThat(Integer.parseInt(allowed.header("X-RateLimit-Reset"))).isBetween(3_500, 3_600);
      assertThat(allowed.header("RateLimit-Policy")).isEqualTo("\"Everyone\";q=3;w=3600");
      assertThat(allowed.header("RateLimit")).startsWith("\"Everyone\";r=" + left + ";t=");
      assertThat(allowed.header("Retry-After")).isEqualTo("(none)");
    }
    Wire.Answer denied = client.get("/some/page?x=1");

    assertThat(denied.status()).isEqualTo(429);
    assertThat(Integer.parseInt(denied.header("Retry-After"))).isBetween(3_500, 3_600);
    assertThat(denied.header("X-RateLimit-Limit")).isEqualTo("3");
    assertThat(denied.header("X-RateLimit-Remaining")).isEqualTo("0");
    assertThat(Integer.parseInt(denied.header("X-RateLimit-Reset"))).isBetween(3_500, 3_600);
    assertThat(denied.header("RateLimit-Policy")).isEqualTo("\"Everyone\";q=3;w=3600");
    assertThat(denied.header("RateLimit")).startsWith("\"Everyone\";r=0;t=");
    assertThat(denied.header("Content-Type")).isEqualTo("application/problem+json");
    assertThat(denied.header("Sluice-Problem")).isEqualTo("(none)");
    assertThat(denied.json().path("status").asInt()).isEqualTo(429);
    assertThat(denied.json().path("detail").asText())
        .startsWith("Rule 'Everyone' allows 3 per 1h; it will pass in ");
    assertThat(application.asked()).hasSize(3);
    assertThat(printed().lines().filter(line -> line.contains("error"))).isEmpty();
  }

  @Test
  void eachPlaceIsCountedByItsRule() throws Exception {
    start(several());

    List.of(
            List.of("Everyone", "/", "X: 1"),
            List.of("Api", "/api/things", "X-Api-Key: k"),
            List.of("Report", "/report?tenant=acme", "X: 1"),
            List.of("Cart", "/cart/add", "Cookie: a=b; CART=c; d=e"))
        .forEach(each -> usesUp(each.get(0), each.get(1), each.get(2)));
    assertThat(client.get("/api", "X-Api-Key: other").status()).isEqualTo(200);
    assertThat(client.get("/report?tenant=other").status()).isEqualTo(200);
    assertThat(client.get("/cart", "Cookie: CART=other").status()).isEqualTo(200);
  }

  private void usesUp(String rule, String target, String field) {
    for (int i = 0; i < 3; i++) {
      assertThat(client.get(target, field).status()).describedAs(rule).isEqualTo(200);
    }
    Wire.Answer denied = client.get(target, field);

    assertThat(denied.status()).describedAs(rule).isEqualTo(429);
    assertThat(denied.json().path("violated-policies").get(0).asText()).isEqualTo(rule);
  }

  @Test
  void aMissingFacetIsReportedInTheWordsOfTheService() throws Exception {
    start(several());

    isMissing("/api", "X: 1", "header X-Api-Key");
    isRefused("/api", "X-Api-Key: ", "the header X-Api-Key is empty");
    isMissing("/report", "X: 1", "query parameter tenant");
    isRefused("/report?tenant=", "X: 1", "the query parameter tenant is empty");
    isMissing("/report?Tenant=acme", "Cookie: tenant=acme", "query parameter tenant");
    isMissing("/cart", "Cookie: cart=c", "cookie CART");
    assertThat(application.asked()).isEmpty();
    assertThat(printed().lines().filter(line -> line.contains("error"))).isEmpty();
  }

  private void isMissing(String target, String field, String place) {
    isRefused(target, field, "the request has no " + place);
  }

  private void isRefused(String target, String field, String why) {
    Wire.Answer refused = client.get(target, field);

    assertThat(refused.status()).describedAs(target).isEqualTo(400);
    assertThat(refused.header("Content-Type")).isEqualTo("application/problem+json");
    assertThat(refused.json().path("status").asInt()).isEqualTo(400);
    assertThat(refused.json().path("detail").asText()).endsWith(why);
  }

  @Test
  void theQueryReachesSluiceAndTheApplicationAsItWasSent() throws Exception {
    start(several());

    counts("tenant=b%26c", "b&c");
    counts("tenant=b%26tenant=c", "b&tenant=c");
    counts("tenant=b+c", "b c");
    counts("tenant=d%20e", "d e");
    counts("tenant=b%2Fc", "b/c");
    counts("tenant=b%2Bc", "b+c");
    counts("tenant=f&b=c", "f");
    counts("b=&&tenant=g&", "g");
    counts("t%65nant=h", "h");
    counts("?tenant=i&tenant=j", "j");
    counts("next=../../etc&tenant=k", "k");
    counts("x=http://a/v1/gate/Cart?y=1&tenant=l", "l");
    counts("tenant=$sluice_rule", "$sluice_rule");
    counts("tenant={vars.sluice_rule}", "{vars.sluice_rule}");
    counts("tenant=%E2%82%AC", "€");
    counts("tenant=<\">\\^`", "<\">\\^`");
  }

  private void counts(String query, String tenant) {
    application.asked().clear();

    Wire.Answer answer = client.get("/report?" + query);

    assertThat(answer.status()).describedAs(query).isEqualTo(200);
    assertThat(answer.header("RateLimit-Policy")).isEqualTo("\"Report\";q=3;w=3600");
    assertThat(left(tenant)).describedAs(query).isEqualTo(2);
    assertThat(application.asked()).hasSize(1);
  }

  @Test
  void aQueryWithoutOneClearValueIsRefused() throws Exception {
    start(several());

    for (String query :
        List.of(
            "tenant=a&tenant=b",
            "tenant=a&tenant=a",
            "tenant=a&tenant=",
            "tenant=%zz",
            "tenant=%",
            "tenant=%ff",
            "tenant=a&x=%00",
            "tenant=a%0d%0aX-Forwarded-For:%209.9.9.9",
            "tenant=a#b",
            "x=#&tenant=a",
            "tenant=\u00c3\u00a9")) {
      refusedUnasked("/report?" + query);
    }
    assertThat(left("a")).isEqualTo(3);
    assertThat(application.asked()).isEmpty();
  }

  @Test
  void aFacetGivenTwiceIsRefused() throws Exception {
    start(several());

    Wire.Answer twoKeys = client.get("/api", "X-Api-Key: a", "X-Api-Key: b");
    Wire.Answer twoCookies = client.get("/cart", "Cookie: CART=a; CART=b");

    assertThat(twoKeys.status()).isEqualTo(400);
    assertThat(twoKeys.body()).contains("header X-Api-Key 2 times (expected: once)");
    assertThat(twoCookies.status()).isEqualTo(400);
    assertThat(twoCookies.body()).contains("cookie CART 2 times (expected: once)");
    assertThat(application.asked()).isEmpty();
  }

  @Test
  void whatAClientSaysOfItsAddressIsNotBelieved() throws Exception {
    start(several());

    client.get("/", "X-Forwarded-For: 203.0.113.1");
    client.get("/", "X-Forwarded-For: 203.0.113.2", "X-Forwarded-For: 203.0.113.3");
    client.get("/", "Forwarded: for=203.0.113.4", "X-Real-IP: 203.0.113.4");

    assertThat(client.get("/", "X-Forwarded-For: 203.0.113.5").status()).isEqualTo(429);
    assertThat(client.get("/", "X-Forwarded-For: 127.0.0.1, 127.0.0.1").status()).isEqualTo(429);
    assertThat(client.get("/", "Connection: X-Forwarded-For").status()).isEqualTo(429);
    assertThat(client.get("/", "Sluice-Problem: no").json().path("status").asInt()).isEqualTo(429);
    assertThat(application.asked())
        .extracting(Application.Asked::forwardedFor)
        .containsOnly("127.0.0.1");
  }

  @Test
  void noMethodPassesUncounted() throws Exception {
    start(several());

    assertThat(client.send("POST", "/a", "x=1", "Expect: 100-continue").status()).isEqualTo(200);
    Wire.Answer chunked =
        client.send("PUT", "/b", "", "Transfer-Encoding: chunked\r\n\r\n3\r\ny=2\r\n0");
    assertThat(chunked.status()).isEqualTo(200);
    assertThat(client.send("HEAD", "/c", "").status()).isEqualTo(200);

    for (String method : List.of("GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")) {
      Wire.Answer denied = client.send(method, "/", "z=3");
      assertThat(denied.status()).describedAs(method).isEqualTo(429);
      assertThat(denied.json().path("status").asInt()).isEqualTo(429);
    }
    Wire.Answer head = client.send("HEAD", "/", "");
    assertThat(head.status()).isEqualTo(429);
    assertThat(head.header("X-RateLimit-Remaining")).isEqualTo("0");
    assertThat(head.body()).isEmpty();
    assertThat(application.asked())
        .extracting(Application.Asked::method, Application.Asked::target, Application.Asked::body)
        .containsExactly(
            tuple("POST", "/a", "x=1"), tuple("PUT", "/b", "y=2"), tuple("HEAD", "/c", ""));
  }

  @Test
  void noOtherSpellingOfAPathEscapesItsRule() throws Exception {
    start(several());

    for (String target :
        List.of(
            "/report",
            "/report/",
            "/reports",
            "//report",
            "/%72eport",
            "/./report",
            "/a/../report",
            "/a%2f..%2freport",
            "/a/%2e%2e/report",
            "/report%2f",
            "/report%3Ftenant=b",
            "/report;x=1?tenant=a",
            "/report%3Bx?tenant=a",
            "/a/..;/report?tenant=a",
            "/report#?tenant=a")) {
      refusedUnasked(target);
    }
    assertThat(application.asked()).isEmpty();
  }

  /** Refused before the application: it refuses odd requests, too, but those a rule let pass. */
  private void refusedUnasked(String target) {
    Wire.Answer answer = client.get(target);

    assertThat(answer.status()).describedAs(target).isEqualTo(400);
    assertThat(answer.header("X-RateLimit-Limit")).describedAs(target).isEqualTo("(none)");
  }

  @Test
  void aClientCannotNameTheRule() throws Exception {
    start(several());

    for (String target : List.of("/v1/gate/Report?tenant=a", "/a?sluice_rule=Report&tenant=a")) {
      Wire.Answer answer = client.get(target, "Sluice-Rule: Report", "sluice_rule: Report");
      assertThat(answer.header("RateLimit-Policy")).isEqualTo("\"Everyone\";q=3;w=3600");
    }

    assertThat(left("a")).isEqualTo(3);
  }

  @Test
  void aRuleThatSluiceDoesNotHaveIsA500ThatNamesIt() throws Exception {
    start(several(), text -> text.replace("sluice_rule Report", "sluice_rule Reprot"));

    Wire.Answer failed = client.get("/report?tenant=a");

    assertThat(failed.status()).isEqualTo(500);
    assertThat(failed.header("Content-Type")).isEqualTo("application/problem+json");
    assertThat(failed.json().path("title").asText()).isEqualTo("Rate limit misconfigured");
    assertThat(failed.json().path("detail").asText()).isEqualTo("Sluice has no rule 'Reprot'");
    assertThat(application.asked()).isEmpty();
    assertThat(client.get("/").status()).isEqualTo(200);
  }

  @Test
  void aRuleThatDeniesWithoutItsStoreIsA503InTheWordsOfTheService() throws Exception {
    try (Sluice down = started(new NeverAnswers())) {
      startProxy(several(), down.service().port(), BehindProxy::patient);

      Wire.Answer refused = client.get("/");

      assertThat(refused.status()).isEqualTo(503);
      assertThat(refused.header("Retry-After")).isEqualTo("1");
      assertThat(refused.json().path("title").asText())
          .isEqualTo("The service cannot count requests at the moment");
      assertThat(application.asked()).isEmpty();
    }
  }

  /** A store that does not answer, under a rule that denies then. */
  private static final class NeverAnswers extends ForwardingStore {
    NeverAnswers() {
      super(MemoryStore.create());
    }

    @Override
    public CompletionStage<Decision> take(Plan plan) {
      return CompletableFuture.completedFuture(new Decision.Unmetered(false, "away"));
    }
  }

  @Test
  void nothingPassesWhileSluiceIsAway() throws Exception {
    startProxy(several(), Program.freePort(), BehindProxy::patient);

    Wire.Answer refused = client.send("POST", "/", "x=1");

    assertThat(refused.status()).isEqualTo(503);
    assertThat(refused.json().path("title").asText()).isEqualTo("Rate limit unavailable");
    assertThat(application.asked()).isEmpty();
  }

  @Test
  void nothingPassesWhileSluiceDoesNotAnswer() throws Exception {
    try (ServerSocket mute = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      startProxy(several(), mute.getLocalPort(), text -> text.replace(" 2s", " 1s"));

      long start = System.nanoTime();
      Wire.Answer refused = client.get("/");

      assertThat(refused.status()).isEqualTo(503);
      assertThat((System.nanoTime() - start) / 1_000_000_000).isLessThan(20);
      assertThat(application.asked()).isEmpty();
    }
  }

  @Test
  void whoChoosesSoLetsRequestsPassWhileSluiceIsAway() throws Exception {
    startProxy(several(), Program.freePort(), text -> open().of(patient(text)));

    Wire.Answer passed = client.send("POST", "/a?b", "x=1");

    assertThat(passed.status()).isEqualTo(200);
    assertThat(application.asked())
        .extracting(Application.Asked::method, Application.Asked::target, Application.Asked::body)
        .containsExactly(tuple("POST", "/a?b", "x=1"));
  }

  @Test
  void whoChoosesSoLetsRequestsPassWhileSluiceDoesNotAnswer() throws Exception {
    try (ServerSocket mute = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      startProxy(several(), mute.getLocalPort(), text -> open().of(text.replace(" 2s", " 1s")));

      assertThat(client.get("/").status()).isEqualTo(200);
    }
  }

  /** Letting requests pass must not be a way around a Sluice that is there. */
  @Test
  void noOddRequestMakesSluiceSeemAway() throws Exception {
    start(several(), open());
    for (int i = 0; i < 3; i++) {
      client.get("/");
    }

    for (String value : List.of("a\u000bb", "a\u0001b", "a\u007fb", "\u00ff\u00fe")) {
      assertThat(client.get("/", "X-Odd: " + value).status()).isIn(400, 429);
    }
    assertThat(client.get("/", "X-Long: " + "x".repeat(7_900)).status()).isEqualTo(429);
    assertThat(client.get("/", manyFields()).status()).isIn(400, 431);
    assertThat(client.get("/?" + "x".repeat(8_170)).status()).isIn(400, 414);
    assertThat(client.get("/report?tenant=" + "x".repeat(5_000)).status()).isEqualTo(400);
    assertThat(application.asked()).hasSize(3);
  }

  private static String[] manyFields() {
    String[] fields = new String[5];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = "X-Long-%d: %s".formatted(i, "x".repeat(7_500));
    }
    return fields;
  }

  @Test
  void theConnectionToSluiceIsKept() throws Exception {
    try (Relay relay = Relay.to(sluice.service().port())) {
      startProxy(several(), relay.port(), BehindProxy::patient);

      for (int i = 0; i < 5; i++) {
        client.get("/");
        client.get("/report");
      }

      // Caddy keeps connections for each place of its file that asks.
      assertThat(relay.connections()).isBetween(1, 2);
    }
  }
}
