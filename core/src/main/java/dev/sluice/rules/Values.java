package dev.sluice.rules;

import dev.sluice.Limit;
import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Reads single values; throws "found (expected: …)" for invalid ones. */
final class Values {
  private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]{0,39})");

  private Values() {}

  static IllegalArgumentException unfit(String found, String advice) {
    return InvalidValueException.advising(null, found, advice);
  }

  static String text(Node node) {
    return text(node, "expected: a word");
  }

  static String text(Node node, String advice) {
    if (node instanceof Node.Scalar scalar && !scalar.isEmpty()) {
      return scalar.text();
    }
    throw unfit(node.described(), advice);
  }

  /** Reads a number that is not in quotes. */
  static long number(Node node) {
    String text = text(node, "expected: a whole number");
    if (node instanceof Node.Scalar scalar && !scalar.plain()) {
      throw unfit(Text.quoted(text) + " in quotes", "expected: a whole number");
    }
    return number(text);
  }

  static long number(String text) {
    if (!NUMBER.matcher(text).matches()) {
      throw unfit(Text.quoted(text), "expected: a whole number");
    }
    BigInteger value = new BigInteger(text);
    if (value.bitLength() > 62) {
      throw unfit(
          text, value.signum() < 0 ? "expected: at least 1" : "expected: at most " + Limit.LARGEST);
    }
    return value.longValueExact();
  }

  static Duration duration(Node node) {
    return duration(text(node, "expected: a duration such as 10s, 5m, 1h, 1d"));
  }

  static Duration duration(String text) {
    return Durations.parse(text);
  }

  static boolean flag(Node node) {
    String text = text(node, "expected: true or false");
    boolean plain = node instanceof Node.Scalar scalar && scalar.plain();
    if (plain && (text.equals("true") || text.equals("false"))) {
      return text.equals("true");
    }
    throw unfit(Text.quoted(text), "expected: true or false");
  }

  /** Reads one of a few words, each of which stands for a value. */
  static <T> T word(Node node, Map<String, T> words) {
    List<String> possible = words.keySet().stream().sorted().toList();
    String text = text(node, "expected: one of " + String.join(", ", possible));
    T value = words.get(text);
    if (value == null) {
      throw unfit(Text.quoted(text), Text.advice(text, possible));
    }
    return value;
  }

  static Instant instant(Node node) {
    String text = text(node, "expected: a time such as 2030-01-01T00:00:00Z");
    try {
      return OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeException e) {
      throw unfit(Text.quoted(text), "expected: a time such as 2030-01-01T00:00:00Z");
    }
  }

  static ZoneId zone(Node node) {
    String expected = "expected: a region such as Asia/Taipei or Europe/Berlin";
    String text = text(node, expected);
    try {
      return ZoneId.of(text);
    } catch (DateTimeException e) {
      String advice = region(text).map(Text::didYouMean).orElse(expected);
      throw unfit(Text.quoted(text), advice);
    }
  }

  /**
   * The region that was probably meant. Abbreviations get no suggestion: CST is a zone in America
   * and another in China, and the nearest name to both is CET.
   */
  private static Optional<String> region(String text) {
    List<String> regions =
        ZoneId.getAvailableZoneIds().stream().filter(id -> id.indexOf('/') > 0).sorted().toList();
    if (text.indexOf('/') > 0) {
      return Text.nearest(text, regions);
    }
    String city = "/" + text.replace(' ', '_').toLowerCase(Locale.ROOT);
    return regions.stream().filter(id -> id.toLowerCase(Locale.ROOT).endsWith(city)).findFirst();
  }
}
