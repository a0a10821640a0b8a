package dev.sluice.server.health;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.api.CallerFacets;
import dev.sluice.server.http.Intake;
import dev.sluice.server.http.Replies;
import dev.sluice.store.Store;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Optional;

/** The routes for monitoring: liveness, readiness, metrics, and the OpenAPI description. */
public final class HealthRoutes {
  private static final MediaType YAML = MediaType.parse("application/yaml");
  private static final MediaType PROMETHEUS = MediaType.parse("text/plain; version=0.0.4");

  private static final HttpData OPENAPI = HttpData.wrap(resource("openapi.yaml"));

  private final CallerFacets edge;
  private final Store store;
  private final Meters meters;
  private final Intake intake;

  public HealthRoutes(CallerFacets edge, Store store, Meters meters, Intake intake) {
    this.edge = edge;
    this.store = store;
    this.meters = meters;
    this.intake = intake;
  }

  /** {@code GET /health/live}: 200 while the process answers; does not depend on the store. */
  public HttpResponse live(ServiceRequestContext ctx, HttpRequest request) {
    return Replies.ok(json -> json.writeStringField("status", "live"));
  }

  /** {@code GET /health/ready}: 503 only while the service stops. */
  public HttpResponse ready(ServiceRequestContext ctx, HttpRequest request) {
    boolean ready = !intake.isDraining();
    return Replies.json(
        ready ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE,
        MediaType.JSON,
        json -> {
          json.writeStringField("status", ready ? "ready" : "draining");
          Optional<String> trouble = store.trouble();
          json.writeBooleanField("degraded", trouble.isPresent() || meters.isDegraded());
          if (trouble.isPresent()) {
            json.writeStringField("reason", trouble.get());
          }
          json.writeArrayFieldStart("warnings");
          for (String warning : store.warnings()) {
            json.writeString(warning);
          }
          json.writeEndArray();
          json.writeNumberField("rules", edge.limiter().rules().size());
          json.writeBooleanField("rulesRefused", edge.limiter().source().failure().isPresent());
        });
  }

  /** {@code GET /metrics}. */
  public HttpResponse metrics(ServiceRequestContext ctx, HttpRequest request) {
    meters.expect(edge.limiter().rules().all());
    return HttpResponse.of(HttpStatus.OK, PROMETHEUS, HttpData.ofUtf8(meters.registry().scrape()));
  }

  /** {@code GET /openapi.yaml}. */
  public HttpResponse openapi(ServiceRequestContext ctx, HttpRequest request) {
    return HttpResponse.of(HttpStatus.OK, YAML, OPENAPI);
  }

  /** A resource file of the service. */
  public static byte[] resource(String name) {
    try (InputStream in =
        Objects.requireNonNull(
            HealthRoutes.class.getResourceAsStream("/dev/sluice/server/" + name), name)) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(name, e);
    }
  }
}
