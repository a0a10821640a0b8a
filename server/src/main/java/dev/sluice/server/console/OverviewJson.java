package dev.sluice.server.console;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.Identity;
import dev.sluice.Rules;
import dev.sluice.server.api.DecisionJson;
import dev.sluice.traffic.NodeInfo;
import dev.sluice.traffic.Overview;
import dev.sluice.traffic.Points;
import dev.sluice.traffic.SampledRefusal;
import dev.sluice.traffic.Tally;
import dev.sluice.traffic.TopClients;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What nodes do, as JSON for the pages. */
final class OverviewJson {
  private static final double NANOS_A_MILLI = 1_000_000;

  private OverviewJson() {}

  /**
   * Where usage is kept, and how that is.
   *
   * @param kind {@code memory} or {@code redis}
   */
  record StoreState(
      String kind, String name, Optional<String> trouble, List<String> warnings, double locks) {}

  static void write(
      JsonGenerator json,
      Overview overview,
      StoreState store,
      Rules rules,
      @Nullable String rulesFailure,
      Optional<String> collectorTrouble)
      throws IOException {
    json.writeStringField("now", overview.at().toString());
    json.writeArrayFieldStart("nodes");
    long slowest50 = 0;
    long slowest99 = 0;
    for (Overview.NodeTraffic node : overview.nodes()) {
      writeNode(json, node);
      slowest50 = Math.max(slowest50, node.p50Nanos());
      slowest99 = Math.max(slowest99, node.p99Nanos());
    }
    json.writeEndArray();
    json.writeObjectFieldStart("totals");
    writeTally(json, overview.total());
    json.writeEndObject();
    json.writeObjectFieldStart("rates");
    writeRates(json, overview.perSecond());
    json.writeEndObject();
    double enforced = overview.perSecond().enforced();
    json.writeNumberField(
        "denialShare", enforced == 0 ? 0 : overview.perSecond().denied() / enforced);
    json.writeArrayFieldStart("rules");
    for (Overview.RuleTraffic rule : overview.rules()) {
      writeRule(json, rule, rules);
    }
    json.writeEndArray();
    json.writeArrayFieldStart("limits");
    for (Overview.LimitTraffic limit : overview.limits()) {
      json.writeStartObject();
      json.writeStringField("rule", limit.rule());
      json.writeStringField("limit", limit.limit());
      json.writeNumberField("denied", limit.denied());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeObjectFieldStart("store");
    json.writeStringField("kind", store.kind);
    json.writeStringField("name", store.name);
    json.writeStringField("trouble", store.trouble.or(() -> collectorTrouble).orElse(null));
    writeTexts(json, "warnings", store.warnings);
    json.writeNumberField("p50Millis", slowest50 / NANOS_A_MILLI);
    json.writeNumberField("p99Millis", slowest99 / NANOS_A_MILLI);
    json.writeEndObject();
    if (Double.isNaN(store.locks)) {
      json.writeNullField("locks");
    } else {
      json.writeNumberField("locks", (long) store.locks);
    }
    json.writeNumberField("rulesInForce", rules.size());
    json.writeStringField("rulesFailure", rulesFailure);
  }

  private static void writeNode(JsonGenerator json, Overview.NodeTraffic traffic)
      throws IOException {
    NodeInfo node = traffic.node();
    json.writeStartObject();
    json.writeStringField("id", node.id());
    json.writeStringField("host", node.host());
    json.writeNumberField("pid", node.pid());
    json.writeStringField("program", node.program());
    json.writeStringField("version", node.version());
    json.writeStringField("since", node.since().toString());
    json.writeNumberField("rules", node.rules());
    json.writeStringField("rulesVersion", node.rulesVersion());
    json.writeStringField(
        "rulesFailure", node.rulesFailure().isEmpty() ? null : node.rulesFailure());
    json.writeNumberField("decisionsPerSecond", traffic.decisionsPerSecond());
    json.writeNumberField("p50Millis", traffic.p50Nanos() / NANOS_A_MILLI);
    json.writeNumberField("p99Millis", traffic.p99Nanos() / NANOS_A_MILLI);
    json.writeStringField("trouble", node.trouble().isEmpty() ? null : node.trouble());
    writeTexts(json, "warnings", node.warnings());
    json.writeObjectFieldStart("faults");
    for (Map.Entry<String, Long> fault : traffic.faults().entrySet()) {
      json.writeNumberField(fault.getKey(), fault.getValue());
    }
    json.writeEndObject();
    json.writeNumberField("failures", traffic.failures());
    json.writeEndObject();
  }

  private static void writeRule(JsonGenerator json, Overview.RuleTraffic rule, Rules rules)
      throws IOException {
    var known = rules.find(rule.rule());
    json.writeStartObject();
    json.writeStringField("name", rule.rule());
    json.writeStringField("mode", known == null || known.enforced() ? "enforce" : "shadow");
    writeTally(json, rule.total());
    json.writeObjectFieldStart("lately");
    writeTally(json, rule.lately());
    json.writeEndObject();
    writeRate(json, "allowedPerSecond", rule.perSecond().allowed());
    writeRate(json, "deniedPerSecond", rule.perSecond().denied());
    writeRate(json, "unmeteredPerSecond", rule.perSecond().unmetered());
    writeRate(json, "shadowDeniedPerSecond", rule.perSecond().shadowDenied());
    json.writeEndObject();
  }

  private static void writeTally(JsonGenerator json, Tally tally) throws IOException {
    json.writeNumberField("allowed", tally.allowed());
    json.writeNumberField("denied", tally.denied());
    json.writeNumberField("unmetered", tally.unmetered());
    json.writeNumberField("local", tally.local());
    json.writeNumberField("shadowAllowed", tally.shadowAllowed());
    json.writeNumberField("shadowDenied", tally.shadowDenied());
    json.writeNumberField("calls", tally.sum());
  }

  /** A rate; null if it is not known. */
  private static void writeRate(JsonGenerator json, String name, double rate) throws IOException {
    if (Double.isNaN(rate)) {
      json.writeNullField(name);
    } else {
      json.writeNumberField(name, rate);
    }
  }

  private static void writeRates(JsonGenerator json, Overview.Rates rates) throws IOException {
    json.writeNumberField("allowed", rates.allowed());
    json.writeNumberField("denied", rates.denied());
    json.writeNumberField("unmetered", rates.unmetered());
    json.writeNumberField("shadowDenied", rates.shadowDenied());
  }

  static void writeTexts(JsonGenerator json, String name, List<String> texts) throws IOException {
    json.writeArrayFieldStart(name);
    for (String text : texts) {
      json.writeString(text);
    }
    json.writeEndArray();
  }

  static void write(JsonGenerator json, Points points) throws IOException {
    json.writeNumberField("step", points.step().toSeconds());
    json.writeNumberField("from", points.from().toEpochMilli());
    write(json, "allowed", points.allowed());
    write(json, "denied", points.denied());
    write(json, "unmetered", points.unmetered());
    write(json, "shadowDenied", points.shadowDenied());
  }

  private static void write(JsonGenerator json, String name, float[] values) throws IOException {
    json.writeArrayFieldStart(name);
    for (float value : values) {
      if (Float.isNaN(value)) {
        json.writeNull();
      } else {
        json.writeNumber(Math.round(value * 100) / 100.0);
      }
    }
    json.writeEndArray();
  }

  static void write(JsonGenerator json, SampledRefusal refusal) throws IOException {
    json.writeStartObject();
    json.writeStringField("at", refusal.at().toString());
    json.writeStringField("node", refusal.node());
    json.writeStringField("rule", refusal.rule());
    writeIdentity(json, refusal.identity());
    json.writeStringField("limit", refusal.limit());
    Long wait = refusal.retryAfterMillis();
    if (wait == null) {
      json.writeNullField("retryAfterMs");
    } else {
      json.writeNumberField("retryAfterMs", wait);
    }
    json.writeBooleanField("locked", refusal.locked());
    json.writeEndObject();
  }

  static void write(JsonGenerator json, TopClients.Client client) throws IOException {
    json.writeStartObject();
    writeIdentity(json, client.identity());
    json.writeNumberField("calls", client.calls());
    json.writeNumberField("denied", client.denied());
    json.writeNumberField("error", client.error());
    json.writeEndObject();
  }

  /** The text of an identity for requests, and its facets to be shown. */
  static void writeIdentity(JsonGenerator json, String text) throws IOException {
    json.writeStringField("identity", text);
    json.writeObjectFieldStart("facets");
    for (Map.Entry<String, String> facet : facets(text).entrySet()) {
      json.writeStringField(facet.getKey(), DecisionJson.shown(facet.getValue()));
    }
    json.writeEndObject();
  }

  private static Map<String, String> facets(String text) {
    try {
      return Identity.parse(text).facets();
    } catch (IllegalArgumentException unreadable) {
      return Map.of(); // of another version
    }
  }
}
