package dev.sluice.server;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** The calls of a shop on its services, for the pictures of the console; about 150 a second. */
final class ConsoleTraffic implements AutoCloseable {
  /*
   * The day of the shop takes as long as the caller says. Customers call the API and people search all day, more in the
   * middle of each wave. At a quarter of the day somebody begins to try passwords; at 0.45 a job of the customer nightly-sync
   * runs away, and is stopped at 0.8. A crawler searches from the start. The same seed makes the same day.
   */

  /** The rules of the shop. */
  static final String RULES =
      """
      facets:
        ip: client-address
        login: {from: caller, normalize: [nfkc, trim, lowercase]}
        customer: caller
        plan: caller
      rules:
        SignIn:
          by: [login+ip]
          limit: 5 per 10m
          lock: [10m, 1h, 24h]
          lockOn: limit
        SignInAddress:
          by: [ip]
          limit: 60 per 10m
          lock: 30m
        PasswordReset:
          by: [login]
          limit: 3 per 30m
        Api:
          by: [customer]
          limits: [{token-bucket: {capacity: 40, refill: 4, per: 1s}}, 10000 per 1h precision 1m]
          overrides:
            - when: {plan: enterprise}
              limits: [{token-bucket: {capacity: 400, refill: 80, per: 1s}}]
            - when: {plan: pro}
              limits: [{token-bucket: {capacity: 120, refill: 20, per: 1s}}, 100000 per 1h precision 1m]
        Search:
          by: [ip]
          limit: 30 per 1m
        SearchStricter:
          by: [ip]
          limit: 12 per 1m
          mode: shadow
        Exports:
          by: everyone
          limit: 40 per 1m
      """;

  private record Customer(String name, String plan, int weight) {}

  private static final List<Customer> CUSTOMERS =
      List.of(
          new Customer("storefront", "enterprise", 30),
          new Customer("fleet-tracking", "enterprise", 18),
          new Customer("payroll", "pro", 12),
          new Customer("ticket-shop", "pro", 10),
          new Customer("nightly-sync", "pro", 6),
          new Customer("weather-app", "pro", 6),
          new Customer("hobby-bot", "free", 4),
          new Customer("travel-blog", "free", 3),
          new Customer("student-project", "free", 3),
          new Customer("regional-library-catalogue-search-prototype", "free", 1));
  private static final List<String> GUESSED =
      List.of("admin", "root", "ann", "test", "support", "info", "' or 1=1 --", "<img src=x>");
  private static final long PERIOD_MILLIS = 5;
  private static final int MOST_AT_ONCE = 64;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private final Semaphore free = new Semaphore(MOST_AT_ONCE);
  private final Random random = new Random(11);
  private final List<URI> checks;
  private final long began = System.nanoTime();
  private final double dayNanos;
  private final LongAdder calls = new LongAdder();

  private ConsoleTraffic(List<Integer> ports, int seconds) {
    this.checks =
        ports.stream().map(port -> URI.create("http://127.0.0.1:" + port + "/v1/check")).toList();
    this.dayNanos = seconds * 1e9;
  }

  /** Begins a day of so many seconds; what goes on at its end goes on until this is closed. */
  static ConsoleTraffic start(List<Integer> ports, int seconds) {
    ConsoleTraffic traffic = new ConsoleTraffic(ports, seconds);
    ScheduledFuture<?> unused =
        traffic.clock.scheduleAtFixedRate(traffic::next, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    return traffic;
  }

  /** How many calls were sent. */
  long calls() {
    return calls.sum();
  }

  /** What happens in a moment: each kind of call by its rate at this time of the day. */
  private void next() {
    double now = (System.nanoTime() - began) / dayNanos;
    double wave = 0.75 + 0.3 * Math.sin(now * 14) + 0.12 * Math.sin(now * 47);
    boolean attacked = (now > 0.25 && now < 0.7) || now > 0.9;
    boolean runsAway = now > 0.45 && now < 0.8;
    maybe(75 * wave, this::api);
    maybe(22 * wave, this::search);
    maybe(4 * wave, this::signIn);
    maybe(0.4, this::export);
    maybe(0.3, this::reset);
    maybe(now > 0.1 ? 5 : 1, this::crawl);
    maybe(attacked ? 14 : 0.4, this::guess);
    maybe(runsAway ? 55 + 25 * Math.sin(now * 60) : 0, this::runAway);
  }

  private void maybe(double perSecond, Runnable call) {
    if (random.nextDouble() < perSecond * PERIOD_MILLIS / 1_000) {
      call.run();
    }
  }

  private void api() {
    int at = random.nextInt(CUSTOMERS.stream().mapToInt(Customer::weight).sum());
    for (Customer customer : CUSTOMERS) {
      at -= customer.weight;
      if (at < 0) {
        send(List.of("Api"), Map.of("customer", customer.name, "plan", customer.plan));
        return;
      }
    }
  }

  private void runAway() {
    send(List.of("Api"), Map.of("customer", "nightly-sync", "plan", "pro"));
  }

  private void search() {
    searchFrom("198.51.100." + (1 + (int) (random.nextDouble() * random.nextDouble() * 250)));
  }

  private void crawl() {
    searchFrom("192.0.2.44");
  }

  private void searchFrom(String ip) {
    send(List.of("Search", "SearchStricter"), Map.of("ip", ip));
  }

  private void signIn() {
    signIn("user" + random.nextInt(4_000), "198.51.100." + random.nextInt(250));
  }

  /** One address tries many logins; a few others try one login. */
  private void guess() {
    if (random.nextInt(3) == 0) {
      signIn("admin", "203.0.113." + (10 + random.nextInt(6)));
    } else {
      String login = GUESSED.get(random.nextInt(GUESSED.size()));
      signIn(login, random.nextInt(4) == 0 ? "2001:db8:77::1" : "203.0.113.66");
    }
  }

  private void signIn(String login, String ip) {
    send(List.of("SignIn", "SignInAddress"), Map.of("login", login, "ip", ip));
  }

  private void export() {
    send(List.of("Exports"), Map.of());
  }

  private void reset() {
    send(List.of("PasswordReset"), Map.of("login", "user" + random.nextInt(20)));
  }

  /** Sends a call to one of the services, unless too many wait for an answer. */
  private void send(List<String> rules, Map<String, String> identity) {
    if (!free.tryAcquire()) {
      return;
    }
    calls.increment();
    URI check = checks.get(random.nextInt(5) < 3 ? 0 : checks.size() - 1);
    String body;
    try {
      body = JSON.writeValueAsString(Map.of("rules", rules, "identity", identity));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
    HttpRequest request =
        HttpRequest.newBuilder(check).POST(HttpRequest.BodyPublishers.ofString(body)).build();
    CompletableFuture<?> unused =
        client
            .sendAsync(request, HttpResponse.BodyHandlers.discarding())
            .whenComplete((answer, error) -> free.release());
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }
}
