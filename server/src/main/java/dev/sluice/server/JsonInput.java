package dev.sluice.server;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.Limit;
import dev.sluice.Text;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the object in a request's body member by member and gathers what is wrong with it.
 *
 * <p>Used by one thread.
 */
final class JsonInput {
  private final List<String> errors = new ArrayList<>(0);
  private final Set<String> seen = new LinkedHashSet<>();
  private final JsonParser json;

  private JsonInput(JsonParser json) {
    this.json = json;
  }

  /** Takes a member whose name was just read; its value is next. */
  @FunctionalInterface
  interface Member {
    void read(String name, JsonInput input) throws IOException;
  }

  /** Reads the whole body; what is wrong with its members. {@link BadInput} if it has none. */
  static List<String> read(byte[] body, List<String> known, Member member) {
    if (body.length == 0) {
      throw new BadInput("body: empty (expected: a JSON object with " + known + ")");
    }
    try (JsonParser parser = Replies.JSON.createParser(body)) {
      JsonInput input = new JsonInput(parser);
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new BadInput("body: not an object (expected: a JSON object with " + known + ")");
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        input.member(known, member);
      }
      if (parser.nextToken() != null) {
        input.errors.add("body: goes on after its end (expected: one JSON object)");
      }
      return input.errors;
    } catch (JsonProcessingException e) {
      throw new BadInput(malformed(e));
    } catch (IOException e) {
      throw new BadInput("body: not well-formed UTF-8 (expected: JSON)");
    }
  }

  private void member(List<String> known, Member member) throws IOException {
    String name = json.currentName();
    json.nextToken();
    if (!seen.add(name)) {
      error(Text.quoted(name) + ": there twice (expected: once)");
      json.skipChildren();
    } else if (known.contains(name)) {
      member.read(name, this);
    } else {
      String hint =
          Text.nearest(name, known)
              .map(near -> "did you mean '" + near + "'?")
              .orElse("expected: " + String.join(", ", known));
      error("%s: unknown (%s)".formatted(Text.quoted(name), hint));
      json.skipChildren();
    }
  }

  private static String malformed(JsonProcessingException e) {
    String what = String.valueOf(e.getOriginalMessage());
    String first = what.split("[\\r\\n]", 2)[0];
    String where =
        e.getLocation() == null
            ? ""
            : " at line %d, column %d"
                .formatted(e.getLocation().getLineNr(), e.getLocation().getColumnNr());
    String shown = Text.quoted(first);
    return "body: malformed JSON%s: %s".formatted(where, shown.substring(1, shown.length() - 1));
  }

  void error(String error) {
    errors.add(error);
  }

  /** A string; otherwise an error, and null. */
  @Nullable String string(String name) throws IOException {
    if (json.currentToken() == JsonToken.VALUE_STRING) {
      return json.getText();
    }
    wrong(name, "a string");
    return null;
  }

  /** A whole number from 0 to 2^52; otherwise an error, and null. */
  @Nullable Long number(String name) throws IOException {
    String expected = "a whole number, 0 to 2^52";
    if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      wrong(name, expected);
      return null;
    }
    boolean fits = json.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
    long value = fits ? json.getLongValue() : -1;
    if (value < 0 || value > Limit.LARGEST) {
      error("%s: %s (expected: %s)".formatted(name, shortened(json.getText()), expected));
      return null;
    }
    return value;
  }

  private static String shortened(String digits) {
    return digits.length() > 20 ? digits.substring(0, 20) + "…" : digits;
  }

  /** A list of strings; otherwise an error, and null. */
  @Nullable List<String> strings(String name) throws IOException {
    if (json.currentToken() != JsonToken.START_ARRAY) {
      wrong(name, "a list of strings");
      return null;
    }
    List<String> values = new ArrayList<>();
    boolean good = true;
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (json.currentToken() == JsonToken.VALUE_STRING) {
        values.add(json.getText());
      } else {
        good = false;
        json.skipChildren();
      }
    }
    if (!good) {
      error(name + ": holds something else (expected: a list of strings)");
    }
    return good ? values : null;
  }

  /** An object of strings; otherwise errors, and null. */
  @Nullable Map<String, String> texts(String name) throws IOException {
    if (json.currentToken() != JsonToken.START_OBJECT) {
      wrong(name, "an object of strings");
      return null;
    }
    Map<String, String> values = new LinkedHashMap<>();
    int wrong = errors.size();
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String member = json.currentName();
      if (json.nextToken() != JsonToken.VALUE_STRING) {
        wrong(path(name, member), "a string");
      } else if (values.put(member, json.getText()) != null) {
        error(path(name, member) + ": there twice (expected: once)");
      }
    }
    return errors.size() == wrong ? values : null;
  }

  private static String path(String name, String member) {
    return name + "." + Text.quoted(member);
  }

  private void wrong(String name, String expected) throws IOException {
    String found =
        switch (json.currentToken()) {
          case START_OBJECT -> "an object";
          case START_ARRAY -> "a list";
          case VALUE_STRING -> "a string";
          case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
          default -> json.getText();
        };
    json.skipChildren();
    error("%s: %s (expected: %s)".formatted(name, found, expected));
  }
}
