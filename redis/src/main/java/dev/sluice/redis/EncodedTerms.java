package dev.sluice.redis;

import dev.sluice.Cycle;
import dev.sluice.Durations;
import dev.sluice.Limit;
import dev.sluice.Limit.FixedWindow;
import dev.sluice.Limit.SlidingLog;
import dev.sluice.Limit.SlidingWindow;
import dev.sluice.Limit.TokenBucket;
import dev.sluice.Lock;
import dev.sluice.Terms;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Terms as the scripts read them; made once for each terms. */
final class EncodedTerms {
  private final Terms terms;
  private final String head;
  private final List<String> limits = new ArrayList<>();
  private final @Nullable Quick quick;

  /**
   * Terms that the quick script can judge.
   *
   * @param fullMicros what an empty bucket lacks
   */
  record Quick(TokenBucket bucket, String tag, long tokenMicros, long fullMicros) {}

  EncodedTerms(Terms terms) {
    this.terms = terms;
    Lock lock = terms.lock();
    String durations =
        lock == null
            ? "-"
            : lock.durations().stream()
                .map(duration -> Long.toString(Durations.micros(duration)))
                .collect(Collectors.joining(","));
    this.head =
        durations
            + "|"
            + (lock == null ? 0 : Durations.micros(lock.memory()))
            + "|"
            + (terms.countDenied() ? 1 : 0)
            + "|"
            + reason(terms.toString());
    terms.limits().forEach(limit -> limits.add(encode(limit)));
    this.quick = quickOf(terms);
  }

  /** The text of the terms, with the calendar rounds around some moments. */
  String text(List<Long> moments) {
    StringBuilder text = new StringBuilder(head);
    for (int i = 0; i < limits.size(); i++) {
      text.append('|').append(limits.get(i));
      if (limits.get(i).endsWith(",0") && terms.limits().get(i) instanceof FixedWindow window) {
        for (long moment : moments) {
          Cycle.Span now = window.cycle().at(moment);
          append(window.cycle().at(now.startMicros() - 1), text);
          append(now, text);
          append(window.cycle().at(now.endMicros()), text);
        }
      }
    }
    return text.toString();
  }

  private static void append(Cycle.Span round, StringBuilder text) {
    text.append(',').append(round.startMicros()).append(',').append(round.endMicros());
  }

  @Nullable Quick quick() {
    return quick;
  }

  static String reason(String text) {
    return text.isEmpty() ? "-" : URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private static String encode(Limit limit) {
    if (limit instanceof TokenBucket bucket) {
      return String.join(
          ",",
          "b",
          Long.toString(bucket.capacity()),
          Long.toString(bucket.unitsPerToken()),
          Long.toString(bucket.unitsPerMicro()),
          tag(bucket));
    }
    if (limit instanceof FixedWindow window) {
      String cycle = URLEncoder.encode(window.cycle().toString(), StandardCharsets.UTF_8);
      Cycle.Span span = window.cycle().at(0);
      boolean aligned = window.cycle().equals(Cycle.every(window.window()));
      long length = aligned ? span.endMicros() - span.startMicros() : 0;
      return "f," + window.limit() + "," + cycle + "," + length;
    }
    if (limit instanceof SlidingWindow window) {
      return "s," + window.limit() + "," + window.windowMicros() + "," + window.precisionMicros();
    }
    SlidingLog log = (SlidingLog) limit;
    return "l," + log.limit() + "," + log.windowMicros();
  }

  /** The rate of a bucket in four digits, m * 10^e, or "-" if it has none. */
  static String tag(TokenBucket bucket) {
    long mantissa = bucket.unitsPerToken();
    int exponent = 0;
    while (mantissa % 10 == 0 && exponent < 9) {
      mantissa /= 10;
      exponent++;
    }
    return bucket.unitsPerMicro() == 1 && mantissa < 1_000
        ? "%03d%d".formatted(mantissa, exponent)
        : "-";
  }

  private static @Nullable Quick quickOf(Terms terms) {
    boolean plain = terms.lock() == null && !terms.countDenied() && terms.limits().size() == 1;
    if (plain && terms.limits().get(0) instanceof TokenBucket bucket) {
      String tag = tag(bucket);
      if (!tag.equals("-")) {
        return new Quick(bucket, tag, bucket.unitsPerToken(), bucket.capacityUnits());
      }
    }
    return null;
  }
}
