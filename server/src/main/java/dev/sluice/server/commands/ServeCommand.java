package dev.sluice.server.commands;

import dev.sluice.RuleSource;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.HeaderProfile;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Text;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.source.FileRules;
import dev.sluice.server.Service;
import dev.sluice.server.Stores;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.HealthRoutes;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ./sluice serve}: runs the service until SIGTERM or Ctrl-C. */
@Command(
    name = "serve",
    description = "Runs the service. Each option has an environment variable SLUICE_<OPTION>.",
    sortOptions = false,
    showDefaultValues = true,
    mixinStandardHelpOptions = true,
    defaultValueProvider = FromEnvironment.class)
final class ServeCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--port",
      paramLabel = "N",
      description = "port to listen on; 0 for any free port")
  private int port = 8080;

  @Option(
      names = "--rules",
      paramLabel = "FILE",
      description = "rule file, reloaded when it changes; default: sample rules")
  private @Nullable Path rules;

  @Option(names = "--store", paramLabel = "STORE", description = "memory, or redis://host:port")
  private String store = "memory";

  @Option(
      names = "--admin-token",
      paramLabel = "TOKEN",
      description =
          "secret for the admin API, 16 characters or more; default: a random one, printed, unless there are --operators")
  private @Nullable String adminToken;

  @Option(
      names = "--operators",
      paramLabel = "FILE",
      description =
          "operators with their names, tokens and certificates, reloaded when it changes; then there is no random admin token")
  private @Nullable Path operators;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description =
          "certificate and those that signed it, PEM, reloaded when it changes; HTTPS only")
  private @Nullable Path tlsCert;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      description = "private key of the certificate, PEM (PKCS#8), reloaded when it changes")
  private @Nullable Path tlsKey;

  @Option(
      names = "--tls-client-ca",
      paramLabel = "FILE",
      description =
          "authorities that sign client certificates of operators, PEM, reloaded when it changes")
  private @Nullable Path tlsClientCa;

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      description = "address to listen on; 0.0.0.0 for all")
  private String host = "127.0.0.1";

  @Option(
      names = "--trusted-proxies",
      split = ",",
      paramLabel = "CIDR",
      description = "proxies whose X-Forwarded-For is trusted; default: none")
  private @Nullable List<String> trustedProxies;

  @Option(
      names = "--headers",
      paramLabel = "PROFILE",
      description = "rate-limit headers of /v1/gate: x-ratelimit, draft-11, both or none")
  private String headers = "both";

  @Option(
      names = "--log",
      paramLabel = "FORMAT",
      description = "log format: plain or json; on stderr")
  private String log = "plain";

  @Option(
      names = "--store-deadline",
      defaultValue = "500ms",
      paramLabel = "DURATION",
      converter = DurationOption.class,
      description = "timeout for Redis; after it, the rule's onStoreFailure decides")
  private Duration storeDeadline = Duration.ofMillis(500);

  @Option(
      names = "--nodes",
      paramLabel = "N",
      description =
          "number of services that share the limits; in an outage of Redis each grants its share (local)")
  private int nodes = 1;

  @Option(
      names = "--require-store",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "true|false",
      description =
          "fail to start if Redis does not answer; if false, onStoreFailure decides until it does")
  private boolean requireStore;

  @Option(
      names = "--functions",
      paramLabel = "on|off",
      description = "off: use EVALSHA, also where Redis supports functions")
  private String functions = "on";

  @Option(
      names = "--console",
      paramLabel = "on|off",
      description = "the console in the browser, at /")
  private String console = "on";

  @Option(
      names = "--reports",
      paramLabel = "on|off",
      description = "on: share a summary of the decisions every two seconds, for the console")
  private String reports = "on";

  @Option(
      names = "--receipt-key-file",
      paramLabel = "FILE",
      description =
          "key that signs receipts, 64 hex digits; default: a random key, shared through Redis if it is the store")
  private @Nullable Path receiptKeyFile;

  @Option(
      names = "--forwarded-header",
      paramLabel = "HEADER",
      description = "header that trusted proxies set: x-forwarded-for or forwarded")
  private String forwardedHeader = "x-forwarded-for";

  @Option(
      names = "--ipv6-prefix",
      paramLabel = "BITS",
      description = "IPv6 addresses with the same prefix of this length are one client")
  private int ipv6Prefix = 64;

  @Option(names = "--max-connections", paramLabel = "N")
  private int maxConnections = 10_000;

  @Option(
      names = "--max-in-flight",
      paramLabel = "N",
      description = "most requests at a time; further ones are answered 503")
  private int maxInFlight = 10_000;

  @Option(names = "--max-request-bytes", paramLabel = "N")
  private int maxRequestBytes = 262_144;

  @Option(
      names = "--request-timeout",
      defaultValue = "10s",
      paramLabel = "DURATION",
      converter = DurationOption.class)
  private Duration requestTimeout = Duration.ofSeconds(10);

  @Option(
      names = "--drain-delay",
      defaultValue = "0s",
      paramLabel = "DURATION",
      converter = DurationOption.class,
      description = "after SIGTERM: how long to report not ready while still accepting connections")
  private Duration drainDelay = Duration.ZERO;

  @Option(
      names = "--drain-timeout",
      defaultValue = "4s",
      paramLabel = "DURATION",
      converter = DurationOption.class,
      description = "after the drain delay: how long to wait for requests in progress")
  private Duration drainTimeout = Duration.ofSeconds(4);

  /** Reads {@code 10s}. */
  static final class DurationOption implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
      return text.equals("0") ? Duration.ZERO : Durations.parse(text);
    }
  }

  @Override
  public Integer call() throws Exception {
    long startNanos = System.nanoTime();
    Settings settings = settings();
    boolean made = adminToken == null && operators == null;
    AdminToken token =
        made ? AdminToken.random() : adminToken == null ? null : AdminToken.of(adminToken);
    RuleSource source = source();
    Operators allowed = allowed(token);
    Meters meters = new Meters();
    Store opened = open(meters);
    ReceiptKeys keys = Stores.receiptKeys(store, receiptKeyFile);
    Service service = Service.start(settings, allowed, keys, opened, source, meters);
    Path tokenFile = AdminToken.file(service.port());
    AdminToken random = made ? token : null;
    AdminToken kept = random != null && keep(random, tokenFile) ? random : null;
    CountDownLatch stopped = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(service, kept, tokenFile)));
    greet(service, random, kept == null ? null : tokenFile, startNanos);
    stopped.await();
    return 0;
  }

  private Operators allowed(@Nullable AdminToken token) {
    if (operators != null) {
      return Operators.follow(operators, token, tlsClientCa != null);
    }
    return Operators.of(Objects.requireNonNull(token));
  }

  private @Nullable TlsFiles tls() {
    if (tlsClientCa != null && operators == null) {
      throw new IllegalArgumentException(
          "tls-client-ca: without --operators, it lets nobody in (expected: --operators FILE with the subjects of certificates)");
    }
    if (tlsCert != null && tlsKey != null) {
      return new TlsFiles(tlsCert, tlsKey, tlsClientCa);
    }
    if (tlsCert != null || tlsKey != null || tlsClientCa != null) {
      throw new IllegalArgumentException(
          "%s: without %s (expected: both --tls-cert and --tls-key)"
              .formatted(
                  tlsCert != null ? "tls-cert" : tlsKey != null ? "tls-key" : "tls-client-ca",
                  tlsCert == null ? "--tls-cert" : "--tls-key"));
    }
    return null;
  }

  private Store open(Meters meters) {
    try {
      return Stores.open(
          store,
          storeDeadline,
          nodes,
          functions.equals("on"),
          requireStore,
          reports.equals("on"),
          meters::failed);
    } catch (StoreException away) {
      throw new IllegalStateException(
          "not started, because --require-store is set and Redis does not answer: "
              + away.getMessage(),
          away);
    }
  }

  private Settings settings() {
    try {
      if (!List.of("plain", "json").contains(log)) {
        throw new IllegalArgumentException("log: '" + log + "' (expected: plain or json)");
      }
      System.setProperty("logback.configurationFile", "dev/sluice/server/log-" + log + ".xml");
      checkSwitch("functions", functions);
      checkSwitch("console", console);
      checkSwitch("reports", reports);
      if (port < 0 || port > 65_535) {
        throw new IllegalArgumentException("port: " + port + " (expected: 0 to 65535)");
      }
      if (nodes < 1) {
        throw new IllegalArgumentException("nodes: " + nodes + " (expected: at least 1)");
      }
      if (maxRequestBytes < Settings.SMALLEST_REQUEST_BOUND) {
        throw new IllegalArgumentException(
            "max-request-bytes: %,d (expected: at least %,d, for the largest call)"
                .formatted(maxRequestBytes, Settings.SMALLEST_REQUEST_BOUND));
      }
      return Settings.builder()
          .storeName(Text.withoutPassword(store))
          .rulesName(rules == null ? "sample-rules.yaml" : rules.toString())
          .console(console.equals("on"))
          .reports(reports.equals("on"))
          .host(host)
          .port(port)
          .tls(tls())
          .client(
              ClientAddress.trusting(
                  trustedProxies == null ? List.of() : trustedProxies,
                  ClientAddress.Trail.parse(forwardedHeader),
                  ipv6Prefix))
          .headers(HeaderProfile.parse(headers))
          .mostConnections(maxConnections)
          .mostInFlight(maxInFlight)
          .mostRequestBytes(maxRequestBytes)
          .requestTimeout(requestTimeout)
          .drainDelay(drainDelay)
          .drainTimeout(drainTimeout)
          .build();
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }

  private static void checkSwitch(String name, String value) {
    if (!List.of("on", "off").contains(value)) {
      throw new IllegalArgumentException("%s: '%s' (expected: on or off)".formatted(name, value));
    }
  }

  private RuleSource source() {
    return rules == null
        ? RuleSource.fixed(
            RuleFiles.parse("sample-rules.yaml", HealthRoutes.resource("sample-rules.yaml")))
        : FileRules.watch(rules);
  }

  private boolean keep(AdminToken token, Path file) {
    try {
      token.writeTo(file);
      return true;
    } catch (IOException e) {
      spec.commandLine()
          .getErr()
          .println("sluice: cannot write the admin token to " + file + ": " + e);
      return false;
    }
  }

  /** Runs at JVM shutdown; exits with 0 if the service stopped without an error. */
  private void stop(Service service, @Nullable AdminToken kept, Path tokenFile) {
    int status = 0;
    try {
      service.close();
      if (kept != null) {
        kept.removeFrom(tokenFile);
      }
    } catch (IOException | RuntimeException e) {
      spec.commandLine().getErr().println("sluice: error while stopping: " + e);
      status = 1;
    }
    Runtime.getRuntime().halt(status);
  }

  private void greet(
      Service service, @Nullable AdminToken random, @Nullable Path tokenFile, long startNanos) {
    PrintWriter out = spec.commandLine().getOut();
    boolean everywhere = host.equals("0.0.0.0") || host.equals("::");
    String shownHost = everywhere ? "127.0.0.1" : host.contains(":") ? "[" + host + "]" : host;
    String url = service.scheme() + "://" + shownHost + ":" + service.port();
    out.printf("Sluice listens on %s%s%n", url, everywhere ? " and every other address" : "");
    out.printf(
        "  store    %s%s%n",
        Text.withoutPassword(store),
        store.equals("memory") ? " (lost when the service stops)" : "");
    out.printf(
        "  rules    %d from %s%n",
        service.limiter().rules().size(),
        rules == null ? "sample-rules.yaml, the sample rules of Sluice" : rules);
    if (random != null) {
      out.printf(
          "  token    %s%s%n",
          random.text(), tokenFile == null ? "" : "  (also in " + tokenFile + ")");
    }
    if (console.equals("on")) {
      out.printf("  console  %s/  (sign in with %s)%n", url, tokenInWords(random));
    }
    out.printf("  ready    after %d ms%n", (System.nanoTime() - startNanos) / 1_000_000);
    String elsewhere = url.equals(Remote.DEFAULT_URL) ? "" : " --url " + url;
    out.printf("%nTry:  %s%n", example(url));
    out.printf("      ./sluice locks list%s%n", elsewhere);
    if (tokenFile == null) {
      out.printf(
          "      (commands need %s: set SLUICE_ADMIN_TOKEN, or give --token)%n",
          tokenInWords(random));
    }
    out.flush();
  }

  private String tokenInWords(@Nullable AdminToken printed) {
    return printed != null
        ? "the token"
        : adminToken == null ? "the token of an operator" : "the admin token";
  }

  private String example(String url) {
    return rules == null
        ? "curl -i " + url + "/v1/gate/Everyone"
        : "curl -s " + url + "/health/ready";
  }
}
