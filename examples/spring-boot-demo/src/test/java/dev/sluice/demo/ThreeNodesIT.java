package dev.sluice.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.RuleSource;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.Until;
import dev.sluice.server.Service;
import dev.sluice.server.Stores;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two services and a Spring application on one Redis: the console adds them up. */
class ThreeNodesIT {
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final String TOKEN = "a-token-for-tests";
  private static final int MOST_CALLS = 50_000;
  private static final int LOOKS_UNDER_LOAD = 3;
  private static final String RULES =
      """
      facets: {login: caller}
      rules:
        Api: {by: [login], limit: 5 per 1h}
        New: {by: [login], limit: 3 per 1h, mode: shadow}
      """;

  private final HttpClient client = HttpClient.newHttpClient();
  private final RedisProcess redis = RedisProcess.start(RedisProcess.newest());
  private final Service one = service();
  private final Service two = service();
  private final RunningShop shop = new RunningShop(redis.uri());
  private final ExecutorService threads = Executors.newFixedThreadPool(3);

  /** How many calls were decided, and how. */
  private record Decided(
      long allowed, long denied, long unmetered, long shadowAllowed, long shadowDenied) {
    Decided plus(Decided other) {
      return new Decided(
          allowed + other.allowed,
          denied + other.denied,
          unmetered + other.unmetered,
          shadowAllowed + other.shadowAllowed,
          shadowDenied + other.shadowDenied);
    }

    /** Whether it contains all that was decided earlier. */
    boolean contains(Decided earlier) {
      return allowed >= earlier.allowed
          && denied >= earlier.denied
          && unmetered >= earlier.unmetered
          && shadowAllowed >= earlier.shadowAllowed
          && shadowDenied >= earlier.shadowDenied;
    }
  }

  /** With a deadline that a busy machine keeps. */
  private Service service() {
    return Service.start(
        Settings.builder().port(0).storeName(redis.uri()).build(),
        Operators.of(AdminToken.of(TOKEN)),
        ReceiptKeys.ofProcess(),
        Stores.open(redis.uri(), LONG, 2, true, false, true, fault -> {}),
        RuleSource.fixed(RuleFiles.parse("rules.yaml", RULES)),
        new Meters());
  }

  @AfterEach
  void stop() {
    threads.shutdownNow();
    shop.close();
    two.close();
    one.close();
    redis.close();
  }

  @Test
  void theConsoleShowsTheSumOfTheMetricsOfAllNodes() throws Exception {
    String cookie = signIn();
    AtomicBoolean enough = new AtomicBoolean();
    List<Future<?>> loads = new ArrayList<>();
    for (Service service : List.of(one, two)) {
      loads.add(threads.submit(() -> repeat(enough, i -> check(service, i))));
    }
    loads.add(threads.submit(() -> repeat(enough, i -> shop.send("GET", "/catalogue/" + i))));

    for (int look = 0; look < LOOKS_UNDER_LOAD; look++) {
      Decided before = metrics();
      Until.within(LONG, "two summaries", () -> overview(cookie).contains(before));
      Decided shown = overview(cookie);
      assertThat(metrics().contains(shown)).as("nothing is counted twice: " + shown).isTrue();
    }
    enough.set(true);
    for (Future<?> load : loads) {
      load.get(LONG.toSeconds(), TimeUnit.SECONDS);
    }
    Decided all = metrics();
    Until.within(LONG, "the last summary", () -> overview(cookie).contains(all));

    assertThat(overview(cookie)).isEqualTo(all).isEqualTo(metrics());
    System.out.println("three nodes: " + all);
    assertThat(all.allowed).isPositive();
    assertThat(all.denied).isPositive();
    assertThat(all.shadowDenied).isPositive();
    assertThat(get(one, "/console/api/overview", cookie))
        .containsPattern("\"program\":\"service\".*\"program\":\"service\"")
        .contains("\"program\":\"spring\"");
  }

  /** One call of a load. */
  private interface Load {
    void call(int number);
  }

  private static void repeat(AtomicBoolean enough, Load load) {
    for (int i = 0; i < MOST_CALLS && !enough.get(); i++) {
      load.call(i);
    }
  }

  private void check(Service service, int i) {
    String body =
        "{\"rules\": [\"Api\", \"New\"], \"identity\": {\"login\": \"u%d\"}}".formatted(i / 10);
    HttpResponse<String> answer =
        send(
            request(service, "/v1/check")
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body)));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
  }

  // ---- What nodes have counted ----------------------------------------------------------------

  private Decided metrics() {
    return ofService(one).plus(ofService(two)).plus(ofShop());
  }

  private Decided ofService(Service service) {
    String text = get(service, "/metrics", "");
    return new Decided(
        sum(text, "sluice_decisions_total", "allowed"),
        sum(text, "sluice_decisions_total", "denied"),
        sum(text, "sluice_decisions_total", "unmetered"),
        sum(text, "sluice_shadow_decisions_total", "allowed"),
        sum(text, "sluice_shadow_decisions_total", "denied"));
  }

  private static long sum(String text, String meter, String outcome) {
    return text.lines()
        .filter(line -> line.startsWith(meter + "{"))
        .filter(line -> line.contains("outcome=\"" + outcome + "\""))
        .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  private Decided ofShop() {
    return new Decided(
        ofShop("sluice.decisions", "allowed"),
        ofShop("sluice.decisions", "denied"),
        ofShop("sluice.decisions", "unmetered"),
        ofShop("sluice.shadow.decisions", "allowed"),
        ofShop("sluice.shadow.decisions", "denied"));
  }

  private long ofShop(String meter, String outcome) {
    return (long)
        shop.bean(MeterRegistry.class).find(meter).tag("outcome", outcome).counters().stream()
            .mapToDouble(Counter::count)
            .sum();
  }

  // ---- The console ----------------------------------------------------------------------------

  private String signIn() {
    String set =
        send(request(one, "/console/api/session")
                .header("Content-Type", "application/json")
                .header("Sec-Fetch-Site", "same-origin")
                .POST(HttpRequest.BodyPublishers.ofString("{\"token\": \"" + TOKEN + "\"}")))
            .headers()
            .firstValue("set-cookie")
            .orElseThrow();
    return set.substring(0, set.indexOf(';'));
  }

  private Decided overview(String cookie) {
    String text = get(one, "/console/api/overview", cookie);
    Matcher totals = Pattern.compile("\"totals\":\\{([^}]*)\\}").matcher(text);
    assertThat(totals.find()).as(text).isTrue();
    return new Decided(
        number(totals.group(1), "allowed"),
        number(totals.group(1), "denied"),
        number(totals.group(1), "unmetered"),
        number(totals.group(1), "shadowAllowed"),
        number(totals.group(1), "shadowDenied"));
  }

  private static long number(String members, String name) {
    Matcher member = Pattern.compile("\"" + name + "\":(\\d+)").matcher(members);
    assertThat(member.find()).as(members).isTrue();
    return Long.parseLong(member.group(1));
  }

  private static HttpRequest.Builder request(Service service, String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + service.port() + path));
  }

  private String get(Service service, String path, String cookie) {
    HttpRequest.Builder request = request(service, path);
    HttpResponse<String> answer =
        send(cookie.isEmpty() ? request : request.header("Cookie", cookie));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return answer.body();
  }

  private HttpResponse<String> send(HttpRequest.Builder request) {
    try {
      return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
