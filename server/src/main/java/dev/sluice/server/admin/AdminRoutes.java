package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Lifted;
import dev.sluice.LockPage;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Bounds;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Text;
import dev.sluice.server.api.CallerFacets;
import dev.sluice.server.api.CheckRequest;
import dev.sluice.server.api.DecisionJson;
import dev.sluice.server.api.ReceiptKeys;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.Body;
import dev.sluice.server.http.Query;
import dev.sluice.server.http.Replies;
import dev.sluice.server.http.StoreAway;
import dev.sluice.store.Store;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The admin routes: rules, accounts and locks. {@link Doorkeeper} has checked the operator before.
 */
public final class AdminRoutes {
  private static final String WHOLE_IDENTITY = "identity";
  private static final String KEEP_USAGE = "keepUsage";
  private static final int DEFAULT_PAGE = 100;

  private final CallerFacets edge;
  private final Store store;
  private final ReceiptKeys keys;
  private final Audit audit;
  private final int mostRequestBytes;

  public AdminRoutes(
      CallerFacets edge, Store store, ReceiptKeys keys, Audit audit, int mostRequestBytes) {
    this.edge = edge;
    this.audit = audit;
    this.store = store;
    this.keys = keys;
    this.mostRequestBytes = mostRequestBytes;
  }

  /** A rule and an identity, which together name one or more accounts. */
  private record Target(Rule rule, Identity identity) {}

  /** {@code GET /v1/rules}. */
  public HttpResponse rules(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Rules rules = edge.limiter().rules();
    return Replies.ok(
        json -> {
          json.writeArrayFieldStart("rules");
          for (Rule rule : rules.all()) {
            json.writeStartObject();
            RuleJson.write(json, rule, rules);
            json.writeEndObject();
          }
          json.writeEndArray();
          RuleSource.Failure failure = edge.limiter().source().failure().orElse(null);
          json.writeStringField("failure", failure == null ? null : failure.message());
        });
  }

  /** {@code GET /v1/rules/{name}}. */
  public HttpResponse rule(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Rule rule = find(ctx, "name");
    return Replies.ok(json -> RuleJson.write(json, rule, edge.limiter().rules()));
  }

  /** {@code GET /v1/accounts/{rule}?login=ann}. */
  public HttpResponse account(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Target target = target(ctx);
    return HttpResponse.of(
        look(target)
            .thenCompose(
                decision ->
                    locks(ctx, decision).thenApply(locks -> looked(target, decision, locks))));
  }

  /**
   * The locks of a decision. A memory store sorts all its locks, so this is not for an event loop.
   */
  private CompletionStage<List<Restriction>> locks(ServiceRequestContext ctx, Decision looked) {
    return looked.balances().stream().noneMatch(Balance::locked)
        ? CompletableFuture.completedFuture(List.of())
        : CompletableFuture.supplyAsync(
                () -> edge.limiter().locksAsync(looked), ctx.blockingTaskExecutor())
            .thenCompose(Function.identity());
  }

  private static HttpResponse looked(Target target, Decision decision, List<Restriction> locks) {
    return Replies.ok(
        json -> {
          json.writeStringField("rule", target.rule.name());
          json.writeBooleanField("locked", decision.locked());
          DecisionJson.writeBalances(json, decision);
          write(json, locks);
        });
  }

  /** {@code DELETE /v1/accounts/{rule}?login=ann}. */
  public HttpResponse reset(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(reset(ctx, operator, target(ctx)));
  }

  /** Resets the accounts of an identity. */
  public CompletionStage<HttpResponse> reset(
      ServiceRequestContext ctx, Operator operator, String rule, Identity identity) {
    return reset(ctx, operator, target(rule, identity));
  }

  private CompletionStage<HttpResponse> reset(
      ServiceRequestContext ctx, Operator operator, Target target) {
    return change(
            ctx,
            operator,
            target,
            "account reset",
            edge.limiter()::resetAsync,
            done -> done,
            done -> "no usage, no lock")
        .thenApply(
            done ->
                Replies.ok(
                    json -> {
                      json.writeBooleanField("reset", done);
                      json.writeArrayFieldStart("accounts");
                      for (Account account : accounts(target)) {
                        json.writeString(account.identity().toString());
                      }
                      json.writeEndArray();
                    }));
  }

  /** {@code GET /v1/locks?rule=&limit=&after=}. */
  public HttpResponse locks(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    int limit = Query.limit(ctx, DEFAULT_PAGE, LockPage.LARGEST);
    String rule = ctx.queryParam("rule");
    if (rule != null && edge.limiter().rules().find(rule) == null) {
      throw new BadInput(List.of(CheckRequest.unknown(rule, edge.limiter().rules())), true);
    }
    String after = ctx.queryParam("after");
    return HttpResponse.of(
        edge.limiter()
            .locksAsync(rule, limit, after)
            .thenApplyAsync(
                page ->
                    Replies.ok(
                        json -> {
                          write(json, page.locks());
                          json.writeNumberField("total", page.total());
                          json.writeStringField("next", page.next());
                        }),
                ctx.blockingTaskExecutor()));
  }

  private static void write(JsonGenerator json, List<Restriction> locks) throws IOException {
    json.writeArrayFieldStart("locks");
    for (Restriction lock : locks) {
      json.writeStartObject();
      json.writeStringField("rule", lock.account().rule());
      DecisionJson.writeIdentity(json, lock.account().identity());
      json.writeNumberField("restrictedUntil", lock.restrictedUntil().toEpochMilli());
      json.writeStringField("since", lock.since() == null ? null : lock.since().toString());
      json.writeStringField("until", lock.until().toString());
      json.writeStringField("reason", lock.reason());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  /** {@code PUT /v1/locks/{rule}?login=ann}. */
  public HttpResponse lock(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(
        Body.read(request, mostRequestBytes)
            .thenComposeAsync(body -> lock(ctx, operator, body), ctx.blockingTaskExecutor()));
  }

  private CompletionStage<HttpResponse> lock(
      ServiceRequestContext ctx, Operator operator, byte[] body) {
    return lock(ctx, operator, target(ctx), LockRequest.parse(body));
  }

  /** Sets a lock by a body that also names the rule and the identity. */
  public CompletionStage<HttpResponse> lockNamed(
      ServiceRequestContext ctx, Operator operator, byte[] body) {
    LockRequest.Named named = LockRequest.parseNamed(body);
    return lock(ctx, operator, target(named.rule(), named.identity()), named.lock());
  }

  private CompletionStage<HttpResponse> lock(
      ServiceRequestContext ctx, Operator operator, Target target, LockRequest wanted) {
    return change(
            ctx,
            operator,
            target,
            "lock set",
            (rule, identity) ->
                edge.limiter().lockAsync(rule, identity, wanted.length(), wanted.reason()),
            locks -> true,
            locks -> "locked until %s: %s".formatted(latest(locks), wanted.reason()))
        .thenApply(locks -> Replies.ok(json -> write(json, locks)));
  }

  private static Instant latest(List<Restriction> locks) {
    return locks.stream().map(Restriction::until).max(Instant::compareTo).orElse(Instant.EPOCH);
  }

  /** {@code DELETE /v1/locks/{rule}?login=ann&keepUsage=true}. */
  public HttpResponse lift(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Map<String, String> query = query(ctx);
    boolean keepUsage = keepUsage(query);
    return HttpResponse.of(lift(ctx, operator, target(ctx, query), keepUsage));
  }

  /** Lifts the locks of an identity. */
  public CompletionStage<HttpResponse> lift(
      ServiceRequestContext ctx,
      Operator operator,
      String rule,
      Identity identity,
      boolean keepUsage) {
    return lift(ctx, operator, target(rule, identity), keepUsage);
  }

  private CompletionStage<HttpResponse> lift(
      ServiceRequestContext ctx, Operator operator, Target target, boolean keepUsage) {
    return change(
            ctx,
            operator,
            target,
            keepUsage ? "lock lifted, usage kept" : "lock lifted",
            (rule, identity) -> edge.limiter().liftAndInspectAsync(rule, identity, keepUsage),
            Lifted::wasLocked,
            lifted -> state(lifted.now()))
        .thenApply(
            lifted ->
                Replies.ok(
                    json -> {
                      json.writeBooleanField("lifted", lifted.wasLocked());
                      json.writeStringField("detail", lifted.inWords());
                      json.writeBooleanField("allowed", lifted.now().allowed());
                      DecisionJson.writeBalances(json, lifted.now());
                    }));
  }

  /** Removes the option from the query parameters; the others are facets. */
  private boolean keepUsage(Map<String, String> query) {
    if (edge.limiter().rules().facets().containsKey(KEEP_USAGE)) {
      return false;
    }
    String given = query.remove(KEEP_USAGE);
    if (given != null && !given.equals("true") && !given.equals("false")) {
      throw new BadInput("keepUsage: %s (expected: true or false)".formatted(Text.quoted(given)));
    }
    return "true".equals(given);
  }

  /** {@code POST /v1/receipts/rotate}. */
  public HttpResponse rotate(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Body.drop(request);
    return HttpResponse.of(
        keys.rotate()
            .thenApply(
                done -> {
                  audit.log(ctx, operator, "receipt key rotated");
                  return Replies.ok(json -> json.writeBooleanField("rotated", true));
                }));
  }

  /** Changes accounts. If anything changed, writes the state before and after to the audit log. */
  private <T> CompletionStage<T> change(
      ServiceRequestContext ctx,
      Operator operator,
      Target target,
      String action,
      BiFunction<String, Identity, CompletionStage<T>> change,
      Predicate<T> changed,
      Function<T, String> after) {
    return look(target)
        .thenCompose(
            before ->
                change
                    .apply(target.rule.name(), target.identity)
                    .thenApply(
                        done -> {
                          if (changed.test(done)) {
                            log(ctx, operator, action, target, state(before), after.apply(done));
                          }
                          return done;
                        }));
  }

  private void log(
      ServiceRequestContext ctx,
      Operator operator,
      String action,
      Target target,
      String before,
      String after) {
    Identity shown =
        accounts(target).stream()
            .map(Account::identity)
            .reduce((a, b) -> target.identity)
            .orElse(target.identity);
    audit.log(ctx, operator, action, target.rule.name(), shown, before, after);
  }

  private List<Account> accounts(Target target) {
    return edge.limiter().rules().accounts(target.rule.name(), target.identity);
  }

  /** The state of accounts for the audit log. */
  private static String state(Decision decision) {
    String balances =
        decision.balances().stream().map(AdminRoutes::state).collect(Collectors.joining(", "));
    return balances.isEmpty() ? "not counted" : balances;
  }

  private static String state(Balance balance) {
    Instant until = Instant.EPOCH.plus(Durations.ofMicros(balance.lockedUntilMicros()));
    return "%,d of %,d left%s"
        .formatted(
            balance.remaining(),
            balance.limit().quota(),
            balance.locked() ? ", locked until " + until : "");
  }

  /** Reads those accounts of the rule that the identity has all facets for. */
  private CompletionStage<Decision> look(Target target) {
    return edge.limiter()
        .inspectAsync(target.rule.name(), target.identity)
        .thenApply(decision -> StoreAway.check(decision, store));
  }

  private Target target(ServiceRequestContext ctx) {
    return target(ctx, query(ctx));
  }

  private Target target(ServiceRequestContext ctx, Map<String, String> facets) {
    Rule rule = find(ctx, "rule");
    return new Target(rule, identity(facets, rule));
  }

  private Target target(String name, Identity identity) {
    Rule rule = find(name);
    edge.limiter().rules().accounts(rule.name(), identity); // refuses one that names no account
    return new Target(rule, identity);
  }

  private Rule find(ServiceRequestContext ctx, String param) {
    return find(String.valueOf(ctx.pathParam(param)));
  }

  private Rule find(String name) {
    Rules rules = edge.limiter().rules();
    Rule rule = rules.find(name);
    if (rule == null) {
      throw new BadInput(List.of(CheckRequest.unknown(name, rules)), true);
    }
    return rule;
  }

  /** The facets in the query; throws if one is given twice or is too long. */
  private static Map<String, String> query(ServiceRequestContext ctx) {
    Set<String> names = new TreeSet<>(ctx.queryParams().names());
    if (names.size() > Bounds.MOST_FACETS) {
      throw new BadInput(
          "query: %,d facets (expected: at most %d)".formatted(names.size(), Bounds.MOST_FACETS));
    }
    Map<String, String> facets = new LinkedHashMap<>();
    List<String> errors = new ArrayList<>();
    for (String name : names) {
      List<String> values = ctx.queryParams(name);
      String value = values.get(0);
      boolean isText = name.equals(WHOLE_IDENTITY); // several facets: no bound but that of the URI
      String facet = "facet " + Text.quoted(name);
      if (values.size() > 1) {
        errors.add("%s: there %,d times (expected: once)".formatted(facet, values.size()));
      } else if (name.length() > Bounds.LONGEST_FACET_NAME) {
        errors.add(
            "%s: a name of %,d characters (expected: at most %d)"
                .formatted(facet, name.length(), Bounds.LONGEST_FACET_NAME));
      } else if (value.length() > Bounds.LONGEST_FACET_VALUE && !isText) {
        errors.add(
            "%s: %,d characters (expected: at most %,d)"
                .formatted(facet, value.length(), Bounds.LONGEST_FACET_VALUE));
      } else if (value.indexOf('\ufffd') >= 0) {
        errors.add(facet + ": not well-formed UTF-8");
      }
      facets.put(name, value);
    }
    if (!errors.isEmpty()) {
      throw new BadInput(errors, false);
    }
    return facets;
  }

  /**
   * The identity that the query gives: as facets, or as canonical text in {@code identity}. A facet
   * that is secret or long can be given by its value, or by the hash that is shown in its place.
   */
  private Identity identity(Map<String, String> facets, Rule rule) {
    List<String> errors = new ArrayList<>();
    boolean whole = facets.keySet().equals(Set.of(WHOLE_IDENTITY));
    Identity identity =
        whole && !edge.limiter().rules().facets().containsKey(WHOLE_IDENTITY)
            ? Identity.parse(String.valueOf(facets.get(WHOLE_IDENTITY)))
            : shown(facets, errors);
    if (!errors.isEmpty()) {
      throw new BadInput(errors, false);
    }
    edge.limiter().rules().accounts(rule.name(), identity); // refuses one that names no account
    return identity;
  }

  private Identity shown(Map<String, String> facets, List<String> errors) {
    Map<String, String> plain = new LinkedHashMap<>(facets);
    plain.values().removeIf(Identity::isShownHash);
    Identity identity = CheckRequest.identity(plain, edge.facets(), errors);
    for (Map.Entry<String, String> facet : facets.entrySet()) {
      if (Identity.isShownHash(facet.getValue())) {
        identity = identity.withHash(facet.getKey(), facet.getValue());
      }
    }
    return identity;
  }
}
