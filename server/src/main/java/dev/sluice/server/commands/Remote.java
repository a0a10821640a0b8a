package dev.sluice.server.commands;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.Identity;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Text;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Audit;
import dev.sluice.server.api.DecisionJson;
import dev.sluice.server.tls.ClientTls;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The client of a running service, and the options that its commands share. */
public final class Remote {
  static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  static final String DEFAULT_URL = "http://127.0.0.1:8080";

  @Option(
      names = "--url",
      defaultValue = DEFAULT_URL,
      description = "where the service listens (default: ${DEFAULT-VALUE})")
  private String url = DEFAULT_URL;

  @Option(
      names = "--token",
      description =
          "admin token of the service (default: SLUICE_ADMIN_TOKEN, else the file that a local service wrote)")
  private @Nullable String token;

  @Option(
      names = "--ca",
      paramLabel = "FILE",
      description =
          "authorities that sign the certificate of the service, PEM (default: those of Java)")
  private @Nullable Path ca;

  @Option(
      names = "--client-cert",
      paramLabel = "FILE",
      description = "client certificate of an operator, PEM; instead of a token")
  private @Nullable Path clientCert;

  @Option(
      names = "--client-key",
      paramLabel = "FILE",
      description = "private key of the client certificate, PEM (PKCS#8)")
  private @Nullable Path clientKey;

  /** The source of the token that was sent; null if there was none. */
  private @Nullable String tokenSource;

  @Option(names = "--json", description = "print the JSON answer of the service")
  private boolean json;

  boolean wantsJson() {
    return json;
  }

  /** Sends a request and returns its answer; throws {@link Refused} if the status is not 2xx. */
  JsonNode send(String method, String path, @Nullable JsonNode body) throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(target(path))
            .timeout(TIMEOUT)
            .header("Content-Type", "application/json")
            .header(Audit.USER_HEADER, user())
            .method(
                method,
                body == null
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofByteArray(MAPPER.writeValueAsBytes(body)));
    String shown = findToken();
    if (shown != null) {
      request.header("Authorization", "Bearer " + shown);
    }
    return answer(request.build());
  }

  private JsonNode answer(HttpRequest request) throws IOException {
    HttpResponse<byte[]> response;
    try {
      response = client().send(request, HttpResponse.BodyHandlers.ofByteArray());
    } catch (ConnectException e) {
      throw new Refused(
          List.of(
              "no service at " + url + " (start one: ./sluice serve; or give its address: --url)"),
          e);
    } catch (SSLException e) {
      throw new Refused(
          List.of(
              "%s: no TLS connection: %s (expected: a certificate for this host, signed by an authority of --ca or of Java)"
                  .formatted(url, e.getMessage())),
          e);
    } catch (HttpTimeoutException e) {
      throw new Refused(List.of(url + ": no answer within " + Durations.format(TIMEOUT)), e);
    } catch (IOException e) {
      throw new Refused(
          List.of(
              "%s: no HTTP answer: %s (expected: https:// if the service has --tls-cert)"
                  .formatted(url, e.getMessage())),
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
    JsonNode answer;
    try {
      answer = MAPPER.readTree(response.body());
    } catch (IOException e) {
      throw new Refused(
          List.of(
              "%s answered %d, without JSON (expected: the address of a Sluice service)"
                  .formatted(url, response.statusCode())),
          e);
    }
    if (response.statusCode() / 100 == 2) {
      return answer;
    }
    throw new Refused(errors(response.statusCode(), answer), null);
  }

  private HttpClient client() {
    HttpClient.Builder client =
        HttpClient.newBuilder().connectTimeout(TIMEOUT).version(HttpClient.Version.HTTP_1_1);
    if (ca != null || clientCert != null || clientKey != null) {
      client.sslContext(ClientTls.context(ca, clientCert, clientKey));
    }
    return client.build();
  }

  private List<String> errors(int status, JsonNode answer) {
    List<String> errors = new ArrayList<>();
    answer.path("errors").forEach(error -> errors.add(error.asText()));
    if (status == 401) {
      errors.add(
          tokenSource == null
              ? "pass the token with --token or SLUICE_ADMIN_TOKEN; the service printed it when it started"
              : "the token came from %s; the service printed the right one when it started"
                  .formatted(tokenSource));
    }
    return errors.isEmpty() ? List.of(url + " answered " + status) : errors;
  }

  private URI target(String path) {
    try {
      URI base = URI.create(url);
      if (!List.of("http", "https").contains(String.valueOf(base.getScheme()))) {
        throw new IllegalArgumentException("not an HTTP URL");
      }
      return URI.create(url.replaceFirst("/+$", "") + path);
    } catch (IllegalArgumentException e) {
      throw new Refused(
          List.of("url: %s (expected: such as http://127.0.0.1:8080)".formatted(Text.quoted(url))),
          e);
    }
  }

  private @Nullable String findToken() throws IOException {
    if (token != null) {
      tokenSource = "--token";
      return token;
    }
    String variable = System.getenv("SLUICE_ADMIN_TOKEN");
    if (variable != null) {
      tokenSource = "SLUICE_ADMIN_TOKEN";
      return variable;
    }
    if (clientCert != null) {
      return null; // a token would be judged instead of the certificate
    }
    URI base = URI.create(url);
    boolean here =
        base.getHost() != null && InetAddress.getByName(base.getHost()).isLoopbackAddress();
    if (!here) {
      return null; // a token of this machine is never sent to another
    }
    Path file = AdminToken.file(base.getPort());
    String left = AdminToken.readFrom(file).orElse(null);
    tokenSource = left == null ? null : file.toString();
    return left;
  }

  private static String user() {
    String name = System.getProperty("user.name", "");
    return name.chars().allMatch(c -> c > ' ' && c < 0x7f) && !name.isEmpty() ? name : "somebody";
  }

  /** The service refused a command, or could not be reached. */
  static final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Refused(List<String> errors, @Nullable Throwable cause) {
      super(String.join("\nsluice: ", errors), cause);
    }
  }

  /** The facets of an identity, given as {@code login=ann} or as commands print them. */
  static Map<String, String> facets(@Nullable List<String> given) {
    Map<String, String> facets = new LinkedHashMap<>();
    for (String text : given == null ? List.<String>of() : given) {
      facetsOf(text)
          .forEach(
              (name, value) -> {
                if (facets.put(name, value) != null) {
                  throw new Refused(
                      List.of("facet %s: given twice".formatted(Text.quoted(name))), null);
                }
              });
    }
    return facets;
  }

  /**
   * The facets in one argument. Commands print several facets joined by {@code &}, special
   * characters as {@code %40} and hashes as {@code %02…}. Text that is not of this form is taken
   * literally.
   */
  private static Map<String, String> facetsOf(String text) {
    int equals = text.indexOf('=');
    if (equals < 1) {
      throw new Refused(
          List.of("identity: %s (expected: such as login=ann)".formatted(Text.quoted(text))), null);
    }
    Map<String, String> literally = Map.of(text.substring(0, equals), text.substring(equals + 1));
    boolean isWhole = text.startsWith("identity=") && text.indexOf('=', equals + 1) >= 0;
    try {
      return isWhole ? literally : Identity.parse(text).facets();
    } catch (IllegalArgumentException e) {
      return literally;
    }
  }

  /**
   * The facets of a call. It needs the values themselves: a hash names an account, not a caller.
   */
  static Map<String, String> callerFacets(@Nullable List<String> given) {
    Map<String, String> facets = facets(given);
    facets.forEach(
        (name, value) -> {
          if (value.startsWith("\u0002")) {
            throw new Refused(
                List.of(
                    "facet '%s': a hash (expected: the value itself; accounts show takes the hash)"
                        .formatted(name)),
                null);
          }
        });
    return facets;
  }

  /** A path with a rule and the facets of an identity. */
  static String path(String route, String rule, @Nullable List<String> identity) {
    StringBuilder path = new StringBuilder(route).append('/').append(encoded(rule));
    facets(identity)
        .forEach(
            (name, value) ->
                path.append(path.indexOf("?") < 0 ? '?' : '&')
                    .append(encoded(name))
                    .append('=')
                    .append(encoded(DecisionJson.shown(value))));
    return path.toString();
  }

  public static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
