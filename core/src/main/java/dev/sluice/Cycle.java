package dev.sluice;

import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.temporal.TemporalAdjusters;
import java.time.zone.ZoneOffsetTransition;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * When fixed windows begin: at a fixed interval since the epoch, or by the calendar of a time zone.
 *
 * <p>A calendar cycle may have an anchor: the day of the month on which billing starts, the first
 * day of the week, or the first day of a fiscal year. If a month lacks the anchor day, its last day
 * is used. Thread-safe: only the cached last window changes.
 */
public final class Cycle {
  /** The units of a calendar cycle. */
  public enum Unit {
    /** From minute to minute. */
    MINUTE(Duration.ofMinutes(1)),
    /** From hour to hour. */
    HOUR(Duration.ofHours(1)),
    /** From midnight to midnight. */
    DAY(Duration.ofDays(1)),
    /** From Monday, or the anchor. */
    WEEK(Duration.ofDays(7)),
    /** From the first of the month, or the anchor. */
    MONTH(Duration.ofDays(31)),
    /** From 1 January, or the anchor. */
    YEAR(Duration.ofDays(366));

    private final Duration longest;

    Unit(Duration longest) {
      this.longest = longest;
    }

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * One window of a cycle.
   *
   * @param startMicros its first microsecond since the epoch
   * @param endMicros the first microsecond after it
   */
  public record Span(long startMicros, long endMicros) {
    /** Whether a time is in the window. */
    public boolean holds(long micros) {
      return startMicros <= micros && micros < endMicros;
    }
  }

  private final @Nullable Duration length;
  private final @Nullable Unit unit;
  private final ZoneId zone;
  private final int anchorMonth;
  private final int anchorDay;
  private volatile Span last = new Span(0, 0);

  private Cycle(
      @Nullable Duration length, @Nullable Unit unit, ZoneId zone, int anchorMonth, int anchorDay) {
    this.length = length;
    this.unit = unit;
    this.zone = Objects.requireNonNull(zone, "zone");
    this.anchorMonth = anchorMonth;
    this.anchorDay = anchorDay;
  }

  /** Windows of one length, aligned to the epoch. */
  public static Cycle every(Duration length) {
    return new Cycle(Limit.checkSpan("per", length), null, ZoneOffset.UTC, 1, 1);
  }

  /** Calendar windows in a time zone. */
  public static Cycle calendar(Unit unit, ZoneId zone) {
    return new Cycle(null, Objects.requireNonNull(unit, "unit"), zone, 1, 1);
  }

  /** Months that begin on a given day, 1 to 31. */
  public static Cycle monthly(ZoneId zone, int anchorDay) {
    if (anchorDay < 1 || anchorDay > 31) {
      throw InvalidValueException.of(
          "anchor", Integer.toString(anchorDay), "a day of the month, 1 to 31");
    }
    return new Cycle(null, Unit.MONTH, zone, 1, anchorDay);
  }

  /** Weeks that begin on a given day. */
  public static Cycle weekly(ZoneId zone, DayOfWeek first) {
    return new Cycle(null, Unit.WEEK, zone, 1, first.getValue());
  }

  /**
   * Years that begin on a given day, such as a fiscal year from 1 April.
   *
   * @param anchorMonth the month of that day, 1 to 12
   * @param anchorDay the day of that month
   */
  public static Cycle yearly(ZoneId zone, int anchorMonth, int anchorDay) {
    boolean good =
        anchorMonth >= 1
            && anchorMonth <= 12
            && anchorDay >= 1
            && anchorDay <= YearMonth.of(2024, anchorMonth).lengthOfMonth();
    if (!good) {
      throw InvalidValueException.of(
          "anchor", "%02d-%02d".formatted(anchorMonth, anchorDay), "a month and day such as 04-01");
    }
    return new Cycle(null, Unit.YEAR, zone, anchorMonth, anchorDay);
  }

  /** The window that contains a time, in microseconds since the epoch. */
  public Span at(long micros) {
    Span known = last;
    if (known.holds(micros)) {
      return known;
    }
    Span found = length != null ? aligned(Durations.micros(length), micros) : byCalendar(micros);
    if (!found.holds(micros)) {
      // Clocks were set back over midnight: the previous date repeats after its end.
      found = byCalendar(found.endMicros());
    }
    last = found;
    return found;
  }

  /** The length of a window; for a calendar cycle, of its longest. */
  public Duration nominal() {
    return length != null ? length : Objects.requireNonNull(unit).longest;
  }

  private static Span aligned(long length, long micros) {
    long start = Math.floorDiv(micros, length) * length;
    return new Span(start, start + length);
  }

  private Span byCalendar(long micros) {
    ZonedDateTime now =
        Instant.ofEpochSecond(
                Math.floorDiv(micros, 1_000_000L), Math.floorMod(micros, 1_000_000L) * 1_000)
            .atZone(zone);
    return switch (Objects.requireNonNull(unit)) {
      case MINUTE, HOUR -> byTheClock(now);
      case DAY -> span(now.toLocalDate(), now.toLocalDate().plusDays(1));
      case WEEK -> {
        LocalDate start =
            now.toLocalDate().with(TemporalAdjusters.previousOrSame(DayOfWeek.of(anchorDay)));
        yield span(start, start.plusDays(7));
      }
      case MONTH -> {
        YearMonth month = YearMonth.from(now);
        YearMonth first = now.toLocalDate().isBefore(day(month)) ? month.minusMonths(1) : month;
        yield span(day(first), day(first.plusMonths(1)));
      }
      case YEAR -> {
        int year = now.getYear();
        int first = now.toLocalDate().isBefore(day(anchor(year))) ? year - 1 : year;
        yield span(day(anchor(first)), day(anchor(first + 1)));
      }
    };
  }

  private YearMonth anchor(int year) {
    return YearMonth.of(year, anchorMonth);
  }

  private LocalDate day(YearMonth month) {
    return month.atDay(Math.min(anchorDay, month.lengthOfMonth()));
  }

  /** An hour or minute of the local clock, cut short where the offset of the zone changes. */
  private Span byTheClock(ZonedDateTime now) {
    long seconds = nominal().toSeconds();
    long second = now.toEpochSecond();
    long start = second - Math.floorMod(second + now.getOffset().getTotalSeconds(), seconds);
    long end = start + seconds;
    ZoneOffsetTransition before =
        zone.getRules().previousTransition(Instant.ofEpochSecond(second + 1));
    if (before != null) {
      start = Math.max(start, before.toEpochSecond());
    }
    ZoneOffsetTransition after = zone.getRules().nextTransition(Instant.ofEpochSecond(second));
    if (after != null) {
      end = Math.min(end, after.toEpochSecond());
    }
    return new Span(start * 1_000_000, end * 1_000_000);
  }

  private Span span(LocalDate first, LocalDate next) {
    return new Span(
        first.atStartOfDay(zone).toEpochSecond() * 1_000_000,
        next.atStartOfDay(zone).toEpochSecond() * 1_000_000);
  }

  @Override
  public boolean equals(@Nullable Object object) {
    return object instanceof Cycle other
        && Objects.equals(length, other.length)
        && unit == other.unit
        && zone.equals(other.zone)
        && anchorMonth == other.anchorMonth
        && anchorDay == other.anchorDay;
  }

  @Override
  public int hashCode() {
    return Objects.hash(length, unit, zone, anchorMonth, anchorDay);
  }

  /** Reads like the rule file: {@code 1h}, or {@code month in Europe/Berlin from day 15}. */
  @Override
  public String toString() {
    if (length != null) {
      return Durations.format(length);
    }
    String anchor =
        switch (Objects.requireNonNull(unit)) {
          case MONTH -> anchorDay == 1 ? "" : " from day " + anchorDay;
          case WEEK -> anchorDay == 1 ? "" : " from " + DayOfWeek.of(anchorDay);
          case YEAR ->
              anchorMonth == 1 && anchorDay == 1
                  ? ""
                  : " from %02d-%02d".formatted(anchorMonth, anchorDay);
          default -> "";
        };
    return unit + " in " + zone + anchor.toLowerCase(Locale.ROOT);
  }
}
