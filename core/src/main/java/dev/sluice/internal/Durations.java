package dev.sluice.internal;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people write them: {@code 500ms}, {@code 10s}, {@code 1h30m}, {@code 7d}. */
public final class Durations {
  /** The longest duration any rule may name; keeps all arithmetic far below 2^53 microseconds. */
  public static final Duration LONGEST = Duration.ofDays(3_660);

  private static final Map<String, Long> UNITS_MICROS = new LinkedHashMap<>();
  private static final Pattern PART = Pattern.compile("(\\d{1,15})(us|ms|s|m|h|d|w)");

  /** A duration in words: {@code second}, {@code 5 minutes}, {@code 1 h}. */
  private static final Pattern WORDS =
      Pattern.compile(
          "(?:([1-9]\\d{0,14})\\s*)?"
              + "(?:(?<ms>ms|msecs?|milli(?:second)?s?)|(?<s>s|secs?|seconds?)|(?<m>m|mins?|minutes?)"
              + "|(?<h>h|hrs?|hours?)|(?<d>d|days?)|(?<w>w|wks?|weeks?))");

  static {
    UNITS_MICROS.put("w", 604_800_000_000L);
    UNITS_MICROS.put("d", 86_400_000_000L);
    UNITS_MICROS.put("h", 3_600_000_000L);
    UNITS_MICROS.put("m", 60_000_000L);
    UNITS_MICROS.put("s", 1_000_000L);
    UNITS_MICROS.put("ms", 1_000L);
    UNITS_MICROS.put("us", 1L);
  }

  private Durations() {}

  /** Parses a duration; throws with what was found and what is expected. */
  public static Duration parse(String text) {
    Matcher part = PART.matcher(text);
    long micros = 0;
    long unitBefore = Long.MAX_VALUE;
    int end = 0;
    while (part.find() && part.start() == end) {
      long unit = UNITS_MICROS.getOrDefault(part.group(2), 1L);
      if (unit >= unitBefore) {
        throw InvalidValueException.of(
            null, Text.quoted(text), "each unit once, the largest first, such as 1h30m");
      }
      unitBefore = unit;
      long count = Long.parseLong(part.group(1));
      if (count > (micros(LONGEST) - micros) / unit) {
        throw InvalidValueException.of(
            null, Text.quoted(text), "at most %s".formatted(format(LONGEST)));
      }
      micros += count * unit;
      end = part.end();
    }
    if (end == 0 || end != text.length()) {
      String advice =
          ofWords(text)
              .map(Text::didYouMean)
              .orElse("expected: a duration such as 500ms, 10s, 5m, 1h30m, 1d");
      throw InvalidValueException.advising(null, Text.quoted(text), advice);
    }
    return ofMicros(micros);
  }

  /** The notation for what was meant by {@code 5 minutes}: {@code 5m}. */
  public static Optional<String> ofWords(String text) {
    Matcher words = WORDS.matcher(text.strip().toLowerCase(Locale.ROOT));
    if (!words.matches()) {
      return Optional.empty();
    }
    String count = words.group(1) == null ? "1" : words.group(1);
    return UNITS_MICROS.keySet().stream()
        .filter(unit -> !unit.equals("us") && words.group(unit) != null)
        .findFirst()
        .map(unit -> count + unit);
  }

  /** Formats a duration in whole seconds, rounded up, so that waiting that long is enough. */
  public static String rounded(Duration duration) {
    long micros = micros(duration);
    return format(Duration.ofSeconds(WholeNumbers.ceilDiv(micros, 1_000_000)));
  }

  /** Formats a duration in the largest units that divide it: {@code 30m}, {@code 1h30m}. */
  public static String format(Duration duration) {
    long rest = micros(duration);
    if (rest == 0) {
      return "0s";
    }
    StringBuilder text = new StringBuilder();
    for (Map.Entry<String, Long> unit : UNITS_MICROS.entrySet()) {
      boolean weeksOnly = unit.getKey().equals("w") && rest % unit.getValue() != 0;
      long count = weeksOnly ? 0 : rest / unit.getValue();
      if (count > 0) {
        text.append(count).append(unit.getKey());
        rest -= count * unit.getValue();
      }
    }
    return text.toString();
  }

  /** Whole milliseconds, rounded up. */
  public static long ceilMillis(long micros) {
    return WholeNumbers.ceilDiv(micros, 1_000);
  }

  /** Whole milliseconds of a duration, rounded up. */
  public static long ceilMillis(Duration duration) {
    return ceilMillis(micros(duration));
  }

  /** A duration in microseconds. */
  public static Duration ofMicros(long micros) {
    return Duration.ofSeconds(micros / 1_000_000, micros % 1_000_000 * 1_000);
  }

  /** Whole microseconds of a duration, rounded up. */
  public static long micros(Duration duration) {
    return Math.addExact(
        Math.multiplyExact(duration.getSeconds(), 1_000_000L), (duration.getNano() + 999) / 1_000);
  }
}
