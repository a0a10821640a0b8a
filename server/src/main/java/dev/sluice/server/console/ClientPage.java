package dev.sluice.server.console;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.internal.Durations;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.admin.OverrideRoutes;
import dev.sluice.server.http.Query;
import dev.sluice.server.http.Replies;
import dev.sluice.traffic.Collector;
import dev.sluice.traffic.SampledRefusal;
import dev.sluice.traffic.TopClients;
import java.io.IOException;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One client: its accounts, locks, overrides, and the refusals of it that were sampled. */
final class ClientPage {
  private static final int MOST_RULES = 200;
  private static final int DEFAULT_RULES = 50;
  private static final int SAMPLED_REFUSALS = 2_000;
  private static final int SHOWN_REFUSALS = 50;
  private static final int SHOWN_OVERRIDES = 100;

  private final Limiter limiter;
  private final OverrideRoutes overrides;
  private final Collector collector;

  ClientPage(Limiter limiter, OverrideRoutes overrides, Collector collector) {
    this.limiter = limiter;
    this.overrides = overrides;
    this.collector = collector;
  }

  /**
   * Some of the rules that count a client.
   *
   * @param total how many rules count it
   * @param next the last of these rules if there are more, else null
   */
  private record Page(List<Rule> rules, int total, @Nullable String next) {
    static Page of(List<Rule> counting, @Nullable String after, int limit) {
      List<Rule> behind =
          after == null
              ? counting
              : counting.stream().filter(rule -> rule.name().compareTo(after) > 0).toList();
      List<Rule> page = behind.subList(0, Math.min(limit, behind.size()));
      return new Page(
          page, counting.size(), behind.size() > limit ? page.get(page.size() - 1).name() : null);
    }
  }

  /** {@code GET client?identity=&limit=&after=}: accounts of up to {@code limit} rules. */
  HttpResponse show(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    Identity identity = LockPages.identity(ctx);
    Rules rules = limiter.rules();
    List<Rule> counting =
        rules.all().stream()
            .filter(rule -> counts(rules, rule, identity))
            .sorted(Comparator.comparing(Rule::name))
            .toList();
    Page page =
        Page.of(counting, Query.text(ctx, "after"), Query.limit(ctx, DEFAULT_RULES, MOST_RULES));
    List<CompletableFuture<Decision>> looks =
        page.rules.stream()
            .map(rule -> limiter.inspectAsync(rule.name(), identity).toCompletableFuture())
            .toList();
    CompletableFuture<List<Restriction>> locked =
        CompletableFuture.allOf(looks.toArray(new CompletableFuture<?>[0]))
            .thenComposeAsync(
                done -> locksOf(looks.stream().map(CompletableFuture::join).toList()),
                ctx.blockingTaskExecutor());
    CompletableFuture<TopClients> top = collector.clients().toCompletableFuture();
    CompletableFuture<List<SampledRefusal>> refusals =
        collector.refusals(SAMPLED_REFUSALS).toCompletableFuture();
    CompletableFuture<Map<String, Instant>> applied = overrides.lastApplied().toCompletableFuture();
    return HttpResponse.of(
        CompletableFuture.allOf(locked, top, refusals, applied)
            .thenApplyAsync(
                done ->
                    Replies.ok(
                        json -> {
                          write(
                              json,
                              identity,
                              looks.stream().map(CompletableFuture::join).toList(),
                              locked.join(),
                              top.join(),
                              refusals.join(),
                              applied.join());
                          json.writeNumberField("rules", page.total);
                          json.writeStringField("next", page.next);
                        }),
                ctx.blockingTaskExecutor()));
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
            .map(look -> limiter.locksAsync(look).toCompletableFuture())
            .toList();
    return CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0]))
        .thenApply(
            done -> all.stream().map(CompletableFuture::join).flatMap(List::stream).toList());
  }

  private void write(
      JsonGenerator json,
      Identity identity,
      List<Decision> looks,
      List<Restriction> locked,
      TopClients top,
      List<SampledRefusal> refusals,
      Map<String, Instant> applied)
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
    overrides.writeFor(json, identity, applied, SHOWN_OVERRIDES);
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
    Restriction lock =
        locked.stream()
            .filter(each -> each.account().equals(balance.account()))
            .findFirst()
            .orElse(null);
    Instant since = lock == null ? null : lock.since();
    json.writeStringField("lockedSince", since == null ? null : since.toString());
    json.writeStringField("reason", lock == null ? null : lock.reason());
    json.writeBooleanField("enforced", balance.enforced());
    json.writeEndObject();
  }
}
