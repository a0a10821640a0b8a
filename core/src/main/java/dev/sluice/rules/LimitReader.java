package dev.sluice.rules;

import dev.sluice.Cycle;
import dev.sluice.Limit;
import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads limits: {@code 3 per 30m}, or a kind with its parts. */
final class LimitReader {
  private static final Pattern SHORT =
      Pattern.compile("(\\S+)\\s+per\\s+(.+?)(?:,?\\s+precision\\s+(.+))?");

  /** Notations that people try, each with a count, a time and possibly a zone. */
  private static final Pattern TRIED =
      Pattern.compile(
          "([0-9]{1,16})(?:\\s*/\\s*|\\s+(?:per|an?|each|every)\\s+)([A-Za-z0-9][A-Za-z0-9 ]{0,30}?)"
              + "(?:,?\\s+(?:zone|in)\\s+([A-Za-z0-9_+/-]{1,60}))?");

  private static final Pattern MONTH_DAY = Pattern.compile("([0-9]{2})-([0-9]{2})");
  private static final Map<String, Collection<String>> KINDS = new LinkedHashMap<>();
  private static final String FORMS;
  private static final Map<String, Cycle.Unit> UNITS =
      Arrays.stream(Cycle.Unit.values())
          .collect(Collectors.toMap(Cycle.Unit::toString, Function.identity()));
  private static final Map<String, DayOfWeek> DAYS =
      Arrays.stream(DayOfWeek.values())
          .collect(Collectors.toMap(day -> day.name().toLowerCase(Locale.ROOT), day -> day));

  static {
    KINDS.put("sliding-log", List.of("limit", "per"));
    KINDS.put("sliding-window", List.of("limit", "per", "precision"));
    KINDS.put("fixed-window", List.of("limit", "per", "zone", "anchor"));
    KINDS.put("token-bucket", List.of("capacity", "refill", "per"));
    FORMS = "expected: such as 3 per 30m, or one of " + String.join(", ", KINDS.keySet());
  }

  private LimitReader() {}

  /** Reads the limits of a section; empty if it has none, or no valid one. */
  static List<Limit> limits(Section section) {
    if (section.has("limit") && section.has("limits")) {
      section.fail("limits", "limit and limits are both there", "expected: one of them");
    }
    List<Limit> limits = new ArrayList<>();
    Node one = section.values().get("limit");
    if (one != null) {
      add(limits, limit(section, "limit", section.line("limit"), one));
    }
    Node several = section.values().get("limits");
    if (several instanceof Node.Items items && !items.nodes().isEmpty()) {
      items.nodes().forEach(node -> add(limits, limit(section, "limits", node.line(), node)));
    } else if (several != null) {
      String found =
          several instanceof Node.Items
              ? "limits is an empty list"
              : "limits is " + several.described();
      section.fail("limits", found, "expected: a list such as [10 per 1s, 120 per 1m]");
    }
    return limits;
  }

  private static void add(List<Limit> limits, @Nullable Limit limit) {
    if (limit != null) {
      limits.add(limit);
    }
  }

  private static @Nullable Limit limit(Section section, String key, int line, Node node) {
    if (!(node instanceof Node.Mapping mapping)) {
      return section.read(key, node, LimitReader::shortForm);
    }
    if (mapping.entries().size() != 1) {
      section.fail(line, key + " has " + mapping.entries().size() + " keys", FORMS);
      return null;
    }
    Node.Entry kind = mapping.entries().get(0);
    String name = kind.key().text();
    Collection<String> known = KINDS.get(name);
    if (known == null) {
      String found = "the kind of limit is " + Text.quoted(name);
      section.fail(kind.key().line(), found, Text.advice(name, KINDS.keySet()));
      return null;
    }
    Section parts = section.inner(name, kind.key().line(), kind.value(), known);
    return parts == null ? null : longForm(name, parts);
  }

  private static Limit shortForm(Node node) {
    String text = Values.text(node, FORMS);
    Matcher parts = SHORT.matcher(text);
    if (!parts.matches() || text.contains(" zone ")) {
      throw Values.unfit(Text.quoted(text), meant(text));
    }
    long count = Values.number(parts.group(1));
    Duration per = named("per", () -> window(parts.group(2), parts.group(1)));
    String precision = parts.group(3);
    return precision == null
        ? Limit.slidingLog(count, per)
        : Limit.slidingWindow(count, per, named("precision", () -> Values.duration(precision)));
  }

  /** Suggests the right notation for what was tried, else lists all notations. */
  private static String meant(String text) {
    Matcher tried = TRIED.matcher(text);
    if (!tried.matches()) {
      return FORMS;
    }
    String count = tried.group(1);
    String time = tried.group(2).strip();
    String zone = tried.group(3);
    Cycle.Unit unit = UNITS.get(time.toLowerCase(Locale.ROOT));
    if (zone != null) {
      return "expected: fixed-window: {limit: %s, per: %s, zone: %s}"
          .formatted(count, unit == null ? "day" : unit, zone);
    }
    return Durations.ofWords(time)
        .map(span -> Text.didYouMean(count + " per " + span))
        .orElse(FORMS);
  }

  private static <T> T named(String name, Supplier<T> reader) {
    try {
      return reader.get();
    } catch (InvalidValueException unfit) {
      throw unfit.named(name);
    }
  }

  private static @Nullable Limit longForm(String kind, Section parts) {
    if (kind.equals("token-bucket")) {
      Long capacity = parts.need("capacity", Values::number, "how many can pass at once");
      Long refill = parts.need("refill", Values::number, "how many come back every 'per'");
      Duration per = parts.need("per", LimitReader::window, "a duration such as 1s");
      return capacity == null || refill == null || per == null
          ? null
          : parts.build("capacity", () -> Limit.tokenBucket(capacity, refill, per));
    }
    Long count = parts.need("limit", Values::number, "how many may pass");
    if (kind.equals("fixed-window")) {
      Cycle cycle = cycle(parts);
      return count == null || cycle == null
          ? null
          : parts.build("limit", () -> Limit.fixedWindow(count, cycle));
    }
    Duration per = parts.need("per", LimitReader::window, "a duration such as 30m");
    Duration precision = parts.read("precision", Values::duration);
    if (count == null || per == null || (precision == null && parts.has("precision"))) {
      return null;
    }
    return parts.build("limit", () -> sliding(kind, count, per, precision));
  }

  private static Limit sliding(
      String kind, long count, Duration per, @Nullable Duration precision) {
    if (kind.equals("sliding-log")) {
      return Limit.slidingLog(count, per);
    }
    return precision == null
        ? Limit.slidingWindow(count, Limit.checkSpan("per", per))
        : Limit.slidingWindow(count, per, precision);
  }

  private static Duration window(Node node) {
    return window(Values.text(node, "expected: a duration such as 10s, 5m, 1h, 1d"), "3");
  }

  /**
   * Reads the length of a sliding window.
   *
   * @param count the limit, for an example in the message
   */
  private static Duration window(String text, String count) {
    if (UNITS.containsKey(text)) {
      String length = Durations.ofWords(text).orElse(text.equals("month") ? "30d" : "365d");
      throw Values.unfit(
          Text.quoted(text),
          "expected: a duration such as %s; calendar units need fixed-window: {limit: %s, per: %s}"
              .formatted(length, count, text));
    }
    return Values.duration(text);
  }

  private static @Nullable Cycle cycle(Section parts) {
    String per = parts.need("per", Values::text, "a duration such as 1h, or such as month");
    ZoneId zone = parts.read("zone", Values::zone, ZoneOffset.UTC);
    if (per == null) {
      return null;
    }
    Cycle.Unit unit = UNITS.get(per);
    if (unit != null) {
      return calendar(parts, unit, zone);
    }
    for (String key : List.of("zone", "anchor")) {
      if (parts.has(key)) {
        String units = "expected: per minute, hour, day, week, month or year with it";
        parts.fail(key, "%s is there, but per is %s".formatted(key, Text.quoted(per)), units);
      }
    }
    return parts.read("per", node -> every(per));
  }

  private static Cycle every(String per) {
    try {
      return Cycle.every(Values.duration(per));
    } catch (IllegalArgumentException unfit) {
      if (UNITS.containsKey(per.toLowerCase(Locale.ROOT))) {
        throw Values.unfit(Text.quoted(per), Text.advice(per, UNITS.keySet()));
      }
      throw unfit;
    }
  }

  private static @Nullable Cycle calendar(Section parts, Cycle.Unit unit, ZoneId zone) {
    if (!parts.has("anchor")) {
      return Cycle.calendar(unit, zone);
    }
    return switch (unit) {
      case WEEK -> parts.read("anchor", node -> Cycle.weekly(zone, Values.word(node, DAYS)));
      case MONTH -> parts.read("anchor", node -> Cycle.monthly(zone, dayOfMonth(node)));
      case YEAR -> parts.read("anchor", node -> yearly(zone, node));
      default -> {
        parts.fail(
            "anchor", "anchor is there, but per is " + unit, "expected: week, month or year");
        yield null;
      }
    };
  }

  private static int dayOfMonth(Node node) {
    long day = Values.number(node);
    if (day < 1 || day > 31) {
      throw Values.unfit(String.valueOf(day), "expected: a day of the month, 1 to 31");
    }
    return (int) day;
  }

  private static Cycle yearly(ZoneId zone, Node node) {
    String text = Values.text(node, "expected: a month and day such as 04-01");
    Matcher parts = MONTH_DAY.matcher(text);
    if (!parts.matches()) {
      throw Values.unfit(Text.quoted(text), "expected: a month and day such as 04-01");
    }
    return Cycle.yearly(zone, Integer.parseInt(parts.group(1)), Integer.parseInt(parts.group(2)));
  }
}
