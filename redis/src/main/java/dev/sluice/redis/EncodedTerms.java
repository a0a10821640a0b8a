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
  /** Up to here, every whole number is a double. */
  private static final long EXACT = 9_007_199_254_740_991L;

  /** 2054, after which buckets have no short form either. */
  private static final long LATEST_MICROS = 2_667_225_600_000_000L;

  private static final long LARGEST_BASE = 1_000_000_000_000_000L;

  /** A bucket of more units would not stay exact until then, counted in them. */
  private static final long MOST_UNITS_PER_MICRO = 10;

  private final Terms terms;
  private final String head;
  private final List<String> limits = new ArrayList<>();
  private final @Nullable Quick quick;
  private final @Nullable Plain plain;

  /**
   * Terms that the quick script can judge.
   *
   * @param tokenMicros how long a token takes to come back, which is {@code token} as a text
   * @param fullMicros what an empty bucket lacks, which is {@code full} as a text
   */
  record Quick(
      TokenBucket bucket,
      String tag,
      long tokenMicros,
      String token,
      long fullMicros,
      String full) {

    Quick(TokenBucket bucket, String tag) {
      this(
          bucket,
          tag,
          bucket.unitsPerToken(),
          Long.toString(bucket.unitsPerToken()),
          bucket.capacityUnits(),
          Long.toString(bucket.capacityUnits()));
    }
  }

  /**
   * Terms that the plain script can judge.
   *
   * @param head how the packed form of an account begins, or "-" if it has a short form
   * @param words the terms as that script reads them
   * @param leastQuota the largest cost that fits every limit at some time
   */
  record Plain(String head, List<String> words, long leastQuota) {}

  EncodedTerms(Terms terms) {
    this.terms = terms;
    this.quick = quickOf(terms);
    this.plain = plainOf(terms);
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
            + reason(terms.toString())
            + "|"
            + (plain == null ? "-" : plain.head);
    terms.limits().forEach(limit -> limits.add(encode(limit)));
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
      long length = alignedLength(window);
      String base = base(window) == 0 ? "-" : Long.toString(base(window));
      return "f,"
          + window.limit()
          + ","
          + cycle(window)
          + ","
          + length
          + (length == 0 ? "" : "," + base);
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
        return new Quick(bucket, tag);
      }
    }
    return null;
  }

  /**
   * What the plain script needs to know of limits, or null if it cannot judge them: each must be
   * one number that stays exact, see bucket.lua and window.lua.
   */
  private static @Nullable Plain plainOf(Terms terms) {
    List<Limit> limits = terms.limits();
    List<String> head = new ArrayList<>();
    List<String> words = new ArrayList<>();
    long leastQuota = Long.MAX_VALUE;
    for (Limit limit : limits) {
      leastQuota = Math.min(leastQuota, limit.quota());
      if (limit instanceof TokenBucket bucket && bucket.unitsPerMicro() <= MOST_UNITS_PER_MICRO) {
        head.add("b" + bucket.unitsPerToken() + "/" + bucket.unitsPerMicro());
        words.add("b");
        words.add(Long.toString(bucket.capacityUnits()));
        words.add(Long.toString(bucket.unitsPerToken()));
        words.add(Long.toString(bucket.unitsPerMicro()));
      } else if (limit instanceof FixedWindow window && base(window) > 0) {
        long length = alignedLength(window);
        head.add("f" + cycle(window) + "," + length + "," + base(window));
        words.add("f");
        words.add(Long.toString(window.limit()));
        words.add(Long.toString(length));
        words.add(Long.toString(base(window)));
      } else {
        return null;
      }
    }
    if (terms.countDenied()) {
      return null;
    }
    String tag = limits.size() == 1 && limits.get(0) instanceof TokenBucket b ? tag(b) : "-";
    List<String> all = new ArrayList<>();
    all.add("#" + String.join(";", head) + "#");
    all.add("<" + "d".repeat(limits.size()));
    all.add(tag.equals("-") ? "" : tag);
    all.add(terms.lock() == null ? "0" : "1");
    all.add(Integer.toString(limits.size()));
    all.addAll(words);
    return new Plain(tag.equals("-") ? all.get(0) : "-", all, leastQuota);
  }

  /**
   * The least power of ten above a window's limit, or 0 if a round's number times that may be more
   * than a double can hold, or its rounds are those of a calendar.
   */
  private static long base(FixedWindow window) {
    long length = alignedLength(window);
    if (length == 0) {
      return 0;
    }
    long base = 10;
    while (base <= window.limit() && base < LARGEST_BASE) {
      base *= 10;
    }
    return base > window.limit() && base <= EXACT / (LATEST_MICROS / length + 1) ? base : 0;
  }
}
