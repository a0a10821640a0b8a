package dev.sluice.server;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** A small load on a service: up to 50 calls a second, some of which are denied. */
final class MonitoredLoad implements AutoCloseable {
  /** The requests that the service may handle at once; the steady load stays below. */
  static final int MOST_AT_ONCE = 16;

  static final String RULES =
      """
      rules:
        Api: {by: [key], limit: 12 per 5s}
        SignIn: {by: [login], limit: 3 per 1m, lock: 20s}
        Pay: {by: [account], limit: 1000 per 1m, onStoreFailure: allow}
        Tokens: {by: [key], limit: 200 per 1m}
        NewApi: {by: [key], limit: 8 per 5s, mode: shadow}
      """;

  private static final long PERIOD_MILLIS = 20;

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private final Semaphore free = new Semaphore(MOST_AT_ONCE / 2);
  private final Random random = new Random(7);
  private final URI check;
  private volatile boolean isGuessing;

  private MonitoredLoad(int port) {
    this.check = URI.create("http://127.0.0.1:" + port + "/v1/check");
  }

  static MonitoredLoad start(int port) {
    MonitoredLoad load = new MonitoredLoad(port);
    ScheduledFuture<?> unused =
        load.clock.scheduleAtFixedRate(load::next, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    return load;
  }

  /** Whether somebody tries passwords, more often than {@code SignIn} allows. */
  void guessPasswords(boolean guesses) {
    isGuessing = guesses;
  }

  /** Sends many more calls than the service may handle at once; waits for their answers. */
  void manyAtOnce() {
    CompletableFuture.allOf(
            IntStream.range(0, 5 * MOST_AT_ONCE)
                .mapToObj(i -> send(call("Pay", "account", "a" + i, "")))
                .toArray(CompletableFuture[]::new))
        .join();
  }

  /** One call, unless too many wait for an answer or it is a quiet moment. */
  private void next() {
    double busy = 0.7 + 0.3 * Math.sin(System.nanoTime() / 8e9);
    if (random.nextDouble() > busy || !free.tryAcquire()) {
      return;
    }
    String body = isGuessing && random.nextInt(3) == 0 ? guess() : usual();
    CompletableFuture<?> unused = send(body).whenComplete((answer, error) -> free.release());
  }

  private String guess() {
    return call("SignIn", "login", "victim" + random.nextInt(4), "");
  }

  private String usual() {
    int some = random.nextInt(20);
    if (some < 9) {
      return call("Api\",\"NewApi", "key", "k" + random.nextInt(6), "");
    } else if (some < 16) {
      return call("Pay", "account", "a" + random.nextInt(3), "");
    } else if (some < 18) {
      return call("SignIn", "login", "user" + random.nextInt(500), "");
    }
    String cost = ",\"intent\":\"record\",\"cost\":" + (20 + random.nextInt(60));
    return call("Tokens", "key", "k" + random.nextInt(2), cost);
  }

  private static String call(String rules, String facet, String value, String more) {
    return "{\"rules\":[\"%s\"],\"identity\":{\"%s\":\"%s\"}%s}"
        .formatted(rules, facet, value, more);
  }

  private CompletableFuture<HttpResponse<Void>> send(String body) {
    HttpRequest request =
        HttpRequest.newBuilder(check).POST(HttpRequest.BodyPublishers.ofString(body)).build();
    return client.sendAsync(request, HttpResponse.BodyHandlers.discarding());
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }
}
