package dev.sluice.server.api;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Limiter;
import dev.sluice.Rules;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.RequestFacets;
import dev.sluice.http.RequestParts;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The facets of the rules in force, as they are found in requests to this service. Thread-safe. */
public final class CallerFacets {
  private static final Logger LOG = LoggerFactory.getLogger(CallerFacets.class);

  private final Limiter limiter;
  private final ClientAddress client;
  private volatile RequestFacets facets;

  public CallerFacets(Limiter limiter, ClientAddress client) {
    this.limiter = limiter;
    this.client = client;
    this.facets = read(limiter.rules());
  }

  public Limiter limiter() {
    return limiter;
  }

  @SuppressWarnings("ReferenceEquality") // a source gives the same object until the rules change
  public RequestFacets facets() {
    Rules rules = limiter.rules();
    RequestFacets known = facets;
    if (known.rules() != rules) {
      known = read(rules);
      facets = known;
    }
    return known;
  }

  private RequestFacets read(Rules rules) {
    client.tooFine(rules).forEach(LOG::warn);
    return RequestFacets.of(rules, client);
  }

  /** A request as the core sees it. */
  public static RequestParts parts(ServiceRequestContext ctx) {
    return new RequestParts() {
      @Override
      public String peer() {
        return ctx.remoteAddress().getAddress().getHostAddress();
      }

      @Override
      public List<String> headers(String name) {
        return ctx.request().headers().getAll(name);
      }

      @Override
      public List<String> cookies(String name) {
        return ctx.request().headers().contains(HttpHeaderNames.COOKIE)
            ? ctx.request().headers().cookies().stream()
                .filter(cookie -> cookie.name().equals(name))
                .map(cookie -> cookie.value())
                .toList()
            : List.of();
      }

      @Override
      public List<String> queries(String name) {
        return ctx.queryParams(name);
      }
    };
  }
}
