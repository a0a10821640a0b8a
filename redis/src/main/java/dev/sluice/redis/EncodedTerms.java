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
  private final @Nullable Plain plain;

  /**
   * Terms that the quick script can judge.
   *
   * @param fullMicros what an empty bucket lacks
   */
  record Quick(TokenBucket bucket, String tag, long tokenMicros, long fullMicros) {}

  /**
   * Terms that the plain script can judge.
   *
   * @param words the terms as that script reads them
   * @param leastQuota the largest cost that fits every limit at some time
   */
  record Plain(List<String> words, long leastQuota) {}

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
    this.plain = plainOf(terms);
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

  @Nullable Plain plain() {
    return plain;
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
      return "f," + window.limit() + "," + cycle(window) + "," + alignedLength(window);
    }
    if (limit instanceof SlidingWindow window) {
      return "s," + window.limit() + "," + window.windowMicros() + "," + window.precisionMicros();
    }
    SlidingLog log = (SlidingLog) limit;
    return "l," + log.limit() + "," + log.windowMicros();
  }

  private static String cycle(FixedWindow window) {
    return URLEncoder.encode(window.cycle().toString(), StandardCharsets.UTF_8);
  }

  /** The length of each round, or 0 for those of a calendar. */
  private static long alignedLength(FixedWindow window) {
    Cycle.Span span = window.cycle().at(0);
    boolean aligned = window.cycle().equals(Cycle.every(window.window()));
    return aligned ? span.endMicros() - span.startMicros() : 0;
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

  private static @Nullable Plain plainOf(Terms terms) {
    List<Limit> limits = terms.limits();
    List<String> patterns = new ArrayList<>();
    List<String> shapes = new ArrayList<>();
    List<String> words = new ArrayList<>();
    long leastQuota = Long.MAX_VALUE;
    for (Limit limit : limits) {
      leastQuota = Math.min(leastQuota, limit.quota());
      if (limit instanceof TokenBucket bucket) {
        String rate = "b" + bucket.unitsPerToken() + "/" + bucket.unitsPerMicro() + ",";
        boolean hasUnits = bucket.unitsPerMicro() > 1; // else there are none, or it is shut
        patterns.add(literal(rate) + (hasUnits ? "(%d+),(%d+),0" : "(%d+),0,0"));
        shapes.add(rate + (hasUnits ? "%d,%d,0" : "%d,0,0"));
        words.add("b");
        words.add(Long.toString(bucket.capacityUnits()));
        words.add(Long.toString(bucket.unitsPerToken()));
        words.add(Long.toString(bucket.unitsPerMicro()));
      } else if (limit instanceof FixedWindow window && alignedLength(window) > 0) {
        String cycle = "f" + cycle(window) + ",";
        patterns.add(literal(cycle) + "(%d+),(%d+),(%d+)");
        shapes.add(cycle.replace("%", "%%") + "%d,%d,%d");
        words.add("f");
        words.add(Long.toString(window.limit()));
        words.add(Long.toString(alignedLength(window)));
        words.add("1");
      } else {
        return null;
      }
    }
    if (terms.countDenied()) {
      return null;
    }
    String tag =
        limits.size() == 1 && limits.get(0) instanceof TokenBucket bucket ? tag(bucket) : "-";
    List<String> all = new ArrayList<>();
    all.add("^" + String.join(";", patterns) + "$");
    all.add(String.join(";", shapes));
    all.add(tag.equals("-") ? "" : tag);
    all.add(terms.lock() == null ? "0" : "1");
    all.add(Integer.toString(limits.size()));
    all.addAll(words);
    return new Plain(all, leastQuota);
  }

  /** A pattern of Lua that matches just this text. */
  private static String literal(String text) {
    StringBuilder pattern = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      boolean plain = Character.isLetterOrDigit(text.charAt(i));
      pattern.append(plain ? "" : "%").append(text.charAt(i));
    }
    return pattern.toString();
  }
}
