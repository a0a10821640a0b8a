package dev.sluice.server.commands;

import dev.sluice.RuleSource;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.HeaderProfile;
import dev.sluice.internal.Durations;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.source.FileRules;
import dev.sluice.server.Service;
import dev.sluice.server.Stores;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.health.HealthRoutes;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Settings;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ./sluice serve}: runs the service until it is told to stop. */
@Command(
    name = "serve",
    description = "Runs the service. Each option can also be given as SLUICE_<OPTION>.",
    sortOptions = false,
    showDefaultValues = true,
    mixinStandardHelpOptions = true,
    defaultValueProvider = FromEnvironment.class)
public final class ServeCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(names = "--port", paramLabel = "N", description = "0 for any free port")
  private int port = 8080;

  @Option(names = "--rules", paramLabel = "FILE", description = "default: a sample")
  private @Nullable Path rules;

  @Option(names = "--store", paramLabel = "STORE", description = "memory, or redis://host:port")
  private String store = "memory";

  @Option(
      names = "--admin-token",
      paramLabel = "TOKEN",
      description = "what operators must show, 16 characters or more; default: a new one, printed")
  private @Nullable String adminToken;

  @Option(names = "--host", paramLabel = "ADDRESS", description = "0.0.0.0 for everywhere")
  private String host = "127.0.0.1";

  @Option(
      names = "--trusted-proxies",
      split = ",",
      paramLabel = "CIDR",
      description = "whose X-Forwarded-For is believed; default: nobody's")
  private @Nullable List<String> trustedProxies;

  @Option(
      names = "--headers",
      paramLabel = "PROFILE",
      description = "of the gate: x-ratelimit, draft-11, both or none")
  private String headers = "both";

  @Option(names = "--log", paramLabel = "FORMAT", description = "plain or json; on stderr")
  private String log = "plain";

  @Option(
      names = "--store-deadline",
      defaultValue = "500ms",
      paramLabel = "DURATION",
      converter = DurationOption.class,
      description =
          "how long a decision waits for Redis; after that the rule's onStoreFailure decides")
  private Duration storeDeadline = Duration.ofMillis(500);

  @Option(
      names = "--nodes",
      paramLabel = "N",
      description =
          "services that share the limits; in an outage of Redis each counts its part (local)")
  private int nodes = 1;

  @Option(
      names = "--require-store",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "true|false",
      description =
          "do not start if Redis is away; without it, onStoreFailure decides until it is there")
  private boolean requireStore;

  @Option(
      names = "--functions",
      paramLabel = "on|off",
      description = "off: decisions go by EVALSHA, also where Redis has functions")
  private String functions = "on";

  @Option(
      names = "--receipt-key-file",
      paramLabel = "FILE",
      description =
          "64 hex digits that seal receipts; default: a random key, shared through Redis if there is one")
  private @Nullable Path receiptKeyFile;

  @Option(
      names = "--forwarded-header",
      paramLabel = "HEADER",
      description = "what trusted proxies write: x-forwarded-for or forwarded")
  private String forwardedHeader = "x-forwarded-for";

  @Option(
      names = "--ipv6-prefix",
      paramLabel = "BITS",
      description = "how much of an IPv6 address is one client")
  private int ipv6Prefix = 64;

  @Option(names = "--max-connections", paramLabel = "N")
  private int maxConnections = 10_000;

  @Option(
      names = "--max-in-flight",
      paramLabel = "N",
      description = "requests in work at once; one more is answered 503")
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
      description = "after SIGTERM: how long to be not ready and still take new connections")
  private Duration drainDelay = Duration.ZERO;

  @Option(
      names = "--drain-timeout",
      defaultValue = "4s",
      paramLabel = "DURATION",
      converter = DurationOption.class,
      description = "after the drain delay: how long to wait for what is in work")
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
    AdminToken token = adminToken == null ? AdminToken.random() : AdminToken.of(adminToken);
    RuleSource source = source();
    Meters meters = new Meters();
    Store opened = open(meters);
    ReceiptKeys keys = Stores.receiptKeys(store, receiptKeyFile);
    Service service = Service.start(settings, token, keys, opened, source, meters);
    boolean made = adminToken == null;
    Path tokenFile = AdminToken.file(service.port());
    boolean kept = made && keep(token, tokenFile);
    CountDownLatch stopped = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(service, token, tokenFile, kept)));
    greet(service, token, made, kept ? tokenFile : null, startNanos);
    stopped.await();
    return 0;
  }

  private Store open(Meters meters) {
    try {
      return Stores.open(
          store, storeDeadline, nodes, functions.equals("on"), requireStore, meters::failed);
    } catch (StoreException away) {
      throw new IllegalStateException(
          "not started, because of --require-store: " + away.getMessage(), away);
    }
  }

  private Settings settings() {
    try {
      if (!List.of("plain", "json").contains(log)) {
        throw new IllegalArgumentException("log: '" + log + "' (expected: plain or json)");
      }
      System.setProperty("logback.configurationFile", "dev/sluice/server/log-" + log + ".xml");
      if (!List.of("on", "off").contains(functions)) {
        throw new IllegalArgumentException("functions: '" + functions + "' (expected: on or off)");
      }
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
      return new Settings(
          host,
          port,
          ClientAddress.trusting(
              trustedProxies == null ? List.of() : trustedProxies,
              ClientAddress.Trail.parse(forwardedHeader),
              ipv6Prefix),
          InstantSource.system(),
          HeaderProfile.parse(headers),
          maxConnections,
          maxInFlight,
          maxRequestBytes,
          requestTimeout,
          drainDelay,
          drainTimeout);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
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
          .println("sluice: the token could not be kept in " + file + ": " + e);
      return false;
    }
  }

  /** Runs when the JVM is told to end; a service that was stopped in good order exits with 0. */
  private void stop(Service service, AdminToken token, Path tokenFile, boolean kept) {
    int status = 0;
    try {
      service.close();
      if (kept) {
        token.removeFrom(tokenFile);
      }
    } catch (IOException | RuntimeException e) {
      spec.commandLine().getErr().println("sluice: did not stop in good order: " + e);
      status = 1;
    }
    Runtime.getRuntime().halt(status);
  }

  private void greet(
      Service service, AdminToken token, boolean made, @Nullable Path tokenFile, long startNanos) {
    PrintWriter out = spec.commandLine().getOut();
    boolean everywhere = host.equals("0.0.0.0") || host.equals("::");
    String shownHost = everywhere ? "127.0.0.1" : host.contains(":") ? "[" + host + "]" : host;
    String url = "http://" + shownHost + ":" + service.port();
    out.printf("Sluice listens on %s%s%n", url, everywhere ? " and every other address" : "");
    out.printf(
        "  store   %s%s%n",
        Stores.shown(store), store.equals("memory") ? " (forgets at the end)" : "");
    out.printf(
        "  rules   %d from %s%n",
        service.limiter().rules().size(),
        rules == null ? "sample-rules.yaml, a sample that comes with Sluice" : rules);
    if (made) {
      out.printf(
          "  token   %s%s%n",
          token.text(), tokenFile == null ? "" : "  (kept in " + tokenFile + ")");
    }
    out.printf("  ready   after %d ms%n", (System.nanoTime() - startNanos) / 1_000_000);
    String elsewhere = url.equals(Remote.DEFAULT_URL) ? "" : " --url " + url;
    out.printf("%nTry:  %s%n", example(url));
    out.printf("      ./sluice locks list%s%n", elsewhere);
    out.flush();
  }

  private String example(String url) {
    return rules == null
        ? "curl -i " + url + "/v1/gate/Everyone"
        : "curl -s " + url + "/health/ready";
  }
}
