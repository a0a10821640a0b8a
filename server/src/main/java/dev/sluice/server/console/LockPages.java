package dev.sluice.server.console;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.LockPage;
import dev.sluice.Restriction;
import dev.sluice.server.admin.AdminRoutes;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.Body;
import dev.sluice.server.http.Query;
import dev.sluice.server.http.Replies;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Who is locked; lifting and setting locks, and resetting accounts. */
final class LockPages {
  private static final int DEFAULT_PAGE = 100;
  private static final int SEARCHED = 10_000;

  private final Limiter limiter;
  private final AdminRoutes admin;
  private final int mostRequestBytes;

  LockPages(Limiter limiter, AdminRoutes admin, int mostRequestBytes) {
    this.limiter = limiter;
    this.admin = admin;
    this.mostRequestBytes = mostRequestBytes;
  }

  /** The identity that a request names. */
  static Identity identity(ServiceRequestContext ctx) {
    String text = Query.text(ctx, "identity");
    if (text == null) {
      throw new BadInput("identity: missing (expected: such as login=ann)");
    }
    return Identity.parse(text);
  }

  /**
   * {@code GET locks?rule=&q=&limit=&after=}. With {@code q}, a page can have fewer locks than
   * {@code limit} although there is a next one: a request looks at 10,000 locks at most.
   */
  HttpResponse list(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    String rule = Query.text(ctx, "rule");
    String wanted = Query.text(ctx, "q");
    String after = Query.text(ctx, "after");
    int limit = Query.limit(ctx, DEFAULT_PAGE, LockPage.LARGEST);
    // A memory store sorts all its locks, which must not hold up the thread that serves decisions.
    return HttpResponse.of(
        CompletableFuture.supplyAsync(
                () ->
                    wanted == null
                        ? limiter.locksAsync(rule, limit, after)
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
                          if (wanted == null) {
                            json.writeNumberField("total", page.total());
                          } else {
                            json.writeNullField("total");
                          }
                          json.writeStringField("next", page.next());
                        })));
  }

  /** Looks through up to 10,000 locks for those with a text in identity, rule or reason. */
  private CompletionStage<LockPage> search(
      @Nullable String rule,
      String wanted,
      int limit,
      @Nullable String after,
      int seen,
      List<Restriction> found) {
    return limiter
        .locksAsync(rule, LockPage.LARGEST, after)
        .thenCompose(
            page -> {
              List<Restriction> all = new ArrayList<>(found);
              page.locks().stream().filter(lock -> matches(lock, wanted)).forEach(all::add);
              int looked = seen + page.locks().size();
              String next = page.next();
              if (all.size() > limit) {
                next = LockPage.Place.of(all.get(limit - 1)).toString();
                all = all.subList(0, limit);
              }
              return next == null || all.size() == limit || looked >= SEARCHED
                  ? CompletableFuture.completedFuture(new LockPage(all, page.total(), next))
                  : search(rule, wanted, limit, next, looked, all);
            });
  }

  private static boolean matches(Restriction lock, String wanted) {
    return lock.reason().toLowerCase(Locale.ROOT).contains(wanted)
        || lock.account().rule().toLowerCase(Locale.ROOT).contains(wanted)
        || lock.account().identity().facets().values().stream()
            .anyMatch(value -> value.toLowerCase(Locale.ROOT).contains(wanted));
  }

  private static void write(JsonGenerator json, Restriction lock) throws IOException {
    Instant since = lock.since();
    json.writeStartObject();
    json.writeStringField("rule", lock.account().rule());
    OverviewJson.writeIdentity(json, lock.account().identity().toString());
    json.writeStringField("since", since == null ? null : since.toString());
    json.writeStringField("until", lock.restrictedUntil().toString());
    json.writeStringField("reason", lock.reason());
    json.writeEndObject();
  }

  /** {@code PUT locks}. */
  HttpResponse lock(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(
        Body.read(request, mostRequestBytes)
            .thenCompose(body -> admin.lockNamed(ctx, operator, body)));
  }

  /** {@code DELETE locks?rule=&identity=&keepUsage=}. */
  HttpResponse lift(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    boolean keepUsage = "true".equals(ctx.queryParam("keepUsage"));
    return HttpResponse.of(
        admin.lift(
            ctx, operator, String.valueOf(ctx.queryParam("rule")), identity(ctx), keepUsage));
  }

  /** {@code DELETE accounts?rule=&identity=}. */
  HttpResponse reset(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return HttpResponse.of(
        admin.reset(ctx, operator, String.valueOf(ctx.queryParam("rule")), identity(ctx)));
  }
}
