package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.sluice.http.ClientAddress;
import dev.sluice.memory.MemoryStore;
import dev.sluice.rules.Until;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the console answers, and whom. */
class ConsoleTest {
  private static final Duration LONG = Duration.ofSeconds(10);
  private static final String RULES =
      """
      facets:
        ip: client-address
        login: caller
        apiKey: {header: X-Api-Key, secret: true}
      rules:
        SignIn: {by: [login], limit: 2 per 10m, lock: 30m}
        Api: {by: [apiKey], limit: 2 per 1h}
      """;

  @TempDir private static Path directory;
  private static final AdminToken rita = AdminToken.random();
  private static Path operators;
  private static Sluice shared;
  private Sluice sluice;

  @BeforeAll
  static void startShared() throws Exception {
    operators = Files.writeString(directory.resolve("operators.yaml"), operators("role: read"));
    shared = start(Settings.defaults());
  }

  @AfterAll
  static void stopShared() {
    shared.close();
  }

  @BeforeEach
  void takeShared() {
    sluice = shared;
  }

  /** Gives a test a service of its own. */
  private void alone() {
    sluice = start(Settings.defaults());
  }

  @AfterEach
  void stop() {
    if (sluice != shared) {
      sluice.close();
    }
  }

  private static String operators(String role) {
    return "operators:\n  rita: {token-sha256: \"%s\", %s}\n"
        .formatted(AdminToken.sha256(rita.text()), role);
  }

  private static Sluice start(Settings settings) {
    return Sluice.start(
        settings,
        RULES,
        MemoryStore.create(),
        new Meters(),
        ReceiptKeys.ofProcess(),
        Operators.follow(operators, AdminToken.of(Sluice.TOKEN), false));
  }

  // ---- Signing in -----------------------------------------------------------------------------

  private Sluice.Answer signIn(String token) {
    return ConsoleSession.signIn(sluice, token);
  }

  private String cookie(String token) {
    return ConsoleSession.begin(sluice, token).cookie();
  }

  private Sluice.Answer get(String path, String cookie) {
    return new ConsoleSession(sluice, cookie).get(path);
  }

  private Sluice.Answer change(String method, String path, String body, String cookie) {
    return new ConsoleSession(sluice, cookie).change(method, path, body);
  }

  @Test
  void theTokenOpensASessionUntilTheOperatorSignsOut() {
    Sluice.Answer signedIn = signIn(Sluice.TOKEN);
    String set = signedIn.header("set-cookie");
    String cookie = set.substring(0, set.indexOf(';'));

    assertThat(signedIn.status()).isEqualTo(204);
    assertThat(set)
        .matches("sluice-session=[0-9a-f]{64};.*")
        .containsIgnoringCase("HttpOnly")
        .contains("SameSite=Strict", "Path=/", "Max-Age=28800")
        .doesNotContain("Secure");
    JsonNode session = get("session", cookie).json();
    assertThat(session.path("operator").asText()).isEqualTo("admin");
    assertThat(session.path("role").asText()).isEqualTo("change");
    assertThat(Instant.parse(session.path("expires").asText()))
        .isBetween(
            Instant.now().plus(Duration.ofHours(7)), Instant.now().plus(Duration.ofHours(8)));
    assertThat(change("DELETE", "session", "", cookie).status()).isEqualTo(204);
    assertThat(get("session", cookie).status()).isEqualTo(401);
  }

  private String setCookie(Sluice at, String protocol) {
    Sluice.Answer signedIn =
        at.send(
            ConsoleSession.fromPage(
                    at, "POST", ConsoleSession.PATH, "{\"token\": \"%s\"}".formatted(Sluice.TOKEN))
                .header("X-Forwarded-Proto", protocol));
    assertThat(signedIn.status()).isEqualTo(204);
    return signedIn.header("set-cookie");
  }

  @Test
  void theCookieIsForTlsOnlyIfATrustedProxySaysThatTheBrowserUsesTls() {
    ClientAddress client = ClientAddress.trusting(List.of("127.0.0.1"));
    try (Sluice behindProxy = start(Settings.builder().client(client).build())) {
      String set = setCookie(behindProxy, "https");
      String cookie = set.substring(0, set.indexOf(';'));

      assertThat(set)
          .matches("__Host-sluice-session=[0-9a-f]{64};.*")
          .contains("Path=/", "Secure", "SameSite=Strict")
          .containsIgnoringCase("HttpOnly")
          .doesNotContainIgnoringCase("Domain");
      assertThat(new ConsoleSession(behindProxy, cookie).get("session").status()).isEqualTo(200);
      assertThat(setCookie(behindProxy, "http"))
          .startsWith("sluice-session=")
          .doesNotContain("Secure");
    }
  }

  @Test
  void nobodyButATrustedProxyCanSayThatTheBrowserUsesTls() {
    assertThat(setCookie(sluice, "https")).startsWith("sluice-session=").doesNotContain("Secure");
  }

  @Test
  void wrongTokensAreRefusedAndLimited() {
    alone();
    for (int i = 0; i < 10; i++) {
      assertThat(signIn("wrong-token-" + i).status()).isEqualTo(401);
    }

    Sluice.Answer tooMany = signIn(Sluice.TOKEN);

    assertThat(tooMany.status()).isEqualTo(429);
    assertThat(tooMany.header("retry-after")).matches("[0-9]+");
  }

  @Test
  void everyRouteNeedsASession() {
    for (String path :
        List.of(
            "session",
            "overview",
            "series",
            "live",
            "clients",
            "client?identity=login%3Dann",
            "locks",
            "overrides",
            "rules",
            "rule-names",
            "audit",
            "audit/export?format=csv")) {
      assertThat(get(path, "sluice-session=" + "0".repeat(64)).status()).as(path).isEqualTo(401);
      assertThat(sluice.send(sluice.admin("GET", "/console/api/" + path)).status())
          .as("the token at " + path)
          .isEqualTo(401);
    }
    String cookie = cookie(Sluice.TOKEN);
    assertThat(sluice.send(sluice.request("GET", "/v1/locks").header("Cookie", cookie)).status())
        .as("the cookie does not open the API")
        .isEqualTo(401);
  }

  @Test
  void aChangeMustComeFromAPageOfTheConsole() {
    String cookie = cookie(Sluice.TOKEN);
    String url = sluice.url();
    String path = "/console/api/locks?rule=SignIn&identity=login%3Dann";
    record From(String name, String value) {}
    for (From from :
        List.of(
            new From("Sec-Fetch-Site", "cross-site"),
            new From("Sec-Fetch-Site", "same-site"),
            new From("Sec-Fetch-Site", "none"),
            new From("Origin", "https://evil.example"),
            new From("Origin", "null"),
            new From("X-Nothing", "1"))) {
      Sluice.Answer answer =
          sluice.send(
              sluice
                  .request("DELETE", path)
                  .header("Cookie", cookie)
                  .header(from.name, from.value));
      assertThat(answer.status()).as(from.toString()).isEqualTo(403);
    }
    Sluice.Answer own =
        sluice.send(sluice.request("DELETE", path).header("Cookie", cookie).header("Origin", url));
    assertThat(own.status()).isEqualTo(200);
    Sluice.Answer form =
        sluice.send(
            sluice
                .request("PUT", "/console/api/overrides")
                .method("PUT", HttpRequest.BodyPublishers.ofString("{}"))
                .header("Cookie", cookie)
                .header("Sec-Fetch-Site", "same-origin")
                .header("Content-Type", "text/plain"));
    assertThat(form.status()).isEqualTo(415);
  }

  @Test
  void anOperatorWhoMayOnlyLookChangesNothingAndLosesTheSessionWithTheToken() throws Exception {
    String cookie = cookie(rita.text());
    assertThat(get("session", cookie).json().path("role").asText()).isEqualTo("read");
    assertThat(get("locks", cookie).status()).isEqualTo(200);
    String lock =
        "{\"rule\": \"SignIn\", \"identity\": \"login=ann\", \"duration\": \"5m\", \"reason\": \"x\"}";
    assertThat(change("PUT", "locks", lock, cookie).status()).isEqualTo(403);
    assertThat(get("locks", cookie).json().path("total").asInt()).isZero();

    Files.writeString(
        operators,
        operators("role: read")
            .replace("rita", "rosa")
            .replace(
                AdminToken.sha256(rita.text()), AdminToken.sha256(AdminToken.random().text())));

    Until.within(LONG, "the end of the session", () -> get("session", cookie).status() == 401);
    Files.writeString(operators, operators("role: read"));
  }

  // ---- Pages ----------------------------------------------------------------------------------

  @ParameterizedTest
  @ValueSource(strings = {"/", "/console/app.js", "/console/console.css", "/console/chart.js"})
  void filesComeFromTheJarWithAStrictPolicy(String path) {
    Sluice.Answer file = sluice.get(path);

    assertThat(file.status()).isEqualTo(200);
    assertThat(file.response().body()).isNotEmpty();
    assertThat(file.header("content-security-policy"))
        .startsWith("default-src 'none';")
        .contains("script-src 'self'", "style-src 'self'", "frame-ancestors 'none'")
        .doesNotContain("unsafe", "*", "http:", "data:");
    assertThat(file.header("referrer-policy")).isEqualTo("no-referrer");
    assertThat(file.header("x-content-type-options")).isEqualTo("nosniff");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/console/../openapi.yaml",
        "/console/%2e%2e/log-plain.xml",
        "/console/nothing.js",
        "/console/SignIn.class",
        "/console/Sessions.class",
        "/console/package-info.class",
        "/console/../SignIn.class",
        "/console/%2e%2e/SignIn.class",
        "/console/%2E%2E%2FSignIn.class",
        "/console/..%2fSignIn.class",
        "/console/..%5cSignIn.class",
        "/console/..%252fSignIn.class",
        "/console/./../SignIn.class",
        "/console/x/../../SignIn.class",
        "/console//SignIn.class",
        "/console/%2fSignIn.class",
        "/console/..;/SignIn.class",
        "/console/SignIn.class%00.js",
        "/console/pages/app.js",
        "/console/app.js/"
      })
  void nothingElseIsServed(String path) {
    Wire.Answer answer = new Wire(sluice.service().port()).get(path);

    assertThat(answer.status()).isIn(400, 404);
    assertThat(answer.body()).doesNotContain("\u00ca\u00fe\u00ba\u00be", "<pattern>");
  }

  @Test
  void theFilesOfTheConsoleAreServedAndNoListOfThem() throws Exception {
    Path folder = Path.of("src/main/resources/dev/sluice/server/console/pages");
    List<String> names;
    try (Stream<Path> files = Files.list(folder)) {
      names = files.map(file -> file.getFileName().toString()).sorted().toList();
    }

    assertThat(names).allMatch(name -> name.matches("[a-z]+\\.(js|css|svg|html)"));
    for (String name : names) {
      assertThat(sluice.get("/console/" + name).status()).as(name).isEqualTo(200);
    }
    assertThat(sluice.get("/console/").response().body())
        .as("the page, not a list of files")
        .isEqualTo(sluice.get("/").response().body());
  }

  /** What a page shows comes from strangers, so no text may become markup. */
  @Test
  void noScriptOfThePagesMakesMarkupOfText() throws Exception {
    Path folder = Path.of("src/main/resources/dev/sluice/server/console/pages");
    try (Stream<Path> files = Files.list(folder)) {
      List<Path> scripts = files.filter(file -> file.toString().endsWith(".js")).toList();
      assertThat(scripts).hasSizeGreaterThan(10);
      for (Path script : scripts) {
        assertThat(Files.readString(script))
            .as(script.toString())
            .doesNotContainPattern(
                "innerHTML|outerHTML|insertAdjacentHTML|document\\.write|\\beval\\(|new Function|javascript:|srcdoc");
      }
    }
  }

  @Test
  void theConsoleCanBeSwitchedOff() {
    try (Sluice without = start(Settings.builder().console(false).build())) {
      assertThat(without.get("/").status()).isEqualTo(404);
      assertThat(without.get("/console/app.js").status()).isEqualTo(404);
      assertThat(without.get("/console/api/session").status()).isEqualTo(404);
    }
  }

  // ---- What it shows --------------------------------------------------------------------------

  private void signInAs(String login) {
    String body =
        "{\"rule\": \"SignIn\", \"identity\": {\"login\": %s}}".formatted(new TextNode(login));
    assertThat(sluice.post("/v1/check", body).status()).isEqualTo(200);
  }

  @Test
  void theTotalsAreThoseOfTheMetrics() {
    alone();
    String cookie = cookie(Sluice.TOKEN);
    for (int i = 0; i < 5; i++) {
      signInAs("ann");
      signInAs("bob" + i);
    }

    Until.within(
        LONG,
        "the summary",
        () -> get("overview", cookie).json().path("totals").path("calls").asLong() == 10);

    JsonNode overview = get("overview", cookie).json();
    assertThat(overview.path("totals").path("allowed").asLong())
        .isEqualTo(metric("outcome=\"allowed\""));
    assertThat(overview.path("totals").path("denied").asLong())
        .isEqualTo(metric("outcome=\"denied\""))
        .isEqualTo(3);
    assertThat(overview.path("nodes")).hasSize(1);
    assertThat(overview.path("nodes").get(0).path("program").asText()).isEqualTo("service");
    assertThat(overview.path("nodes").get(0).path("rulesVersion").asText())
        .as("the version of the rules is that of the page of rules")
        .isEqualTo(get("rules", cookie).json().path("version").asText())
        .hasSize(8);
    assertThat(overview.path("limits").get(0).path("denied").asLong()).isEqualTo(3);
    assertThat(get("clients?sort=refused", cookie).json().path("clients").get(0).toString())
        .contains("\"identity\":\"login=ann\"", "\"denied\":3");
  }

  private long metric(String label) {
    return sluice
        .get("/metrics")
        .response()
        .body()
        .lines()
        .filter(line -> line.startsWith("sluice_decisions_total{") && line.contains(label))
        .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  @Test
  void aLockIsListedLiftedAndAudited() {
    alone();
    String cookie = cookie(Sluice.TOKEN);
    String hostile = "<img src=x onerror=alert(1)>";
    for (int i = 0; i < 3; i++) {
      signInAs(hostile);
    }
    JsonNode lock = get("locks", cookie).json().path("locks").get(0);
    String identity = lock.path("identity").asText();
    assertThat(lock.path("facets").path("login").asText()).isEqualTo(hostile);
    JsonNode client = get("client?identity=" + encoded(identity), cookie).json();
    assertThat(client.path("accounts").get(0).path("locked").asBoolean()).isTrue();

    JsonNode lifted =
        change("DELETE", "locks?rule=SignIn&identity=" + encoded(identity), "", cookie).json();

    assertThat(lifted.path("lifted").asBoolean()).isTrue();
    assertThat(get("locks", cookie).json().path("total").asInt()).isZero();
    JsonNode entry = get("audit", cookie).json().path("entries").get(0);
    assertThat(entry.path("action").asText()).isEqualTo("lock lifted");
    assertThat(entry.path("who").asText()).isEqualTo("admin at 127.0.0.1");
    assertThat(sluice.send(sluice.admin("GET", "/v1/audit?q=lifted")).json().path("entries"))
        .hasSize(1);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  // ---- Overrides ------------------------------------------------------------------------------

  private boolean passes(String key) {
    String body = "{\"rule\": \"Api\", \"identity\": {\"apiKey\": \"%s\"}}".formatted(key);
    return sluice.post("/v1/check", body).json().path("allowed").asBoolean();
  }

  @Test
  void anOverrideHoldsAtOnceAndKeepsNoSecret() {
    alone();
    String cookie = cookie(Sluice.TOKEN);
    assertThat(List.of(passes("key-1"), passes("key-1"), passes("key-1")))
        .containsExactly(true, true, false);
    String wanted =
        "{\"rule\": \"Api\", \"when\": {\"apiKey\": \"key-1\"}, \"limits\": [\"5 per 1h\"], \"reason\": \"ticket 4711\"}";

    Sluice.Answer made = change("PUT", "overrides", wanted, cookie);

    assertThat(made.status()).as(made.response().body()).isEqualTo(200);
    String id = made.json().path("id").asText();
    assertThat(passes("key-1")).isTrue();
    assertThat(List.of(passes("key-2"), passes("key-2"), passes("key-2")))
        .as("nobody else is let through")
        .containsExactly(true, true, false);
    String everything =
        get("overrides", cookie).response().body()
            + get("audit", cookie).response().body()
            + sluice.send(sluice.admin("GET", "/v1/overrides")).response().body();
    assertThat(everything).contains(id, "sha256:", "5 per 1h").doesNotContain("key-1");
    assertThat(get("audit/export?format=csv", cookie).response().body())
        .startsWith("at,who,action,rule,identity,before,after\r\n")
        .contains("\"override made\"", "ticket 4711");

    assertThat(change("DELETE", "overrides/" + id, "", cookie).json().path("removed").asBoolean())
        .isTrue();
    assertThat(passes("key-1")).isFalse();
    assertThat(get("overrides", cookie).json().path("total").asInt()).isZero();
  }

  @Test
  void aBadOverrideIsRefusedWithEveryMistake() {
    String cookie = cookie(Sluice.TOKEN);

    Sluice.Answer bad =
        change(
            "PUT",
            "overrides",
            "{\"rule\": \"Api\", \"when\": {\"apKey\": \"k\"}, \"limits\": [\"0 per 1h\"], \"untl\": \"x\"}",
            cookie);
    Sluice.Answer unknown =
        change("PUT", "overrides", "{\"rule\": \"Apii\", \"when\": {\"apiKey\": \"k\"}}", cookie);

    assertThat(bad.status()).isEqualTo(400);
    assertThat(String.join("\n", bad.errors())).contains("apKey", "untl", "0");
    assertThat(unknown.status()).isEqualTo(404);
    assertThat(unknown.errors().get(0)).contains("did you mean 'Api'?");
    for (String body :
        List.of("", "[]", "{", "{\"rule\": 7}", "{\"rule\": \"Api\", \"when\": 3}")) {
      assertThat(change("PUT", "overrides", body, cookie).status()).as(body).isEqualTo(400);
    }
    assertThat(get("overrides", cookie).json().path("total").asInt()).isZero();
  }

  // ---- Live data ------------------------------------------------------------------------------

  @Test
  void aStreamEndsWithItsSession() throws Exception {
    String cookie = cookie(Sluice.TOKEN);
    CompletableFuture<Long> stream =
        HttpClient.newHttpClient()
            .sendAsync(
                sluice.request("GET", "/console/api/live").header("Cookie", cookie).build(),
                HttpResponse.BodyHandlers.ofLines())
            .thenApply(response -> response.body().count());

    assertThat(change("DELETE", "session", "", cookie).status()).isEqualTo(204);

    assertThat(stream.get(10, TimeUnit.SECONDS)).isPositive();
  }

  /** Reads a stream of live data, so that the service does not end it as too slow. */
  private static final class Reader implements Flow.Subscriber<List<ByteBuffer>> {
    private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
    private final int status;

    private Reader(int status) {
      this.status = status;
    }

    static Reader open(HttpClient client, HttpRequest request) {
      HttpResponse<Flow.Publisher<List<ByteBuffer>>> response =
          client.sendAsync(request, HttpResponse.BodyHandlers.ofPublisher()).join();
      Reader reader = new Reader(response.statusCode());
      response.body().subscribe(reader);
      return reader;
    }

    void close() {
      subscription.join().cancel();
    }

    @Override
    public void onSubscribe(Flow.Subscription begun) {
      subscription.complete(begun);
      begun.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(List<ByteBuffer> data) {}

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onComplete() {}
  }

  @Test
  void aHundredPagesHaveLiveDataAndTheNextOneWhenOneOfThemIsClosed() {
    alone();
    HttpClient client = HttpClient.newHttpClient();
    HttpRequest live =
        sluice.request("GET", "/console/api/live").header("Cookie", cookie(Sluice.TOKEN)).build();
    List<Reader> open = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      Reader reader = Reader.open(client, live);
      assertThat(reader.status).as("stream %d", i).isEqualTo(200);
      open.add(reader);
    }

    assertThat(Reader.open(client, live).status).isEqualTo(503);

    open.get(42).close();
    Until.within(
        LONG,
        "a free place",
        () -> {
          Reader next = Reader.open(client, live);
          open.add(next);
          return next.status == 200;
        });
    open.forEach(Reader::close);
  }

  @Test
  void liveDataFlowsAndDoesNotHoldUpTheEndOfTheService() throws Exception {
    sluice = start(Settings.builder().drainTimeout(Duration.ofSeconds(20)).build());
    String cookie = cookie(Sluice.TOKEN);
    HttpClient client = HttpClient.newHttpClient();
    List<String> seen = new CopyOnWriteArrayList<>();
    CompletableFuture<Void> stream =
        client
            .sendAsync(
                sluice.request("GET", "/console/api/live").header("Cookie", cookie).build(),
                HttpResponse.BodyHandlers.ofLines())
            .thenAccept(response -> response.body().forEach(seen::add));
    Until.within(
        LONG, "two overviews", () -> seen.stream().filter("event: overview"::equals).count() >= 2);
    for (int i = 0; i < 3; i++) {
      signInAs("ann");
    }
    Until.within(
        LONG,
        "a refusal",
        () -> {
          signInAs("ann");
          return seen.contains("event: refusals");
        });

    long start = System.nanoTime();
    sluice.close();
    stream.handle((done, error) -> null).get(10, TimeUnit.SECONDS);

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(8));
  }
}
