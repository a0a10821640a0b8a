package dev.sluice.server.console;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.Cycle;
import dev.sluice.Limit;
import dev.sluice.internal.Durations;
import java.io.IOException;

/** A limit as a rule file writes it, so that a page can offer a multiple of it. */
final class LimitForm {
  private LimitForm() {}

  /** Writes null for a window by calendar, which has no multiple. */
  static void write(JsonGenerator json, Limit limit) throws IOException {
    if (limit instanceof Limit.FixedWindow window
        && !Cycle.every(window.cycle().nominal()).equals(window.cycle())) {
      json.writeNull();
      return;
    }
    json.writeStartObject();
    if (limit instanceof Limit.TokenBucket bucket) {
      json.writeObjectFieldStart("token-bucket");
      json.writeNumberField("capacity", bucket.capacity());
      json.writeNumberField("refill", bucket.refill());
      json.writeStringField("per", Durations.format(bucket.period()));
      json.writeEndObject();
    } else if (limit instanceof Limit.SlidingWindow window) {
      json.writeObjectFieldStart("sliding-window");
      json.writeNumberField("limit", window.limit());
      json.writeStringField("per", Durations.format(window.window()));
      json.writeStringField("precision", Durations.format(window.precision()));
      json.writeEndObject();
    } else if (limit instanceof Limit.FixedWindow window) {
      json.writeObjectFieldStart("fixed-window");
      json.writeNumberField("limit", window.limit());
      json.writeStringField("per", Durations.format(window.cycle().nominal()));
      json.writeEndObject();
    } else {
      json.writeObjectFieldStart("sliding-log");
      json.writeNumberField("limit", limit.quota());
      json.writeStringField("per", Durations.format(limit.window()));
      json.writeEndObject();
    }
    json.writeEndObject();
  }
}
