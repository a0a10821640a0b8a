package dev.sluice.server.console;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.Limiter;
import dev.sluice.server.admin.AdminRoutes;
import dev.sluice.server.admin.Audit;
import dev.sluice.server.admin.Doorkeeper;
import dev.sluice.server.admin.OperatorData;
import dev.sluice.server.admin.OperatorRoute;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.admin.OverrideRoutes;
import dev.sluice.server.http.Settings;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import dev.sluice.traffic.Collector;
import java.util.Optional;
import java.util.function.DoubleSupplier;

/** The routes of the console: its files, signing in, and the JSON of its pages. */
public final class ConsoleRoutes implements AutoCloseable {
  private static final String API = "/console/api/";

  private final OverrideRoutes overrides;
  private final Audit audit;
  private final Sessions sessions;
  private final SessionGuard guard;
  private final SignIn signIn;
  private final Collector collector;
  private final TrafficPages traffic;
  private final ClientPage client;
  private final LockPages locks;
  private final RulePages rules;
  private final LiveStream live;

  /**
   * The console of a service.
   *
   * @param lockCount how many locks there are; NaN if that is not known
   */
  public ConsoleRoutes(
      Limiter limiter,
      Store store,
      DoubleSupplier lockCount,
      Settings settings,
      Operators operators,
      Doorkeeper doorkeeper,
      AdminRoutes admin,
      OverrideRoutes overrides,
      Audit audit) {
    this.overrides = overrides;
    this.audit = audit;
    SharedData data = OperatorData.of(store);
    this.sessions = new Sessions(data, operators, settings.clock());
    this.guard = new SessionGuard(sessions);
    this.signIn = new SignIn(sessions, doorkeeper, settings);
    this.collector = Collector.start(data, store.listener());
    this.traffic = new TrafficPages(limiter, store, settings.storeName(), lockCount, collector);
    this.client = new ClientPage(limiter, overrides, collector);
    this.locks = new LockPages(limiter, admin, settings.mostRequestBytes());
    this.rules = new RulePages(limiter, audit, settings);
    this.live = new LiveStream(collector, traffic::writeOverview);
  }

  /** Whether a path belongs to the console, whose routes are for its own pages only. */
  public static boolean has(String path) {
    return path.equals("/") || path.startsWith("/console/");
  }

  /** Adds the routes to a server. */
  public void serve(ServerBuilder builder) {
    ConsoleFiles.serve(builder);
    builder.route().post(API + "session").build(signIn::signIn);
    builder.route().delete(API + "session").build(signIn::signOut);
    guarded(builder, HttpMethod.GET, "session", signIn::session);
    guarded(builder, HttpMethod.GET, "overview", traffic::overview);
    guarded(builder, HttpMethod.GET, "series", traffic::series);
    guarded(
        builder,
        HttpMethod.GET,
        "live",
        (ctx, request, operator) ->
            live.open(
                ctx, () -> sessions.reader(request.headers()).thenApply(Optional::isPresent)));
    guarded(builder, HttpMethod.GET, "clients", traffic::clients);
    guarded(builder, HttpMethod.GET, "client", client::show);
    guarded(builder, HttpMethod.GET, "locks", locks::list);
    guarded(builder, HttpMethod.PUT, "locks", locks::lock);
    guarded(builder, HttpMethod.DELETE, "locks", locks::lift);
    guarded(builder, HttpMethod.DELETE, "accounts", locks::reset);
    guarded(builder, HttpMethod.GET, "overrides", overrides::list);
    guarded(builder, HttpMethod.PUT, "overrides", overrides::create);
    guarded(builder, HttpMethod.PUT, "overrides/{id}", overrides::replace);
    guarded(builder, HttpMethod.DELETE, "overrides/{id}", overrides::remove);
    guarded(builder, HttpMethod.GET, "rules", rules::list);
    guarded(builder, HttpMethod.GET, "rule-names", rules::names);
    guarded(builder, HttpMethod.GET, "audit", audit::list);
    guarded(builder, HttpMethod.GET, "audit/export", audit::export);
  }

  private void guarded(ServerBuilder builder, HttpMethod method, String path, OperatorRoute route) {
    builder.route().path(API + path).methods(method).build(guard.guarded(route));
  }

  @Override
  public void close() {
    live.close();
    collector.close();
  }
}
