package dev.sluice.traffic;

import dev.sluice.store.SharedData;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** What was decided in each minute of the last 24 hours. Used under the monitor of its owner. */
final class History {
  /*
   * Every collector adds up the current minute. When the minute is over, the first one to take the
   * lease writes it to the log, and all of them read it from there. The lease is shorter than a
   * minute, so the next minute is written whichever collector has ended meanwhile. It is longer than
   * the difference that the clocks of collectors may have; beyond that a minute is written twice,
   * and the first one read is kept.
   *
   * A collector that has seen only a part of its first minute waits a turn, so that another one can
   * write the whole.
   */
  static final String LOG = "history";
  static final String LEASE = "historian";
  static final Duration LEASE_LENGTH = Duration.ofSeconds(30);
  static final int MINUTES = 24 * 60;
  static final int MOST = 1_500;
  static final Duration TTL = Duration.ofHours(25);
  static final int MOST_RULES = 50;
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final NavigableMap<Long, Map<String, Tally>> minutes = new TreeMap<>();
  private final Map<String, Tally> current = new HashMap<>();
  private long minute = -1;
  private boolean whole;
  private String waiting = "";

  static long minuteOf(Instant at) {
    return at.getEpochSecond() / 60;
  }

  /** Adds decisions of the current minute. */
  void add(String rule, Tally tally) {
    current.merge(rule, tally, Tally::plus);
  }

  /** Ends the current minute if it is over; returns what to write now, or an empty text. */
  String turn(Instant now) {
    long present = minuteOf(now);
    if (minute < 0) {
      minute = present;
    }
    String write = waiting;
    waiting = "";
    if (present != minute) {
      String ended = text(minute, current);
      if (whole) {
        write = ended;
      } else {
        waiting = ended;
      }
      whole = true;
      current.clear();
      minute = present;
    }
    return write;
  }

  private static String text(long minute, Map<String, Tally> tallies) {
    Lines lines = new Lines().add("minute", minute);
    tallies.values().stream().reduce(Tally.NONE, Tally::plus).write(lines, "all", "");
    List<Map.Entry<String, Tally>> busiest = new ArrayList<>(tallies.entrySet());
    busiest.sort((a, b) -> Long.compare(b.getValue().sum(), a.getValue().sum()));
    busiest.stream()
        .limit(MOST_RULES)
        .forEach(entry -> entry.getValue().write(lines, "rule", entry.getKey()));
    return lines.toString();
  }

  /** Takes over minutes that were read from the log. */
  void learn(List<SharedData.Entry> entries, Instant now) {
    for (SharedData.Entry entry : entries) {
      Map<String, Tally> tallies = new LinkedHashMap<>();
      long[] minute = {-1};
      Lines.read(entry.text())
          .forEach(
              words -> {
                switch (words.get(0)) {
                  case "minute" -> minute[0] = Lines.number(words, 1);
                  case "all" -> tallies.put("", Tally.read(words, 2));
                  case "rule" -> tallies.put(Lines.word(words, 1).intern(), Tally.read(words, 2));
                  default -> {} // of a newer version
                }
              });
      if (minute[0] >= 0 && minute[0] <= minuteOf(now)) {
        minutes.putIfAbsent(minute[0], tallies);
      }
    }
    minutes.headMap(minuteOf(now) - MINUTES).clear();
  }

  /** The points of a rule, or of all rules together if the name is empty. */
  Points points(String rule, Instant now) {
    float[][] values = new float[Series.KINDS][MINUTES];
    long first = minuteOf(now) - MINUTES;
    for (float[] kind : values) {
      Arrays.fill(kind, Float.NaN);
    }
    minutes
        .tailMap(first)
        .forEach(
            (minute, tallies) -> {
              int at = (int) (minute - first);
              if (at < MINUTES) {
                Tally tally = tallies.getOrDefault(rule, Tally.NONE);
                values[0][at] = tally.allowed() / 60f;
                values[1][at] = tally.denied() / 60f;
                values[2][at] = tally.unmetered() / 60f;
                values[3][at] = tally.shadowDenied() / 60f;
              }
            });
    return new Points(
        Instant.ofEpochSecond(first * 60), MINUTE, values[0], values[1], values[2], values[3]);
  }
}
