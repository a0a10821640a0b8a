package dev.sluice.contract;

import static dev.sluice.contract.Scene.rule;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Cycle;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.internal.Durations;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;

/** Fixed windows by the calendar of a time zone. */
public interface CalendarContract {
  ZoneId BERLIN = ZoneId.of("Europe/Berlin");

  Scene scene();

  /** Uses a window up at a moment and sees that it ends at exactly another. */
  private void window(Cycle cycle, String from, String end) {
    Scene scene = scene();
    Rule rule = rule(Limit.fixedWindow(2, cycle));
    Instant start = Instant.parse(from);
    Instant edge = Instant.parse(end);
    scene.clock.set(start);
    scene.reset(rule);

    assertThat(scene.take(rule, 2).allowed()).isTrue();
    Decision denied = scene.take(rule, 1);
    assertThat(denied.retryAfter()).contains(Duration.between(start, edge));
    assertThat(denied.balances().get(0).resetAfter()).isEqualTo(Duration.between(start, edge));
    scene.clock.set(edge.minusNanos(1_000));
    assertThat(scene.take(rule, 1).retryAfter()).contains(Durations.ofMicros(1));
    scene.clock.set(edge);
    assertThat(scene.take(rule, 2).allowed()).isTrue();
    assertThat(scene.take(rule, 1).allowed()).isFalse();
  }

  @Test
  default void monthInBerlinEndsAtLocalMidnightAfterTheClocksChange() {
    Cycle month = Cycle.calendar(Cycle.Unit.MONTH, BERLIN);

    window(month, "2026-03-02T10:00:00Z", "2026-03-31T22:00:00Z");
    window(month, "2026-10-05T10:00:00Z", "2026-10-31T23:00:00Z");
    window(month, "2027-12-31T22:59:59.999999Z", "2027-12-31T23:00:00Z");
    window(month, "2028-02-01T00:00:00Z", "2028-02-29T23:00:00Z");
  }

  @Test
  default void dayInBerlinHasTwentyThreeOrTwentyFiveHoursWhenTheClocksChange() {
    Cycle day = Cycle.calendar(Cycle.Unit.DAY, BERLIN);

    window(day, "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z");
    window(day, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z");
  }

  @Test
  default void hourThatComesTwiceIsTwoWindows() {
    Cycle hour = Cycle.calendar(Cycle.Unit.HOUR, BERLIN);

    window(hour, "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z");
    window(hour, "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z");
  }

  @Test
  default void dayWhoseMidnightDoesNotExistBeginsLater() {
    Cycle day = Cycle.calendar(Cycle.Unit.DAY, ZoneId.of("America/Sao_Paulo"));

    window(day, "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z");
    window(day, "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z");
  }

  @Test
  default void anchorAMonthLacksIsItsLastDay() {
    Cycle billing = Cycle.monthly(ZoneOffset.UTC, 31);

    window(billing, "2026-01-30T23:59:59Z", "2026-01-31T00:00:00Z");
    window(billing, "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z");
    window(billing, "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z");
    window(billing, "2026-04-15T00:00:00Z", "2026-04-30T00:00:00Z");
    window(billing, "2028-02-10T00:00:00Z", "2028-02-29T00:00:00Z");
    window(Cycle.monthly(BERLIN, 15), "2026-03-20T00:00:00Z", "2026-04-14T22:00:00Z");
  }

  @Test
  default void weekBeginsOnMondayUnlessAnchored() {
    window(
        Cycle.calendar(Cycle.Unit.WEEK, ZoneOffset.UTC),
        "2026-03-02T10:00:00Z",
        "2026-03-09T00:00:00Z");
    window(Cycle.weekly(BERLIN, DayOfWeek.SUNDAY), "2026-03-25T10:00:00Z", "2026-03-28T23:00:00Z");
  }

  @Test
  default void yearBeginsInJanuaryUnlessAnchored() {
    window(Cycle.calendar(Cycle.Unit.YEAR, BERLIN), "2026-03-02T10:00:00Z", "2026-12-31T23:00:00Z");
    window(Cycle.yearly(ZoneOffset.UTC, 4, 1), "2026-03-02T10:00:00Z", "2026-04-01T00:00:00Z");
    window(Cycle.yearly(ZoneOffset.UTC, 2, 29), "2027-03-02T10:00:00Z", "2028-02-29T00:00:00Z");
    window(Cycle.yearly(ZoneOffset.UTC, 2, 29), "2028-03-02T10:00:00Z", "2029-02-28T00:00:00Z");
  }

  @Test
  default void minutesAndHoursFollowTheZonesOffset() {
    ZoneId kathmandu = ZoneId.of("Asia/Kathmandu");

    window(
        Cycle.calendar(Cycle.Unit.HOUR, kathmandu), "2026-03-02T10:00:00Z", "2026-03-02T10:15:00Z");
    window(
        Cycle.calendar(Cycle.Unit.MINUTE, kathmandu),
        "2026-03-02T10:00:20Z",
        "2026-03-02T10:01:00Z");
  }
}
