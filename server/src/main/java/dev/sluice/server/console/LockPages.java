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
import java.util.concurrent.Executor;
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
    CompletionStage<LockPage> found =
        wanted == null
            ? limiter.locksAsync(rule, limit, after)
            : new Search(rule, wanted.toLowerCase(Locale.ROOT), limit, ctx.blockingTaskExecutor())
                .from(after, 0, List.of());
    return HttpResponse.of(
        found.thenApplyAsync(
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
                    }),
            ctx.blockingTaskExecutor()));
  }

  /** Looks through up to 10,000 locks for those with a text in identity, rule or reason. */
  private final class Search {
    private final @Nullable String rule;
    private final String wanted;
    private final int limit;
    private final Executor executor;

    /**
     * A search.
     *
     * @param executor compares; continuations of decisions must not wait for that
     */
    Search(@Nullable String rule, String wanted, int limit, Executor executor) {
      this.rule = rule;
      this.wanted = wanted;
      this.limit = limit;
      this.executor = executor;
    }

    CompletionStage<LockPage> from(@Nullable String after, int seen, List<Restriction> found) {
      return limiter
          .locksAsync(rule, LockPage.LARGEST, after)
          .thenComposeAsync(
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
                    : from(next, looked, all);
              },
              executor);
    }
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
            .thenComposeAsync(
                body -> admin.lockNamed(ctx, operator, body), ctx.blockingTaskExecutor()));
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
