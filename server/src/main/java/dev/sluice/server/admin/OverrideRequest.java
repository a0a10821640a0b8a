package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.internal.Bounds;
import dev.sluice.internal.Text;
import dev.sluice.server.http.BadInput;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The body of a request for an override. */
record OverrideRequest(String rule, String reason, Map<String, String> when, String original) {
  private static final JsonFactory JSON = new JsonFactory();
  private static final List<String> OWN =
      List.of("id", "rule", "reason", "by", "created", "applied", "skipped");

  static OverrideRequest parse(byte[] body) {
    String rule = "";
    String reason = "";
    Map<String, String> when = new LinkedHashMap<>();
    StringWriter kept = new StringWriter();
    try (JsonParser parser = JSON.createParser(body);
        JsonGenerator json = JSON.createGenerator(kept)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new BadInput("body: not a JSON object (expected: {\"rule\": …, \"when\": …})");
      }
      json.writeStartObject();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        if (name.equals("when") && parser.nextToken() == JsonToken.START_OBJECT) {
          readWhen(parser, when);
        } else if (OWN.contains(name)) {
          JsonToken value = parser.nextToken();
          if (value != JsonToken.VALUE_STRING && value != JsonToken.VALUE_NULL) {
            throw new BadInput(name + ": not a text (expected: a text)");
          }
          String text = parser.getValueAsString("");
          rule = name.equals("rule") ? text : rule;
          reason = name.equals("reason") ? text : reason;
          parser.skipChildren();
        } else if (!name.equals("when")) {
          json.copyCurrentStructure(parser);
        }
      }
      json.writeEndObject();
    } catch (IOException e) {
      throw new BadInput("body: not well-formed (expected: JSON)");
    }
    if (rule.isEmpty()) {
      throw new BadInput("rule: missing (expected: the name of a rule)");
    }
    if (reason.length() > Bounds.LONGEST_REASON || !Text.isPrintable(reason)) {
      throw new BadInput(
          "reason: %,d characters (expected: at most %d, no control characters)"
              .formatted(reason.length(), Bounds.LONGEST_REASON));
    }
    return new OverrideRequest(rule, reason, when, kept.toString());
  }

  private static void readWhen(JsonParser parser, Map<String, String> when) throws IOException {
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String facet = parser.currentName();
      if (parser.nextToken().isScalarValue()) {
        when.put(facet, parser.getValueAsString(""));
      } else {
        throw new BadInput("when." + facet + ": not a text (expected: a text)");
      }
    }
  }

  /** The override as in a rule file, with these values, or those of the request if none. */
  String terms(Map<String, String> values) {
    StringWriter text = new StringWriter();
    try (JsonParser parser = JSON.createParser(original);
        JsonGenerator json = JSON.createGenerator(text)) {
      json.writeStartObject();
      json.writeObjectFieldStart("when");
      for (Map.Entry<String, String> facet : (values.isEmpty() ? when : values).entrySet()) {
        json.writeStringField(facet.getKey(), facet.getValue());
      }
      json.writeEndObject();
      parser.nextToken();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        json.copyCurrentStructure(parser);
      }
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException("text cannot fail to be written", e);
    }
    return text.toString();
  }
}
