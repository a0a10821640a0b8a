package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.Facet;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.server.http.Replies;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The version of rules: a hash of everything that decides. Rules that decide in the same way have
 * the same version in every process.
 *
 * @param version of all rules and facets
 * @param facets the hash of the facets
 * @param rules the hash of each rule, by name, sorted
 */
public record RuleVersion(String version, String facets, Map<String, String> rules) {
  /*
   * Maps of a rule have another order in each JVM, so all maps are sorted. A limit in words does not
   * say its kind, and a lock not always its memory, so both are written out. Secret values are
   * hashed by themselves first, as in accounts. Then the same secret has one hash, whether it is in
   * a file or in an override that was made at run time.
   */
  private static final int DIGITS = 8;

  /** Computes the version of rules. */
  public static RuleVersion of(Rules rules) {
    String facets =
        hash(
            json -> {
              for (Facet facet : new TreeMap<>(rules.facets()).values()) {
                json.writeStartArray();
                write(json, facet);
                json.writeEndArray();
              }
            });
    Map<String, Rule> byName = new TreeMap<>();
    rules.all().forEach(rule -> byName.put(rule.name(), rule));
    Map<String, String> hashes = new LinkedHashMap<>();
    byName.forEach((name, rule) -> hashes.put(name, hash(json -> write(json, rule, rules))));
    String version =
        hash(
            json -> {
              json.writeString(facets);
              for (Map.Entry<String, String> rule : hashes.entrySet()) {
                json.writeString(rule.getKey());
                json.writeString(rule.getValue());
              }
            });
    return new RuleVersion(version, facets, hashes);
  }

  private static String hash(Replies.Body body) {
    return AdminToken.sha256(Replies.arrayText(body)).substring(0, DIGITS);
  }

  private static void write(JsonGenerator json, Facet facet) throws IOException {
    json.writeString(facet.name());
    json.writeString(facet.source().name());
    json.writeString(facet.key());
    json.writeBoolean(facet.secret());
    for (Facet.Normalization step : facet.normalize()) {
      json.writeString(step.name());
    }
  }

  private static void write(JsonGenerator json, Rule rule, Rules rules) throws IOException {
    json.writeStartArray();
    for (String identity : rule.by()) {
      json.writeString(identity);
    }
    json.writeEndArray();
    write(json, rule.terms());
    json.writeBoolean(rule.enforced());
    json.writeString(rule.missing().name());
    json.writeString(rule.onStoreFailure().name());
    json.writeBoolean(rule.colocate());
    json.writeStartArray();
    for (Rule.Special override : rule.overrides()) {
      write(json, override.when(), rules);
      Instant until = override.until();
      json.writeString(until == null ? "" : until.toString());
      write(json, override.terms());
    }
    json.writeEndArray();
    for (Map<String, String> exempt : rule.exempt()) {
      write(json, exempt, rules);
    }
  }

  private static void write(JsonGenerator json, Terms terms) throws IOException {
    json.writeStartArray();
    for (Limit limit : terms.limits()) {
      json.writeString(limit.getClass().getSimpleName() + ' ' + limit);
    }
    Lock lock = terms.lock();
    if (lock != null) {
      json.writeStartArray();
      json.writeString(lock.on().name());
      json.writeString(Durations.format(lock.memory()));
      for (Duration duration : lock.durations()) {
        json.writeString(Durations.format(duration));
      }
      json.writeEndArray();
    }
    json.writeBoolean(terms.countDenied());
    json.writeEndArray();
  }

  private static void write(JsonGenerator json, Map<String, String> values, Rules rules)
      throws IOException {
    json.writeStartObject();
    for (Map.Entry<String, String> facet : new TreeMap<>(rules.withoutSecrets(values)).entrySet()) {
      json.writeStringField(facet.getKey(), facet.getValue());
    }
    json.writeEndObject();
  }
}
