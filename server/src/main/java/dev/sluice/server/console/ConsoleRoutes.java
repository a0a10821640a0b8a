package dev.sluice.server.console;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.LockPage;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Text;
import dev.sluice.rules.KeptOverride;
import dev.sluice.rules.RuleWords;
import dev.sluice.server.admin.AdminRoutes;
import dev.sluice.server.admin.Audit;
import dev.sluice.server.admin.Doorkeeper;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.admin.OperatorRoute;
import dev.sluice.server.admin.Operators;
import dev.sluice.server.admin.OverrideRoutes;
import dev.sluice.server.api.CallerFacets;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.Body;
import dev.sluice.server.http.JsonInput;
import dev.sluice.server.http.Replies;
import dev.sluice.server.http.Settings;
import dev.sluice.store.Store;
import dev.sluice.traffic.Collector;
import dev.sluice.traffic.Points;
import dev.sluice.traffic.SampledRefusal;
import dev.sluice.traffic.TopClients;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The routes of the console: its files, signing in, and the JSON of its pages. */
public final class ConsoleRoutes implements AutoCloseable {
  private static final String API = "/console/api/";
  private static final int LONGEST_TOKEN = 1_024;
  private static final int MOST_CLIENTS = 200;
  private static final int DEFAULT_CLIENTS = 100;
  private static final int SAMPLED_REFUSALS = 2_000;
  private static final int SHOWN_REFUSALS = 50;
  private static final int MOST_CHANGES = 50;
  private static final int SEARCHED_LOCKS = 10_000;

  private final CallerFacets edge;
  private final Store store;
  private final String storeName;
  private final DoubleSupplier locks;
  private final Settings settings;
  private final Doorkeeper doorkeeper;
  private final AdminRoutes admin;
  private final OverrideRoutes overrides;
  private final Audit audit;
  private final Sessions sessions;
  private final SessionGuard guard;
  private final Collector collector;
  private final LiveStream live;

  /**
   * The console of a service.
   *
   * @param locks how many locks there are; NaN if that is not known
   */
  public ConsoleRoutes(
      CallerFacets edge,
      Store store,
      DoubleSupplier locks,
      Settings settings,
      Operators operators,
      Doorkeeper doorkeeper,
      AdminRoutes admin,
      OverrideRoutes overrides,
      Audit audit) {
    this.edge = edge;
    this.store = store;
    this.storeName = settings.storeName();
    this.locks = locks;
    this.settings = settings;
    this.doorkeeper = doorkeeper;
    this.admin = admin;
    this.overrides = overrides;
    this.audit = audit;
    this.sessions = new Sessions(store.sharedData(), operators);
    this.guard = new SessionGuard(sessions);
    this.collector = Collector.start(store.sharedData());
    this.live = new LiveStream(collector, this::writeOverview);
  }

  /** Whether a path belongs to the console, whose routes are for its own pages only. */
  public static boolean has(String path) {
    return path.equals("/") || path.startsWith("/console/");
  }

  /** Adds the routes to a server. */
  public void serve(ServerBuilder builder) {
    ConsoleFiles.serve(builder);
    builder.route().post(API + "session").build(this::signIn);
    builder.route().delete(API + "session").build(this::signOut);
    guarded(builder, HttpMethod.GET, "session", this::session);
    guarded(builder, HttpMethod.GET, "overview", this::overview);
    guarded(builder, HttpMethod.GET, "series", this::series);
    guarded(builder, HttpMethod.GET, "live", this::live);
    guarded(builder, HttpMethod.GET, "clients", this::clients);
    guarded(builder, HttpMethod.GET, "client", this::client);
    guarded(builder, HttpMethod.GET, "locks", this::locks);
    guarded(builder, HttpMethod.PUT, "locks", this::lock);
    guarded(builder, HttpMethod.DELETE, "locks", this::lift);
    guarded(builder, HttpMethod.DELETE, "accounts", this::reset);
    guarded(builder, HttpMethod.GET, "overrides", overrides::list);
    guarded(builder, HttpMethod.PUT, "overrides", overrides::create);
    guarded(builder, HttpMethod.PUT, "overrides/{id}", overrides::replace);
    guarded(builder, HttpMethod.DELETE, "overrides/{id}", overrides::remove);
    guarded(builder, HttpMethod.GET, "rules", this::rules);
    guarded(builder, HttpMethod.GET, "audit", audit::list);
    guarded(builder, HttpMethod.GET, "audit/export", audit::export);
  }

  private void guarded(ServerBuilder builder, HttpMethod method, String path, OperatorRoute route) {
    builder.route().path(API + path).methods(method).build(guard.guarded(route));
  }

  // ---- Signing in -----------------------------------------------------------------------------

  private HttpResponse signIn(ServiceRequestContext ctx, HttpRequest request) {
    return SessionGuard.refusedChange(request)
        .orElseGet(
            () ->
                HttpResponse.of(
                    Body.read(request, settings.mostRequestBytes())
                        .thenCompose(body -> signIn(ctx, token(body)))));
  }

  private static String token(byte[] body) {
    String[] token = {""};
    List<String> errors =
        JsonInput.read(
            body,
            List.of("token"),
            (name, input) -> {
              String text = input.string(name, LONGEST_TOKEN);
              token[0] = text == null ? "" : text.strip();
            });
    if (!errors.isEmpty() || token[0].isEmpty()) {
      throw new BadInput(
          errors.isEmpty() ? List.of("token: missing (expected: the admin token)") : errors, false);
    }
    return token[0];
  }

  private CompletionStage<HttpResponse> signIn(ServiceRequestContext ctx, String token) {
    Doorkeeper.Entry entry = doorkeeper.admit(ctx, token);
    if (entry instanceof Doorkeeper.Entry.Refused refused) {
      return CompletableFuture.completedFuture(refused.answer());
    }
    return sessions
        .begin(token)
        .thenApply(session -> withCookie(Sessions.cookie(session, isSecure(ctx))));
  }

  private HttpResponse signOut(ServiceRequestContext ctx, HttpRequest request) {
    return SessionGuard.refusedChange(request)
        .orElseGet(
            () ->
                HttpResponse.of(
                    sessions
                        .remove(request.headers())
                        .thenApply(ended -> withCookie(Sessions.cookie("", isSecure(ctx))))));
  }

  private static HttpResponse withCookie(String cookie) {
    return HttpResponse.of(
        ResponseHeaders.builder(HttpStatus.NO_CONTENT)
            .add(HttpHeaderNames.SET_COOKIE, cookie)
            .add(HttpHeaderNames.CACHE_CONTROL, "no-store")
            .build());
  }

  /** Whether the browser uses TLS: to this service, or to a trusted proxy before it. */
  private boolean isSecure(ServiceRequestContext ctx) {
    return ctx.sessionProtocol().isTls()
        || (settings.client().trusts(CallerFacets.parts(ctx).peer())
            && "https".equals(ctx.request().headers().get("x-forwarded-proto")));
  }

  private HttpResponse session(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(
        sessions
            .end(request.headers())
            .thenApply(
                end ->
                    Replies.ok(
                        json -> {
                          json.writeStringField("operator", operator.name());
                          json.writeStringField("role", operator.role().toString());
                          json.writeStringField("expires", end.map(Instant::toString).orElse(null));
                        })));
  }

  // ---- What nodes do --------------------------------------------------------------------------

  private HttpResponse overview(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return Replies.ok(this::writeOverview);
  }

  private void writeOverview(JsonGenerator json) throws IOException {
    OverviewJson.StoreState state =
        new OverviewJson.StoreState(
            storeName.equals("memory") ? "memory" : "redis",
            storeName,
            store.trouble(),
            store.warnings(),
            locks.getAsDouble());
    OverviewJson.write(
        json,
        collector.overview(),
        state,
        edge.limiter().rules(),
        edge.limiter().source().failure().map(RuleSource.Failure::message).orElse(null),
        collector.trouble());
  }

  private HttpResponse live(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return live.open(
        ctx, () -> sessions.operator(request.headers()).thenApply(Optional::isPresent));
  }

  private HttpResponse series(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    String range = ctx.queryParam("range");
    String rule = ctx.queryParam("rule");
    if (range != null && !Set.of("15m", "24h").contains(range)) {
      throw new BadInput("range: %s (expected: 15m or 24h)".formatted(Text.quoted(range)));
    }
    String wanted = rule == null ? "" : rule;
    Points points =
        "24h".equals(range) ? collector.last24Hours(wanted) : collector.last15Minutes(wanted);
    return Replies.ok(json -> OverviewJson.write(json, points));
  }

  private HttpResponse clients(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    boolean refused = "refused".equals(ctx.queryParam("sort"));
    int limit = number(ctx, "limit", DEFAULT_CLIENTS, MOST_CLIENTS);
    return HttpResponse.of(
        collector
            .clients()
            .thenApply(
                top ->
                    Replies.ok(
                        json -> {
                          json.writeArrayFieldStart("clients");
                          for (TopClients.Client client :
                              (refused ? top.refused() : top.busiest())
                                  .stream().limit(limit).toList()) {
                            OverviewJson.write(json, client);
                          }
                          json.writeEndArray();
                        })));
  }

  private static int number(ServiceRequestContext ctx, String name, int fallback, int most) {
    String text = ctx.queryParam(name);
    if (text == null) {
      return fallback;
    }
    if (!text.matches("[0-9]{1,9}")
        || Integer.parseInt(text) < 1
        || Integer.parseInt(text) > most) {
      throw new BadInput("%s: %s (expected: 1 to %,d)".formatted(name, Text.quoted(text), most));
    }
    return Integer.parseInt(text);
  }

  // ---- One client -----------------------------------------------------------------------------

  private HttpResponse client(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Identity identity = identity(ctx);
    Rules rules = edge.limiter().rules();
    List<Rule> counting =
        rules.all().stream().filter(rule -> counts(rules, rule, identity)).toList();
    List<CompletableFuture<Decision>> looks =
        counting.stream()
            .map(rule -> edge.limiter().inspectAsync(rule.name(), identity).toCompletableFuture())
            .toList();
    CompletableFuture<List<Restriction>> locked =
        CompletableFuture.allOf(looks.toArray(new CompletableFuture<?>[0]))
            .thenComposeAsync(
                done -> locksOf(looks.stream().map(CompletableFuture::join).toList()),
                ctx.blockingTaskExecutor());
    CompletableFuture<TopClients> top = collector.clients().toCompletableFuture();
    CompletableFuture<List<SampledRefusal>> refusals =
        collector.refusals(SAMPLED_REFUSALS).toCompletableFuture();
    return HttpResponse.of(
        CompletableFuture.allOf(locked, top, refusals)
            .thenApply(
                done ->
                    Replies.ok(
                        json ->
                            writeClient(
                                json,
                                identity,
                                looks.stream().map(CompletableFuture::join).toList(),
                                locked.join(),
                                top.join(),
                                refusals.join()))));
  }

  private static boolean counts(Rules rules, Rule rule, Identity identity) {
    try {
      return !rules.accounts(rule.name(), identity).isEmpty();
    } catch (IllegalArgumentException otherFacets) {
      return false;
    }
  }

  private CompletionStage<List<Restriction>> locksOf(List<Decision> looks) {
    List<CompletableFuture<List<Restriction>>> all =
        looks.stream()
            .filter(look -> look.balances().stream().anyMatch(Balance::locked))
            .map(look -> edge.limiter().locksAsync(look).toCompletableFuture())
            .toList();
    return CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0]))
        .thenApply(
            done -> all.stream().map(CompletableFuture::join).flatMap(List::stream).toList());
  }

  private void writeClient(
      JsonGenerator json,
      Identity identity,
      List<Decision> looks,
      List<Restriction> locked,
      TopClients top,
      List<SampledRefusal> refusals)
      throws IOException {
    Set<String> accounts =
        looks.stream()
            .flatMap(look -> look.balances().stream())
            .map(balance -> balance.account().identity().toString())
            .collect(Collectors.toSet());
    OverviewJson.writeIdentity(json, identity.toString());
    json.writeArrayFieldStart("accounts");
    for (Decision look : looks) {
      for (Balance balance : look.balances()) {
        writeAccount(json, balance, locked);
      }
    }
    json.writeEndArray();
    json.writeArrayFieldStart("overrides");
    for (KeptOverride override : overrides.of(identity)) {
      json.writeStartObject();
      overrides.write(json, override, Map.of());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeArrayFieldStart("refusals");
    for (SampledRefusal refusal :
        refusals.stream()
            .filter(each -> accounts.contains(each.identity()))
            .limit(SHOWN_REFUSALS)
            .toList()) {
      OverviewJson.write(json, refusal);
    }
    json.writeEndArray();
    json.writeNumberField("calls", sum(top.busiest(), accounts, TopClients.Client::calls));
    json.writeNumberField("denied", sum(top.refused(), accounts, TopClients.Client::denied));
  }

  private static long sum(
      List<TopClients.Client> clients,
      Set<String> accounts,
      Function<TopClients.Client, Long> number) {
    return clients.stream()
        .filter(client -> accounts.contains(client.identity()))
        .mapToLong(number::apply)
        .max()
        .orElse(0);
  }

  private static void writeAccount(JsonGenerator json, Balance balance, List<Restriction> locked)
      throws IOException {
    json.writeStartObject();
    json.writeStringField("rule", balance.account().rule());
    OverviewJson.writeIdentity(json, balance.account().identity().toString());
    json.writeStringField("limit", balance.limit().toString());
    json.writeFieldName("form");
    LimitForm.write(json, balance.limit());
    json.writeNumberField("quota", balance.limit().quota());
    json.writeNumberField("remaining", balance.remaining());
    json.writeNumberField("used", Math.max(0, balance.limit().quota() - balance.remaining()));
    if (balance.retryAfterMicros() == Balance.NEVER) {
      json.writeNullField("retryAfterMs");
    } else {
      json.writeNumberField("retryAfterMs", Durations.ceilMillis(balance.retryAfterMicros()));
    }
    json.writeNumberField("resetAfterMs", Durations.ceilMillis(balance.resetAfterMicros()));
    json.writeBooleanField("locked", balance.locked());
    json.writeStringField("lockedUntil", balance.lockedUntil().map(Instant::toString).orElse(null));
    json.writeStringField(
        "reason",
        locked.stream()
            .filter(lock -> lock.account().equals(balance.account()))
            .map(Restriction::reason)
            .findFirst()
            .orElse(null));
    json.writeBooleanField("enforced", balance.enforced());
    json.writeEndObject();
  }

  private static Identity identity(ServiceRequestContext ctx) {
    String text = ctx.queryParam("identity");
    if (text == null || text.isEmpty()) {
      throw new BadInput("identity: missing (expected: such as login=ann)");
    }
    return Identity.parse(text);
  }

  // ---- Locks ----------------------------------------------------------------------------------

  private HttpResponse locks(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    String rule = emptyToNull(ctx.queryParam("rule"));
    String wanted = emptyToNull(ctx.queryParam("q"));
    String after = emptyToNull(ctx.queryParam("after"));
    int limit = number(ctx, "limit", DEFAULT_CLIENTS, LockPage.LARGEST);
    return HttpResponse.of(
        CompletableFuture.supplyAsync(
                () ->
                    wanted == null
                        ? edge.limiter().locksAsync(rule, limit, after)
                        : search(rule, wanted.toLowerCase(Locale.ROOT), limit, after, 0, List.of()),
                ctx.blockingTaskExecutor())
            .thenCompose(Function.identity())
            .thenApply(
                page ->
                    Replies.ok(
                        json -> {
                          json.writeArrayFieldStart("locks");
                          for (Restriction lock : page.locks()) {
                            write(json, lock);
                          }
                          json.writeEndArray();
                          json.writeNumberField("total", page.total());
                          json.writeStringField("next", page.next());
                        })));
  }

  private static @Nullable String emptyToNull(@Nullable String text) {
    return text == null || text.isEmpty() ? null : text;
  }

  /** Looks through up to 10,000 locks for those with a text in identity or reason. */
  private CompletionStage<LockPage> search(
      @Nullable String rule,
      String wanted,
      int limit,
      @Nullable String after,
      int seen,
      List<Restriction> found) {
    return edge.limiter()
        .locksAsync(rule, LockPage.LARGEST, after)
        .thenCompose(
            page -> {
              List<Restriction> all = new ArrayList<>(found);
              page.locks().stream().filter(lock -> matches(lock, wanted)).forEach(all::add);
              String next = page.next();
              boolean done =
                  next == null
                      || all.size() >= limit
                      || seen + page.locks().size() >= SEARCHED_LOCKS;
              return done
                  ? CompletableFuture.completedFuture(new LockPage(all, page.total(), next))
                  : search(rule, wanted, limit, next, seen + page.locks().size(), all);
            });
  }

  private static boolean matches(Restriction lock, String wanted) {
    return lock.reason().toLowerCase(Locale.ROOT).contains(wanted)
        || lock.account().rule().toLowerCase(Locale.ROOT).contains(wanted)
        || lock.account().identity().facets().values().stream()
            .anyMatch(value -> value.toLowerCase(Locale.ROOT).contains(wanted));
  }

  private static void write(JsonGenerator json, Restriction lock) throws IOException {
    json.writeStartObject();
    json.writeStringField("rule", lock.account().rule());
    OverviewJson.writeIdentity(json, lock.account().identity().toString());
    json.writeStringField("until", lock.restrictedUntil().toString());
    json.writeStringField("reason", lock.reason());
    json.writeEndObject();
  }

  private HttpResponse lock(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(
        Body.read(request, settings.mostRequestBytes())
            .thenCompose(body -> admin.lockNamed(ctx, operator, body)));
  }

  private HttpResponse lift(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    boolean keepUsage = "true".equals(ctx.queryParam("keepUsage"));
    return HttpResponse.of(
        admin.lift(
            ctx, operator, String.valueOf(ctx.queryParam("rule")), identity(ctx), keepUsage));
  }

  private HttpResponse reset(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(
        admin.reset(ctx, operator, String.valueOf(ctx.queryParam("rule")), identity(ctx)));
  }

  // ---- Rules ----------------------------------------------------------------------------------

  private HttpResponse rules(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Rules rules = edge.limiter().rules();
    RuleSource.Failure failure = edge.limiter().source().failure().orElse(null);
    return HttpResponse.of(
        audit
            .changesOfRules(MOST_CHANGES)
            .thenApply(
                changes ->
                    Replies.ok(
                        json -> {
                          json.writeArrayFieldStart("rules");
                          for (Rule rule : rules.all()) {
                            json.writeStartObject();
                            json.writeStringField("name", rule.name());
                            json.writeStringField("mode", rule.enforced() ? "enforce" : "shadow");
                            OverviewJson.writeTexts(
                                json,
                                "sentences",
                                RuleWords.explain(rules, rule.name(), settings.clock()));
                            json.writeEndObject();
                          }
                          json.writeEndArray();
                          if (failure == null) {
                            json.writeNullField("failure");
                          } else {
                            json.writeObjectFieldStart("failure");
                            json.writeStringField("since", failure.since().toString());
                            json.writeStringField("message", failure.message());
                            json.writeEndObject();
                          }
                          json.writeArrayFieldStart("changes");
                          for (Audit.Entry change : changes) {
                            json.writeStartObject();
                            json.writeStringField("at", change.at().toString());
                            json.writeStringField("who", change.who());
                            json.writeStringField("what", change.after());
                            json.writeEndObject();
                          }
                          json.writeEndArray();
                        })));
  }

  @Override
  public void close() {
    live.close();
    collector.close();
  }
}
