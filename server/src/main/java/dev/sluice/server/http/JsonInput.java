package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.Limit;
import dev.sluice.internal.Text;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
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
public final class JsonInput {
  private static final int MOST_ERRORS = 32;

  private final List<String> errors = new ArrayList<>(0);
  private final Set<String> seen = new LinkedHashSet<>();
  private final JsonParser json;

  private @Nullable String within; // the object whose members are read now
  private boolean tooLarge;

  private JsonInput(JsonParser json) {
    this.json = json;
  }

  /** Takes a member whose name was just read; its value is next. */
  @FunctionalInterface
  public interface Member {
    public void read(String name, JsonInput input) throws IOException;
  }

  /**
   * Reads the whole body; what is wrong with its members.
   *
   * @throws BadInput if it is no JSON object, or if anything in it is over its bound: then nothing
   *     of it is looked at any further
   */
  public static List<String> read(byte[] body, List<String> known, Member member) {
    return read(body, known, false, member);
  }

  /** As {@link #read}, but members of any other name are read, too. */
  public static List<String> readAll(byte[] body, List<String> known, Member member) {
    return read(body, known, true, member);
  }

  private static List<String> read(byte[] body, List<String> known, boolean others, Member member) {
    if (body.length == 0) {
      throw new BadInput("body: empty (expected: a JSON object with " + known + ")");
    }
    checkUtf8(body);
    try (JsonParser parser = Replies.JSON.createParser(body)) {
      JsonInput input = new JsonInput(parser);
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new BadInput("body: not an object (expected: a JSON object with " + known + ")");
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        input.member(known, others, member);
      }
      if (parser.nextToken() != null) {
        input.error("body: goes on after its end (expected: one JSON object)");
      }
      if (input.tooLarge) {
        throw new BadInput(input.errors, false);
      }
      return input.errors;
    } catch (JsonProcessingException e) {
      throw new BadInput(malformed(e));
    } catch (IOException e) {
      throw new BadInput("body: not well-formed UTF-8 (expected: JSON in UTF-8)");
    }
  }

  /**
   * The parser takes overlong forms for the character they stand for, and guesses UTF-16 from the
   * zeros in it. Two spellings of one text are two chances to pass something that reads only one.
   */
  private static void checkUtf8(byte[] body) {
    boolean plain = true;
    for (byte each : body) {
      plain &= each > 0;
    }
    if (plain) {
      return;
    }
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
      if (text.indexOf('\0') < 0) {
        return;
      }
    } catch (CharacterCodingException e) {
      throw new BadInput("body: not well-formed UTF-8 (expected: JSON in UTF-8)");
    }
    throw new BadInput("body: holds the character U+0000 (expected: JSON in UTF-8)");
  }

  private void member(List<String> known, boolean others, Member member) throws IOException {
    String name = json.currentName();
    json.nextToken();
    if (!seen.add(name)) {
      error(Text.quoted(name) + ": there twice (expected: once)");
      json.skipChildren();
    } else if (others || known.contains(name)) {
      member.read(name, this);
    } else {
      String hint =
          Text.nearest(name, known)
              .map(Text::didYouMean)
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

  public void error(String error) {
    if (errors.size() == MOST_ERRORS) {
      errors.add("body: more than %d mistakes; the rest was not read".formatted(MOST_ERRORS));
      throw new BadInput(errors, false);
    }
    errors.add(error);
  }

  private void tooLarge(String name, String found, String expected) {
    tooLarge = true;
    mistake(name, found, expected);
  }

  private void mistake(String name, String found, String expected) {
    String where = within == null ? name : path(within, name);
    error("%s: %s (expected: %s)".formatted(where, found, expected));
  }

  /** A string of at most so many characters; otherwise an error, and null. */
  public @Nullable String string(String name, int longest) throws IOException {
    if (json.currentToken() != JsonToken.VALUE_STRING) {
      wrong(name, "a string");
      return null;
    }
    if (json.getTextLength() > longest) {
      tooLarge(
          name, "%,d characters".formatted(json.getTextLength()), "at most %,d".formatted(longest));
      return null;
    }
    return json.getText();
  }

  /** True or false; otherwise an error, and false. */
  public boolean flag(String name) throws IOException {
    if (json.currentToken() != JsonToken.VALUE_TRUE
        && json.currentToken() != JsonToken.VALUE_FALSE) {
      wrong(name, "true or false");
    }
    return json.currentToken() == JsonToken.VALUE_TRUE;
  }

  /** A whole number from 0 to 2^52; otherwise an error, and null. */
  public @Nullable Long number(String name) throws IOException {
    String expected = "a whole number, 0 to 2^52";
    if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      wrong(name, expected);
      return null;
    }
    boolean fits = json.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
    long value = fits ? json.getLongValue() : -1;
    if (value < 0 || value > Limit.LARGEST) {
      mistake(name, shortened(json.getText()), expected);
      return null;
    }
    return value;
  }

  private static String shortened(String digits) {
    return digits.length() > 20 ? digits.substring(0, 20) + "…" : digits;
  }

  /** A list of 1 to {@code most} strings; otherwise an error, and null. */
  public @Nullable List<String> strings(String name, int most, int longest) throws IOException {
    if (json.currentToken() != JsonToken.START_ARRAY) {
      wrong(name, "a list of strings");
      return null;
    }
    List<String> values = new ArrayList<>();
    int count = 0;
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (++count > most) {
        json.skipChildren();
        continue;
      }
      String value = string(name, longest);
      if (value != null) {
        values.add(value);
      }
    }
    if (count < 1 || count > most) {
      tooLarge(name, "%,d".formatted(count), "1 to %,d".formatted(most));
    }
    return values.size() == count ? values : null;
  }

  /** An object of at most {@code most} strings; otherwise errors, and null. */
  public @Nullable Map<String, String> texts(String name, int most, int longestName, int longest)
      throws IOException {
    return object(
        name, "an object of strings", most, longestName, member -> string(member, longest));
  }

  /** An object of at most {@code most} whole numbers; otherwise errors, and null. */
  public @Nullable Map<String, Long> numbers(String name, int most, int longestName)
      throws IOException {
    return object(name, "an object of whole numbers", most, longestName, this::number);
  }

  /** Reads a value; if it is not as wanted, that is an error, and null. */
  @FunctionalInterface
  private interface Value<T> {
    @Nullable T read(String name) throws IOException;
  }

  private <T> @Nullable Map<String, T> object(
      String name, String expected, int most, int longestName, Value<T> reader) throws IOException {
    if (json.currentToken() != JsonToken.START_OBJECT) {
      wrong(name, expected);
      return null;
    }
    Map<String, T> values = new LinkedHashMap<>();
    int before = errors.size();
    int count = 0;
    within = name;
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String member = json.currentName();
      json.nextToken();
      if (++count > most) {
        json.skipChildren();
        continue;
      }
      if (member.length() > longestName) {
        tooLarge(
            member,
            "a name of %,d characters".formatted(member.length()),
            "at most %,d".formatted(longestName));
      }
      T value = reader.read(member);
      if (value != null && values.put(member, value) != null) {
        error(path(name, member) + ": there twice (expected: once)");
      }
    }
    within = null;
    if (count > most) {
      tooLarge(name, "%,d members".formatted(count), "at most %,d".formatted(most));
    }
    return errors.size() == before ? values : null;
  }

  /** Whether the value is null. */
  public boolean isNull() {
    return json.currentToken() == JsonToken.VALUE_NULL;
  }

  /** Writes the value as it is, whatever its form. A name that an object has twice is an error. */
  public void copy(String name, JsonGenerator to) throws IOException {
    switch (json.currentToken()) {
      case START_OBJECT -> {
        Set<String> names = new HashSet<>();
        to.writeStartObject();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
          String member = json.currentName();
          if (!names.add(member)) {
            error(path(name, member) + ": there twice (expected: once)");
          }
          json.nextToken();
          to.writeFieldName(member);
          copy(path(name, member), to);
        }
        to.writeEndObject();
      }
      case START_ARRAY -> {
        to.writeStartArray();
        while (json.nextToken() != JsonToken.END_ARRAY) {
          copy(name, to);
        }
        to.writeEndArray();
      }
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> to.writeNumber(json.getText());
      default -> to.copyCurrentEvent(json);
    }
  }

  public static String path(String name, String member) {
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
    mistake(name, found, expected);
  }
}
