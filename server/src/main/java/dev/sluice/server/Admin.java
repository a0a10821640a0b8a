package dev.sluice.server;

import com.linecorp.armeria.common.AggregatedHttpRequest;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Durations;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.Store;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The routes of operators: rules, accounts and locks. The token has been checked before. */
final class Admin {
  private static final String WHOLE_IDENTITY = "identity";
  private static final int LONGEST_REASON = 200;

  private final Edge edge;
  private final Store store;

  Admin(Edge edge, Store store) {
    this.edge = edge;
    this.store = store;
  }

  /** {@code GET /v1/rules}. */
  HttpResponse rules(ServiceRequestContext ctx, HttpRequest request) {
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
  HttpResponse rule(ServiceRequestContext ctx, HttpRequest request) {
    Rule rule = find(ctx, "name");
    return Replies.ok(json -> RuleJson.write(json, rule, edge.limiter().rules()));
  }

  /** {@code GET /v1/accounts/{rule}?login=ann}. */
  HttpResponse account(ServiceRequestContext ctx, HttpRequest request) {
    Rule rule = find(ctx, "rule");
    Identity identity = identity(ctx, rule);
    return HttpResponse.of(
        look(rule, identity)
            .thenApply(
                decision ->
                    Replies.ok(
                        json -> {
                          json.writeStringField("rule", rule.name());
                          json.writeBooleanField("locked", decision.locked());
                          DecisionJson.writeBalances(json, decision);
                        })));
  }

  /** {@code DELETE /v1/accounts/{rule}?login=ann}. */
  HttpResponse reset(ServiceRequestContext ctx, HttpRequest request) {
    Rule rule = find(ctx, "rule");
    Identity identity = identity(ctx, rule);
    return HttpResponse.of(
        look(rule, identity)
            .thenCompose(
                before ->
                    edge.limiter()
                        .reset(rule.name(), identity)
                        .thenApply(
                            done -> {
                              log(ctx, "account reset", rule, identity, state(before), "as new");
                              return Replies.ok(json -> json.writeBooleanField("reset", done));
                            })));
  }

  /** {@code GET /v1/locks?rule=}. */
  HttpResponse locks(ServiceRequestContext ctx, HttpRequest request) {
    String rule = ctx.queryParam("rule");
    if (rule != null && edge.limiter().rules().find(rule) == null) {
      throw new BadInput(List.of(CheckRequest.unknown(rule, edge.limiter().rules())), true);
    }
    return HttpResponse.of(edge.limiter().locks(rule).thenApply(Admin::list));
  }

  private static HttpResponse list(List<Restriction> locks) {
    return Replies.ok(
        json -> {
          json.writeArrayFieldStart("locks");
          for (Restriction lock : locks) {
            json.writeStartObject();
            json.writeStringField("rule", lock.account().rule());
            DecisionJson.writeIdentity(json, lock.account().identity());
            json.writeNumberField("restrictedUntil", lock.until().toEpochMilli());
            json.writeStringField("until", lock.until().toString());
            json.writeStringField("reason", lock.reason());
            json.writeEndObject();
          }
          json.writeEndArray();
        });
  }

  /** {@code PUT /v1/locks/{rule}?login=ann}. */
  HttpResponse lock(ServiceRequestContext ctx, HttpRequest request) {
    return HttpResponse.of(request.aggregate().thenCompose(whole -> lock(ctx, whole)));
  }

  private CompletionStage<HttpResponse> lock(
      ServiceRequestContext ctx, AggregatedHttpRequest request) {
    Rule rule = find(ctx, "rule");
    Identity identity = identity(ctx, rule);
    LockRequest wanted = LockRequest.parse(request.content().array());
    return look(rule, identity)
        .thenCompose(
            before ->
                edge.limiter()
                    .lock(rule.name(), identity, wanted.length(), wanted.reason())
                    .thenApply(
                        locks -> {
                          String after =
                              "locked until %s: %s".formatted(latest(locks), wanted.reason());
                          log(ctx, "lock set", rule, identity, state(before), after);
                          return list(locks);
                        }));
  }

  private static Instant latest(List<Restriction> locks) {
    return locks.stream().map(Restriction::until).max(Instant::compareTo).orElse(Instant.EPOCH);
  }

  /** {@code DELETE /v1/locks/{rule}?login=ann}. */
  HttpResponse lift(ServiceRequestContext ctx, HttpRequest request) {
    Rule rule = find(ctx, "rule");
    Identity identity = identity(ctx, rule);
    return HttpResponse.of(
        look(rule, identity)
            .thenCompose(
                before ->
                    edge.limiter()
                        .lift(rule.name(), identity)
                        .thenApply(
                            done -> {
                              log(ctx, "lock lifted", rule, identity, state(before), "not locked");
                              return Replies.ok(json -> json.writeBooleanField("lifted", done));
                            })));
  }

  /** The body of a lock set by hand. */
  private record LockRequest(Duration length, String reason) {
    static LockRequest parse(byte[] body) {
      @Nullable Duration[] length = new Duration[1];
      String[] reason = {"set by hand"};
      List<String> errors =
          new ArrayList<>(
              JsonInput.read(
                  body,
                  List.of("duration", "reason"),
                  (name, input) -> {
                    String text = input.string(name);
                    if (text != null && name.equals("duration")) {
                      length[0] = duration(text, input);
                    } else if (text != null) {
                      reason[0] = checkedReason(text, input);
                    }
                  }));
      Duration found = length[0];
      if (errors.isEmpty() && found == null) {
        errors.add("duration: missing (expected: a duration such as 30m)");
      }
      if (found == null || !errors.isEmpty()) {
        throw new BadInput(errors, false);
      }
      return new LockRequest(found, reason[0]);
    }

    private static @Nullable Duration duration(String text, JsonInput input) {
      try {
        Duration parsed = Durations.parse(text);
        if (!parsed.isZero()) {
          return parsed;
        }
        input.error("duration: 0s (expected: longer than 0)");
      } catch (IllegalArgumentException e) {
        input.error("duration: " + e.getMessage());
      }
      return null;
    }

    private static String checkedReason(String text, JsonInput input) {
      boolean good =
          text.length() <= LONGEST_REASON && text.chars().noneMatch(Character::isISOControl);
      if (!good) {
        input.error(
            "reason: %d characters%s (expected: at most %d, no control characters)"
                .formatted(
                    text.length(),
                    text.length() > LONGEST_REASON ? "" : ", some of them control characters",
                    LONGEST_REASON));
      }
      return text;
    }
  }

  private void log(
      ServiceRequestContext ctx,
      String what,
      Rule rule,
      Identity identity,
      String before,
      String after) {
    Identity shown =
        edge.limiter().rules().accounts(rule.name(), identity).stream()
            .map(account -> account.identity())
            .reduce((a, b) -> identity)
            .orElse(identity);
    Audit.log(ctx, what, rule.name(), shown, before, after);
  }

  /** What an account holds, in a few words. */
  private static String state(Decision decision) {
    String balances =
        decision.balances().stream().map(Admin::state).collect(Collectors.joining(", "));
    return balances.isEmpty() ? "not counted" : balances;
  }

  private static String state(Balance balance) {
    Instant until = Instant.EPOCH.plus(Durations.ofMicros(balance.lockedUntilMicros()));
    return "%d of %d left%s"
        .formatted(
            balance.remaining(),
            balance.limit().quota(),
            balance.locked() ? ", locked until " + until : "");
  }

  /** Looks at those accounts of a rule that an identity names, also if it names only some. */
  private CompletionStage<Decision> look(Rule rule, Identity identity) {
    Rule lenient =
        new Rule(
            rule.name(),
            rule.by(),
            rule.terms(),
            rule.overrides(),
            List.of(),
            rule.enforced(),
            Rule.Missing.SKIP,
            rule.onStoreFailure(),
            rule.colocate());
    Rules alone = Rules.of(List.of(lenient), edge.limiter().rules().facets().values());
    return Limiter.of(store, alone).ask(Call.of(rule.name(), identity).peeking());
  }

  private Rule find(ServiceRequestContext ctx, String param) {
    String name = String.valueOf(ctx.pathParam(param));
    Rules rules = edge.limiter().rules();
    Rule rule = rules.find(name);
    if (rule == null) {
      throw new BadInput(List.of(CheckRequest.unknown(name, rules)), true);
    }
    return rule;
  }

  /** The identity in a query: its facets, or in {@code identity} the canonical text of one. */
  private Identity identity(ServiceRequestContext ctx, Rule rule) {
    Map<String, String> facets = new LinkedHashMap<>();
    List<String> errors = new ArrayList<>();
    for (String name : new TreeSet<>(ctx.queryParams().names())) {
      List<String> values = ctx.queryParams(name);
      if (values.size() > 1) {
        errors.add("facet '%s': there %d times (expected: once)".formatted(name, values.size()));
      } else if (values.get(0).indexOf('\ufffd') >= 0) {
        errors.add("facet '%s': not well-formed UTF-8".formatted(name));
      }
      facets.put(name, values.get(0));
    }
    boolean whole = facets.keySet().equals(Set.of(WHOLE_IDENTITY));
    Identity identity =
        whole && !edge.limiter().rules().facets().containsKey(WHOLE_IDENTITY)
            ? Identity.parse(String.valueOf(facets.get(WHOLE_IDENTITY)))
            : CheckRequest.identity(facets, edge.facets(), errors);
    if (!errors.isEmpty()) {
      throw new BadInput(errors, false);
    }
    edge.limiter().rules().accounts(rule.name(), identity); // refuses one that names no account
    return identity;
  }
}
