package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.Facet;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Terms;
import java.io.IOException;
import java.time.Instant;
import java.util.Locale;
import java.util.Map;

/** Writes a rule as JSON, with the keys of the rule file. Secret values are left out. */
public final class RuleJson {
  private RuleJson() {}

  public static void write(JsonGenerator json, Rule rule, Rules rules) throws IOException {
    json.writeStringField("name", rule.name());
    json.writeArrayFieldStart("by");
    for (String identity : rule.by()) {
      json.writeString(identity);
    }
    json.writeEndArray();
    write(json, rule.terms());
    json.writeStringField("mode", rule.enforced() ? "enforce" : "shadow");
    json.writeStringField("missing", lower(rule.missing()));
    json.writeStringField("onStoreFailure", lower(rule.onStoreFailure()));
    json.writeBooleanField("colocate", rule.colocate());
    json.writeArrayFieldStart("overrides");
    for (Rule.Special override : rule.overrides()) {
      json.writeStartObject();
      json.writeObjectFieldStart("when");
      writeFacets(json, override.when(), rules);
      Instant until = override.until();
      json.writeStringField("until", until == null ? null : until.toString());
      write(json, override.terms());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeArrayFieldStart("exempt");
    for (Map<String, String> exempt : rule.exempt()) {
      json.writeStartObject();
      writeFacets(json, exempt, rules);
    }
    json.writeEndArray();
  }

  /** Writes the members of an override of a rule. Secret values are hashes. */
  static void write(JsonGenerator json, Rule.Special override, Rules rules) throws IOException {
    json.writeObjectFieldStart("when");
    for (Map.Entry<String, String> facet : rules.withoutSecrets(override.when()).entrySet()) {
      json.writeStringField(facet.getKey(), facet.getValue());
    }
    json.writeEndObject();
    Instant until = override.until();
    json.writeStringField("until", until == null ? null : until.toString());
    write(json, override.terms());
  }

  private static void write(JsonGenerator json, Terms terms) throws IOException {
    json.writeArrayFieldStart("limits");
    for (Limit limit : terms.limits()) {
      json.writeString(limit.toString());
    }
    json.writeEndArray();
    Lock lock = terms.lock();
    json.writeStringField("lock", lock == null ? null : lock.toString());
    json.writeStringField("lockOn", lock == null ? null : lower(lock.on()));
    json.writeBooleanField("countDenied", terms.countDenied());
  }

  /** Writes the facets as members of the current object, and closes it. */
  private static void writeFacets(JsonGenerator json, Map<String, String> facets, Rules rules)
      throws IOException {
    for (Map.Entry<String, String> facet : facets.entrySet()) {
      Facet known = rules.facets().get(facet.getKey());
      boolean secret = known != null && known.secret();
      json.writeStringField(facet.getKey(), secret ? "(secret)" : facet.getValue());
    }
    json.writeEndObject();
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
