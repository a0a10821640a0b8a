package dev.sluice.server.admin;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.sluice.Identity;
import dev.sluice.rules.KeptOverride;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The text of an override as the service keeps it, which is JSON. Others may write there, too. */
final class OverrideText {
  private static final JsonFactory JSON =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
  private static final Set<String> MEMBERS =
      Set.of("when", "until", "limit", "limits", "lock", "lockMemory", "lockOn", "countDenied");

  private OverrideText() {}

  /** Whether a text has the form that the service writes. */
  static boolean isOurs(String text) {
    return when(text).isPresent();
  }

  /** The facet values that a text names; empty if it does not have the form. */
  private static Optional<Map<String, String>> when(String text) {
    Map<String, String> when = new LinkedHashMap<>();
    try (JsonParser parser = JSON.createParser(text)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return Optional.empty();
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        boolean isWhen = parser.currentName().equals("when");
        if (!MEMBERS.contains(parser.currentName())) {
          return Optional.empty();
        }
        JsonToken value = parser.nextToken();
        if (!isWhen) {
          parser.skipChildren();
        } else if (value != JsonToken.START_OBJECT || !readTexts(parser, when)) {
          return Optional.empty();
        }
      }
      boolean isWhole = parser.nextToken() == null;
      return isWhole && !when.isEmpty() ? Optional.of(when) : Optional.empty();
    } catch (IOException notJson) {
      return Optional.empty();
    }
  }

  private static boolean readTexts(JsonParser parser, Map<String, String> texts)
      throws IOException {
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      if (parser.nextToken() != JsonToken.VALUE_STRING) {
        return false;
      }
      texts.put(name, parser.getText());
    }
    return true;
  }

  /** Writes the members of a text that is ours into the current object. */
  static void copyMembers(String text, JsonGenerator json) throws IOException {
    try (JsonParser parser = JSON.createParser(text)) {
      parser.nextToken();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        json.copyCurrentStructure(parser);
      }
    }
  }

  /** An override with its reason, for the audit trail. */
  static String audited(KeptOverride override) {
    if (override.reason().isEmpty() || !isOurs(override.text())) {
      return override.text();
    }
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(text)) {
      json.writeStartObject();
      copyMembers(override.text(), json);
      json.writeStringField("reason", override.reason());
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException("text cannot fail to be written", e);
    }
    return text.toString();
  }

  /** Whom an override is for; nobody if that is unknown. */
  static Identity identity(String text) {
    try {
      Identity identity = Identity.none();
      for (Map.Entry<String, String> facet : when(text).orElse(Map.of()).entrySet()) {
        identity =
            Identity.isShownHash(facet.getValue())
                ? identity.withHash(facet.getKey(), facet.getValue())
                : identity.with(facet.getKey(), facet.getValue());
      }
      return identity;
    } catch (IllegalArgumentException notFacets) {
      return Identity.none();
    }
  }
}
