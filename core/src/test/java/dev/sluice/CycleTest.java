package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.DayOfWeek;
import java.time.Instant;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rounds of a calendar cycle follow each other without a gap, whatever a zone's clocks do. */
class CycleTest {
  private static final Instant FROM = Instant.parse("1985-01-01T00:00:00Z");
  private static final Instant TO = Instant.parse("2035-01-01T00:00:00Z");

  @Test
  void everyMomentLiesInItsRoundAndRoundsMeet() {
    for (String zone : ZoneId.getAvailableZoneIds()) {
      List<Long> moments = aroundTransitions(ZoneId.of(zone));
      for (Cycle cycle : cycles(ZoneId.of(zone))) {
        for (long moment : moments) {
          Cycle.Span span = cycle.at(moment);
          assertThat(span.holds(moment)).as("%s at %d us: %s", cycle, moment, span).isTrue();
          assertThat(cycle.at(span.endMicros()).startMicros())
              .as("%s after %s", cycle, span)
              .isEqualTo(span.endMicros());
        }
      }
    }
  }

  private static List<Cycle> cycles(ZoneId zone) {
    List<Cycle> cycles = new ArrayList<>();
    for (Cycle.Unit unit : Cycle.Unit.values()) {
      cycles.add(Cycle.calendar(unit, zone));
    }
    cycles.add(Cycle.monthly(zone, 31));
    cycles.add(Cycle.weekly(zone, DayOfWeek.SUNDAY));
    return cycles;
  }

  private static List<Long> aroundTransitions(ZoneId zone) {
    List<Long> moments = new ArrayList<>();
    moments.add(FROM.getEpochSecond() * 1_000_000);
    ZoneOffsetTransition next = zone.getRules().nextTransition(FROM);
    int left = 5;
    while (next != null && next.getInstant().isBefore(TO) && left-- > 0) {
      long change = next.getInstant().getEpochSecond() * 1_000_000;
      for (long minutes : new long[] {-61, -31, -20, 0, 10, 31, 61, 90}) {
        moments.add(change + minutes * 60_000_000);
        moments.add(change + minutes * 60_000_000 - 1);
      }
      next = zone.getRules().nextTransition(next.getInstant().plusSeconds(86_400L * 2_900));
    }
    return moments;
  }
}
