package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.internal.Bounds;
import dev.sluice.internal.Text;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.JsonInput;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The body of a request for an override. */
record OverrideRequest(String rule, String reason, Map<String, String> when, String original) {
  private static final JsonFactory JSON = new JsonFactory();
  private static final int LONGEST_LISTED = 16_384;

  /** What is not in a rule file. A listed override may be sent back as it is. */
  private static final List<String> OWN =
      List.of("id", "rule", "reason", "by", "created", "applied", "skipped");

  /** Parses a body; throws {@link BadInput} with every error in it. */
  static OverrideRequest parse(byte[] body) {
    Map<String, String> texts = new HashMap<>();
    Map<String, String> when = new LinkedHashMap<>();
    StringWriter kept = new StringWriter();
    List<String> errors;
    try (JsonGenerator json = JSON.createGenerator(kept)) {
      json.writeStartObject();
      errors =
          new ArrayList<>(
              JsonInput.readAll(
                  body,
                  List.of("rule", "when", "limit"),
                  (name, input) -> read(name, input, texts, when, json)));
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException("text cannot fail to be written", e);
    }
    String rule = texts.getOrDefault("rule", "");
    String reason = texts.getOrDefault("reason", "");
    if (errors.isEmpty() && rule.isEmpty()) {
      errors.add("rule: missing (expected: the name of a rule)");
    }
    if (!Text.isPrintable(reason)) {
      errors.add(
          "reason: %s (expected: no control characters, well-formed Unicode)"
              .formatted(Text.quoted(reason)));
    }
    if (!errors.isEmpty()) {
      throw new BadInput(errors, false);
    }
    return new OverrideRequest(rule, reason, when, kept.toString());
  }

  private static void read(
      String name,
      JsonInput input,
      Map<String, String> texts,
      Map<String, String> when,
      JsonGenerator json)
      throws IOException {
    if (name.equals("when")) {
      Map<String, String> given =
          input.texts(
              name, Bounds.MOST_FACETS, Bounds.LONGEST_FACET_NAME, Bounds.LONGEST_FACET_VALUE);
      when.putAll(given == null ? Map.of() : given);
    } else if (!OWN.contains(name)) {
      json.writeFieldName(name); // a name that rule files do not have is refused with the terms
      input.copy(name, json);
    } else if (!input.isNull()) {
      String text = input.string(name, longest(name));
      texts.put(name, text == null ? "" : text);
    }
  }

  private static int longest(String name) {
    return switch (name) {
      case "rule" -> Bounds.LONGEST_RULE_NAME;
      case "reason" -> Bounds.LONGEST_REASON;
      default -> LONGEST_LISTED;
    };
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
