package dev.sluice.redis.wire;

import dev.sluice.Cycle;
import dev.sluice.Limit;
import dev.sluice.Limit.FixedWindow;
import dev.sluice.Limit.SlidingLog;
import dev.sluice.Limit.SlidingWindow;
import dev.sluice.Limit.TokenBucket;
import dev.sluice.Lock;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Terms in the encoding of the library (see run.lua); cached for each terms. */
public final class EncodedTerms {
  private final List<Cycle> calendars = new ArrayList<>();
  private final String text;

  /** The encoding with the calendar windows of the previous call. */
  private volatile Rounds last = new Rounds(List.of(), "");

  private record Rounds(List<Cycle.Span> spans, String text) {}

  EncodedTerms(Terms terms) {
    Lock lock = terms.lock();
    String durations =
        lock == null
            ? ""
            : lock.durations().stream()
                .map(duration -> Long.toString(Durations.micros(duration)))
                .collect(Collectors.joining(","));
    StringBuilder all = new StringBuilder(durations);
    all.append('|').append(lock == null ? 0 : Durations.micros(lock.memory()));
    all.append('|').append(lock != null && lock.on() == Lock.On.LIMIT ? 1 : 0);
    all.append('|').append(terms.countDenied() ? 1 : 0);
    all.append('|').append(reason(terms.lockReason()));
    for (Limit limit : terms.limits()) {
      all.append('|').append(encode(limit));
    }
    this.text = all.toString();
  }

  /** The encoding with the calendar windows around some times. */
  String text(List<Long> moments) {
    if (calendars.isEmpty()) {
      return text;
    }
    List<Cycle.Span> spans = new ArrayList<>(calendars.size() * moments.size());
    for (Cycle cycle : calendars) {
      for (long moment : moments) {
        spans.add(cycle.at(moment));
      }
    }
    Rounds known = last;
    if (!known.spans.equals(spans)) {
      known = new Rounds(spans, withRounds(spans, moments.size()));
      last = known;
    }
    return known.text;
  }

  /** Inserts the windows of calendars, each at a '#' in the text. */
  private String withRounds(List<Cycle.Span> spans, int moments) {
    StringBuilder all = new StringBuilder();
    int at = 0;
    for (int i = 0; i < calendars.size(); i++) {
      int place = text.indexOf('#', at);
      all.append(text, at, place);
      for (Cycle.Span span : spans.subList(i * moments, (i + 1) * moments)) {
        append(calendars.get(i).at(span.startMicros() - 1), all);
        append(span, all);
        append(calendars.get(i).at(span.endMicros()), all);
      }
      at = place + 1;
    }
    return all.append(text, at, text.length()).toString();
  }

  private static void append(Cycle.Span round, StringBuilder text) {
    text.append(',').append(round.startMicros()).append(',').append(round.endMicros());
  }

  static String reason(String text) {
    return text.isEmpty() ? "-" : URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private String encode(Limit limit) {
    if (limit instanceof TokenBucket bucket) {
      return String.format(
          Locale.ROOT,
          "b,%d,%d,%d,%d",
          bucket.capacity(),
          bucket.unitsPerToken(),
          bucket.unitsPerMicro(),
          bucket.debt());
    }
    if (limit instanceof FixedWindow window) {
      Cycle cycle = window.cycle();
      if (cycle.equals(Cycle.every(window.window()))) {
        long length = Durations.micros(window.window());
        return String.format(Locale.ROOT, "f,%d,%d,%d", window.limit(), length, length);
      }
      calendars.add(cycle);
      int name =
          cycle.toString().hashCode() & Integer.MAX_VALUE; // distinguishes it from other cycles
      return String.format(Locale.ROOT, "f,%d,%d,0#", window.limit(), -1L - name);
    }
    if (limit instanceof SlidingWindow window) {
      return String.format(
          Locale.ROOT,
          "s,%d,%d,%d",
          window.limit(),
          window.windowMicros(),
          window.precisionMicros());
    }
    SlidingLog log = (SlidingLog) limit;
    return String.format(Locale.ROOT, "l,%d,%d", log.limit(), log.windowMicros());
  }
}
