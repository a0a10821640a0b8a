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
   * Every collector adds up the minutes. When a minute is over and late summaries have come in, the
   * first collector to take the lease writes it to the log, and all of them read it from there. The
   * lease is shorter than a minute, so the next minute is written whichever collector has ended
   * meanwhile. It is longer than the difference that the clocks of collectors may have; beyond that
   * a minute is written twice, and the first one read is kept.
   *
   * A collector that has seen only a part of its first minute waits a little longer, so that another
   * one can write the whole.
   *
   * After an outage of the store, nodes report what they decided during it. That is spread over the
   * minutes of the outage, of which at most MOST_OPEN are kept.
   */
  static final String LOG = "history";
  static final String LEASE = "historian";
  static final Duration LEASE_LENGTH = Duration.ofSeconds(30);
  static final int MINUTES = 24 * 60;
  static final int MOST = 1_500;
  static final Duration TTL = Duration.ofHours(25);
  static final int MOST_RULES = 50;
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private static final long MINUTE_MILLIS = MINUTE.toMillis();
  private static final Duration SETTLE = Duration.ofSeconds(10);
  private static final Duration LONGER = Reporter.INTERVAL.multipliedBy(2);
  private static final int MOST_OPEN = 240;

  private final NavigableMap<Long, Map<String, Tally>> minutes = new TreeMap<>();
  private final NavigableMap<Long, Map<String, Tally>> open = new TreeMap<>();
  private long written = -1;
  private long seenInPart = -1;

  static long minuteOf(Instant at) {
    return Math.floorDiv(at.getEpochSecond(), 60L);
  }

  /** Adds decisions that were made between two moments, spread evenly. */
  void add(Instant from, Instant to, String rule, Tally tally) {
    long last = minuteOf(to);
    long first = Math.max(Math.max(minuteOf(from), written + 1), last - MOST_OPEN + 1);
    last = Math.max(first, last);
    long start = Math.max(from.toEpochMilli(), first * MINUTE_MILLIS);
    long length = Math.max(1, to.toEpochMilli() - start);
    Tally before = Tally.NONE;
    for (long minute = first; minute <= last; minute++) {
      long passed = Math.min(length, (minute + 1) * MINUTE_MILLIS - start);
      Tally until = minute == last ? tally : tally.part(passed, length);
      Tally more = until.since(before);
      if (more.sum() > 0) {
        open.computeIfAbsent(minute, unknown -> new HashMap<>()).merge(rule, more, Tally::plus);
      }
      before = until;
    }
  }

  /**
   * Ends the minutes that are over; returns what to write.
   *
   * @param readSince since when the summaries have been read without a break
   */
  List<String> turn(Instant now, Instant readSince) {
    long present = minuteOf(now);
    if (written < 0) {
      written = present - 1;
      seenInPart = present;
    }
    if (written < present - MOST_OPEN) {
      written = present - MOST_OPEN;
      open.headMap(written, true).clear();
    }
    List<String> ended = new ArrayList<>();
    while (written + 1 < present && isSettled(written + 1, now, readSince)) {
      written++;
      Map<String, Tally> tallies = open.remove(written);
      ended.add(text(written, tallies == null ? Map.of() : tallies));
    }
    return ended;
  }

  private boolean isSettled(long minute, Instant now, Instant readSince) {
    Instant end = Instant.ofEpochSecond((minute + 1) * 60);
    Instant settled = now.minus(minute == seenInPart ? SETTLE.plus(LONGER) : SETTLE);
    return !end.isAfter(settled) && !readSince.isAfter(settled);
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
                  case "rule" -> tallies.put(Lines.word(words, 1), Tally.read(words, 2));
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
                Tally tally = tallies.get(rule);
                if (tally == null && tallies.size() > MOST_RULES) {
                  return; // it may be one of those that are not written
                }
                tally = tally == null ? Tally.NONE : tally;
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
