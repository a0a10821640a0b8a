package dev.sluice.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.memory.MemoryStore;
import dev.sluice.rules.RuleFiles;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.HealthRoutes;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import dev.sluice.store.Store;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A service in this JVM on a free port, on the memory store with rules for tests. */
public final class Sluice implements AutoCloseable {
  public static final String TOKEN = "a-token-for-tests";

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Service service;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private Sluice(Service service) {
    this.service = service;
  }

  static Sluice start() {
    return start(Settings.defaults());
  }

  static Sluice start(Settings settings) {
    return start(settings, sample());
  }

  /** Settings with timeouts that a busy machine keeps. */
  static Settings patient(int mostInFlight) {
    return Settings.builder()
        .mostInFlight(mostInFlight)
        .requestTimeout(Duration.ofMinutes(2))
        .build();
  }

  /** The rules of the tests; the sample that ships may change without them. */
  static String sample() {
    return new String(HealthRoutes.resource("test-rules.yaml"), StandardCharsets.UTF_8);
  }

  /** The sample that ships. */
  static String shippedSample() {
    return new String(HealthRoutes.resource("sample-rules.yaml"), StandardCharsets.UTF_8);
  }

  /** One that waits for its store as long as that takes. */
  static Sluice start(Store store) {
    return start(patient(10_000), sample(), store);
  }

  static Sluice start(Settings settings, String rules) {
    return start(settings, rules, MemoryStore.create());
  }

  static Sluice start(Settings settings, String rules, Store store) {
    return start(settings, rules, store, new Meters());
  }

  static Sluice start(Settings settings, String rules, Store store, Meters meters) {
    return start(settings, rules, store, meters, ReceiptKeys.ofProcess());
  }

  static Sluice start(
      Settings settings, String rules, Store store, Meters meters, ReceiptKeys keys) {
    return start(settings, rules, store, meters, keys, Operators.of(AdminToken.of(TOKEN)));
  }

  static Sluice start(
      Settings settings,
      String rules,
      Store store,
      Meters meters,
      ReceiptKeys keys,
      Operators operators) {
    return new Sluice(
        Service.start(stoppingAtOnce(settings), operators, keys, store, fixed(rules), meters));
  }

  /**
   * A service waits for a second without requests before it stops. Tests wait for that only if
   * their settings say how long.
   */
  private static Settings stoppingAtOnce(Settings settings) {
    return settings.drainTimeout().equals(Settings.defaults().drainTimeout())
        ? settings.toBuilder().drainTimeout(Duration.ZERO).build()
        : settings;
  }

  private static RuleSource fixed(String rules) {
    return RuleSource.fixed(RuleFiles.parse("rules.yaml", rules));
  }

  /** One whose newest rules were refused with this message; those before them are in force. */
  static Sluice startWithRefusedRules(
      Settings settings, String rules, String message, Store store) {
    RuleSource known = fixed(rules);
    RuleSource.Failure failure = new RuleSource.Failure(Instant.now(), message);
    RuleSource source =
        new RuleSource() {
          @Override
          public Rules rules() {
            return known.rules();
          }

          @Override
          public Optional<Failure> failure() {
            return Optional.of(failure);
          }
        };
    return new Sluice(
        Service.start(
            stoppingAtOnce(settings),
            Operators.of(AdminToken.of(TOKEN)),
            ReceiptKeys.ofProcess(),
            store,
            source,
            new Meters()));
  }

  public Service service() {
    return service;
  }

  public String url() {
    return service.scheme() + "://127.0.0.1:" + service.port();
  }

  /** A request to a path; add to it, then {@link #send}. */
  public HttpRequest.Builder request(String method, String path) {
    return HttpRequest.newBuilder(URI.create(url() + path))
        .method(method, HttpRequest.BodyPublishers.noBody());
  }

  public HttpRequest.Builder admin(String method, String path) {
    return request(method, path).header("Authorization", "Bearer " + TOKEN);
  }

  Answer post(String path, String body) {
    return post(path, body.getBytes(StandardCharsets.UTF_8));
  }

  Answer post(String path, byte[] body) {
    return send(request("POST", path).POST(HttpRequest.BodyPublishers.ofByteArray(body)));
  }

  public Answer get(String path) {
    return send(request("GET", path));
  }

  public Answer send(HttpRequest.Builder request) {
    try {
      HttpResponse<String> response =
          client.send(request.build(), HttpResponse.BodyHandlers.ofString());
      return new Answer(response);
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  public CompletableFuture<Answer> sendAsync(HttpRequest.Builder request) {
    return client
        .sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
        .thenApply(Answer::new);
  }

  /** What came back. */
  public record Answer(HttpResponse<String> response) {
    public int status() {
      return response.statusCode();
    }

    public String header(String name) {
      return response.headers().firstValue(name).orElse("(none)");
    }

    public JsonNode json() {
      try {
        return MAPPER.readTree(response.body());
      } catch (IOException e) {
        throw new AssertionError(response.body(), e);
      }
    }

    public List<String> errors() {
      List<String> errors = new ArrayList<>();
      json().path("errors").forEach(error -> errors.add(error.asText()));
      return errors;
    }
  }

  @Override
  public void close() {
    service.close();
  }
}
