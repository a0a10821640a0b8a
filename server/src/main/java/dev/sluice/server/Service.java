package dev.sluice.server;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.Limiter;
import dev.sluice.RuleSource;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Stages;
import dev.sluice.rules.source.KeptOverrides;
import dev.sluice.server.admin.AdminRoutes;
import dev.sluice.server.admin.Audit;
import dev.sluice.server.admin.Doorkeeper;
import dev.sluice.server.admin.OperatorData;
import dev.sluice.server.admin.OperatorRoute;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.admin.OverrideRoutes;
import dev.sluice.server.admin.RuleChanges;
import dev.sluice.server.api.CallerFacets;
import dev.sluice.server.api.DecisionRoutes;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.api.Receipts;
import dev.sluice.server.console.ConsoleRoutes;
import dev.sluice.server.health.HealthRoutes;
import dev.sluice.server.health.Meters;
import dev.sluice.server.http.Body;
import dev.sluice.server.http.Door;
import dev.sluice.server.http.ErrorResponses;
import dev.sluice.server.http.Framing;
import dev.sluice.server.http.Intake;
import dev.sluice.server.http.ProblemInHeader;
import dev.sluice.server.http.Settings;
import dev.sluice.server.http.WholeAnswer;
import dev.sluice.server.tls.Certificates;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import dev.sluice.traffic.Reporter;
import dev.sluice.traffic.Traffic;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The HTTP service around a store and rules. Closing it drains it, then closes both. */
public final class Service implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("sluice.service");

  /** What is still to be written when everything has been answered. */
  private static final Duration LAST_BYTES = Duration.ofMillis(500);

  /** How long a body may go on after its answer; cut off at once, clients may miss the answer. */
  private static final Duration LATE_BODY = Duration.ofSeconds(1);

  private final Settings settings;
  private final Operators operators;
  private final @Nullable Certificates certificates;
  private final Doorkeeper doorkeeper;
  private final ReceiptKeys keys;
  private final KeptOverrides overrides;
  private final @Nullable Reporter reporter;
  private final RuleChanges ruleChanges;
  private final @Nullable ConsoleRoutes console;
  private final Limiter limiter;
  private final Meters meters;
  private final Intake intake;

  private final Door door = new Door();

  private final Server server;

  private Service(
      Settings settings,
      Operators operators,
      ReceiptKeys keys,
      Store store,
      RuleSource rules,
      Meters meters) {
    this.settings = settings;
    this.operators = operators;
    this.certificates = settings.tls().map(Certificates::follow).orElse(null);
    this.doorkeeper = new Doorkeeper(operators, certificates, settings.client(), settings.clock());
    this.keys = keys;
    this.overrides = KeptOverrides.follow(store.sharedData(), UUID.randomUUID().toString());
    RuleSource inForce = overrides.over(rules);
    Limiter.Builder limiting = Limiter.builder(store, inForce).listener(meters).owning();
    this.reporter =
        settings.reports() && store.listener().isEmpty()
            ? Reporter.start(Traffic.create(), store, "service")
            : null;
    if (reporter != null) {
      reporter.rules(inForce);
      limiting.listener(reporter.traffic());
    }
    this.limiter = limiting.build();
    this.meters = meters;
    meters.watch(limiter, store);
    meters.watch("operators", operators::refused);
    if (certificates != null) {
      meters.watch("certificate", certificates::refused);
    }
    this.intake =
        new Intake(
            settings.mostInFlight(),
            settings.mostRequestBytes(),
            Runtime.getRuntime().maxMemory() / BODIES_SHARE,
            meters::overloaded);
    CallerFacets edge = new CallerFacets(limiter, settings.client());
    DecisionRoutes decisions = new DecisionRoutes(edge, new Receipts(keys), settings);
    ServerBuilder builder = Server.builder();
    listen(builder);
    protect(builder, meters);
    open(builder, decisions, new HealthRoutes(edge, store, meters, intake));
    SharedData shared = OperatorData.of(store);
    Audit audit = new Audit(shared);
    this.ruleChanges = RuleChanges.follow(rules, settings.rulesName(), audit, shared);
    AdminRoutes admin = new AdminRoutes(edge, store, keys, audit, settings.mostRequestBytes());
    OverrideRoutes overriding =
        new OverrideRoutes(edge, overrides, audit, settings.mostRequestBytes());
    guarded(builder, admin);
    guarded(builder, overriding, audit);
    this.console =
        settings.console()
            ? new ConsoleRoutes(
                edge.limiter(),
                store,
                meters::locks,
                settings,
                operators,
                doorkeeper,
                admin,
                overriding,
                audit)
            : null;
    if (console != null) {
      console.serve(builder);
    }
    this.server = builder.build();
  }

  /** Starts a service; throws {@link CannotListen} if it cannot have its port. */
  public static Service start(
      Settings settings,
      Operators operators,
      ReceiptKeys keys,
      Store store,
      RuleSource rules,
      Meters meters) {
    Service service = new Service(settings, operators, keys, store, rules, meters);
    try {
      service.server.start().join();
    } catch (CompletionException e) {
      service.closeParts();
      throw new CannotListen(settings.host(), settings.port(), Stages.cause(e));
    }
    return service;
  }

  /** The address or the port is not to be had. */
  static final class CannotListen extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CannotListen(String host, int port, Throwable cause) {
      super("cannot listen on %s:%d: %s".formatted(host, port, reason(cause)), cause);
    }

    private static String reason(Throwable cause) {
      String message = String.valueOf(cause.getMessage());
      return message.contains("already in use")
          ? "the port is taken (choose another with --port, 0 for any free one)"
          : message + " (choose another address with --host, or port with --port)";
    }
  }

  /** Bodies that are being received take at most this part of the memory. */
  private static final int BODIES_SHARE = 8;

  private void listen(ServerBuilder builder) {
    InetSocketAddress address = new InetSocketAddress(settings.host(), settings.port());
    if (certificates == null) {
      builder.http(address);
    } else {
      builder.https(address).tlsProvider(certificates, certificates.config());
    }
  }

  private void protect(ServerBuilder builder, Meters meters) {
    builder
        .meterRegistry(meters.registry())
        .maxNumConnections(settings.mostConnections())
        .maxRequestLength(Math.max(settings.mostRequestBytes(), Body.LARGEST_DROPPED))
        .requestTimeout(settings.requestTimeout())
        .idleTimeout(Duration.ofSeconds(60))
        .http1MaxInitialLineLength(8 * 1024)
        .http1MaxHeaderSize(32 * 1024)
        .http2MaxHeaderListSize(32 * 1024)
        .http2MaxStreamsPerConnection(256)
        .http2MaxResetFramesPerWindow(400, 30)
        .bossGroupFactory(door::threads)
        .gracefulShutdownTimeout(Duration.ZERO, LAST_BYTES)
        .unloggedExceptionsReportInterval(Duration.ZERO)
        .disableServerHeader()
        .setHeader(HttpHeaderNames.X_CONTENT_TYPE_OPTIONS, "nosniff")
        .childChannelPipelineCustomizer(
            pipeline -> {
              door.taken(pipeline.channel());
              Framing.on(pipeline);
            })
        .requestAutoAbortDelay(LATE_BODY)
        .errorHandler(new ErrorResponses())
        .decorator(intake);
  }

  private static void open(ServerBuilder builder, DecisionRoutes decisions, HealthRoutes probes) {
    builder.route().post("/v1/check").build(new WholeAnswer(decisions::check));
    builder.route().post("/v1/settle").build(new WholeAnswer(decisions::settle));
    builder
        .route()
        .path("/v1/gate/{rules}")
        .build(new ProblemInHeader(new WholeAnswer(decisions::gate), new ErrorResponses()));
    builder.route().get(Intake.LIVE).build(probes::live);
    builder.route().get("/health/ready").build(probes::ready);
    builder.route().get("/metrics").build(probes::metrics);
    builder.route().get("/openapi.yaml").build(probes::openapi);
  }

  private void guarded(ServerBuilder builder, AdminRoutes admin) {
    guard(builder, HttpMethod.GET, "/v1/rules", admin::rules);
    guard(builder, HttpMethod.GET, "/v1/rules/{name}", admin::rule);
    guard(builder, HttpMethod.GET, "/v1/accounts/{rule}", admin::account);
    guard(builder, HttpMethod.DELETE, "/v1/accounts/{rule}", admin::reset);
    guard(builder, HttpMethod.GET, "/v1/locks", admin::locks);
    guard(builder, HttpMethod.PUT, "/v1/locks/{rule}", admin::lock);
    guard(builder, HttpMethod.DELETE, "/v1/locks/{rule}", admin::lift);
    guard(builder, HttpMethod.POST, "/v1/receipts/rotate", admin::rotate);
  }

  private void guarded(ServerBuilder builder, OverrideRoutes overriding, Audit audit) {
    guard(builder, HttpMethod.GET, "/v1/overrides", overriding::list);
    guard(builder, HttpMethod.PUT, "/v1/overrides", overriding::create);
    guard(builder, HttpMethod.PUT, "/v1/overrides/{id}", overriding::replace);
    guard(builder, HttpMethod.DELETE, "/v1/overrides/{id}", overriding::remove);
    guard(builder, HttpMethod.GET, "/v1/audit", audit::list);
  }

  private void guard(
      ServerBuilder builder, HttpMethod method, String path, OperatorRoute operated) {
    builder
        .route()
        .path(path)
        .methods(method)
        .build((ctx, request) -> doorkeeper.serve(operated, ctx, request));
  }

  /** The routes of the API and their methods, for the test of their description. */
  List<String> routes() {
    return server.serviceConfigs().stream()
        .filter(config -> !ConsoleRoutes.has(config.route().patternString()))
        .map(config -> config.route().methods() + " " + config.route().patternString())
        .toList();
  }

  public Limiter limiter() {
    return limiter;
  }

  /** The scheme of its URLs: http or https. */
  public String scheme() {
    return certificates == null ? "http" : "https";
  }

  public int port() {
    return Objects.requireNonNull(server.activePort()).localAddress().getPort();
  }

  /**
   * Not ready from now on. After the drain delay no connection is taken any more; what is in work
   * is answered; then the service stops.
   */
  @Override
  public void close() {
    long start = System.nanoTime();
    Duration delay = settings.drainDelay();
    LOG.info(
        "Stopping: no longer ready{}",
        delay.isZero() ? "" : "; new connections are taken for " + Durations.format(delay));
    intake.drain();
    if (console != null) {
      console.close(); // its streams would never end by themselves
    }
    try {
      Thread.sleep(delay.toMillis());
      door.shut();
      LOG.info("New connections are refused; what is in work is answered");
      intake.awaitEnd(settings.drainTimeout());
      door.awaitEnd(server.stop());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    closeParts();
    LOG.info("Stopped after {} ms", (System.nanoTime() - start) / 1_000_000);
  }

  private void closeParts() {
    if (console != null) {
      console.close();
    }
    ruleChanges.close();
    if (reporter != null) {
      reporter.close();
    }
    overrides.close();
    meters.close();
    limiter.close();
    keys.close();
    operators.close();
    if (certificates != null) {
      certificates.close();
    }
  }
}
