package dev.sluice.server.console;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Limiter;
import dev.sluice.RuleSource;
import dev.sluice.internal.Text;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.Query;
import dev.sluice.server.http.Replies;
import dev.sluice.store.Store;
import dev.sluice.traffic.Collector;
import dev.sluice.traffic.Points;
import dev.sluice.traffic.TopClients;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.function.DoubleSupplier;

/** What all nodes do: the overview, its charts, and the clients with the most calls. */
final class TrafficPages {
  private static final int MOST_CLIENTS = 200;
  private static final int DEFAULT_CLIENTS = 100;

  private final Limiter limiter;
  private final Store store;
  private final String storeName;
  private final DoubleSupplier locks;
  private final Collector collector;

  /**
   * The pages of a service.
   *
   * @param locks how many locks there are; NaN if that is not known
   */
  TrafficPages(
      Limiter limiter, Store store, String storeName, DoubleSupplier locks, Collector collector) {
    this.limiter = limiter;
    this.store = store;
    this.storeName = storeName;
    this.locks = locks;
    this.collector = collector;
  }

  /** {@code GET overview}. */
  HttpResponse overview(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    return Replies.ok(this::writeOverview);
  }

  void writeOverview(JsonGenerator json) throws IOException {
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
        limiter.rules(),
        limiter.source().failure().map(RuleSource.Failure::message).orElse(null),
        collector.trouble());
  }

  /** {@code GET series?range=&rule=}: the last 15 minutes or 24 hours. */
  HttpResponse series(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
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

  /** {@code GET clients?sort=&limit=}: the busiest, or the most refused. */
  HttpResponse clients(ServiceRequestContext ctx, HttpRequest request, Operator operator) {
    boolean refused = "refused".equals(ctx.queryParam("sort"));
    int limit = Query.limit(ctx, DEFAULT_CLIENTS, MOST_CLIENTS);
    return HttpResponse.of(
        collector
            .clients()
            .thenApply(top -> refused ? top.refused() : top.busiest())
            .thenApply(clients -> clients.subList(0, Math.min(limit, clients.size())))
            .thenApply(clients -> Replies.ok(json -> write(json, clients))));
  }

  private static void write(JsonGenerator json, List<TopClients.Client> clients)
      throws IOException {
    json.writeArrayFieldStart("clients");
    for (TopClients.Client client : clients) {
      OverviewJson.write(json, client);
    }
    json.writeEndArray();
  }
}
