package dev.sluice.testing;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Damages valid inputs, to test parsers of untrusted text.
 *
 * <p>Every input must give a value or a clear error: one of the exceptions that the parser
 * documents, with a message of bounded length, within a second. The same seed gives the same
 * inputs; {@code -Dsluice.fuzz.seed=…} tries others, {@code -Dsluice.fuzz.inputs=…} more of them.
 */
public final class Mutator {
  /** How many inputs a parser gets at the least. */
  public static final int INPUTS = 5_000;

  private static final Duration LONGEST = Duration.ofSeconds(1);
  private static final int LONGEST_MESSAGE = 65_536;
  private static final int LARGEST_INPUT = 100_000;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final List<String> NUMBERS =
      List.of(
          "0",
          "-1",
          "007",
          "1e9",
          "0x10",
          "NaN",
          "2147483648",
          "4503599627370497",
          "9223372036854775807",
          "-9223372036854775808",
          "18446744073709551616",
          "9".repeat(400),
          "0." + "3".repeat(400),
          "٣",
          "３");
  private static final List<String> ODDITIES =
      List.of(
          "\u0000",
          "\u0001",
          "\u0002",
          "\t",
          "\n",
          "\r",
          "\r\n",
          "\u001b",
          "\u007f",
          "\u0085",
          "\u00a0",
          "\u00ad",
          "\u0130",
          "\u200b",
          "\u202e",
          "\u2028",
          "\ud800",
          "\udfff",
          "\udc00\ud800",
          "\ufeff",
          "\ufffd",
          "\uffff",
          "\ud83d\ude00",
          "é",
          "e\u0301",
          "\ufdfa",
          "%",
          "%00",
          "%ff",
          "%C0%80",
          "\\u0000",
          "\"",
          "'",
          "=",
          "&",
          ",",
          ";",
          ":",
          "+",
          "{",
          "}",
          "[",
          "]",
          "<",
          ">",
          "&lt;",
          "*a",
          "&a ",
          "!!str ",
          "---\n",
          "#");
  private static final List<String> OPENERS =
      List.of("[", "{", "{\"a\":", "<a>", "(", "- ", "? ", "\"", "&", "%", "for=\"", ":", ".");

  private final SplittableRandom random;

  public Mutator(long seed) {
    this.random = new SplittableRandom(seed);
  }

  /** A parser under trial; what it returns does not matter. */
  @FunctionalInterface
  public interface Parser<T> {
    @Nullable Object parse(T input) throws Exception;
  }

  /**
   * Feeds a parser with mutated texts.
   *
   * @param clear the exceptions by which the parser may refuse an input
   */
  public static void feedText(
      String parser,
      List<String> samples,
      List<Class<? extends Exception>> clear,
      Parser<String> trial) {
    long seed = seed(parser);
    for (int i = 0; i < inputs(); i++) {
      String input = new Mutator(seed + i).text(samples);
      attempt(parser, seed + i, shown(input), clear, () -> trial.parse(input));
    }
  }

  /** Feeds a parser with mutated bytes, as {@link #feedText} does with texts. */
  public static void feedBytes(
      String parser,
      List<byte[]> samples,
      List<Class<? extends Exception>> clear,
      Parser<byte[]> trial) {
    long seed = seed(parser);
    for (int i = 0; i < inputs(); i++) {
      byte[] input = new Mutator(seed + i).bytes(samples);
      String shown = shown(new String(input, StandardCharsets.ISO_8859_1));
      attempt(parser, seed + i, shown, clear, () -> trial.parse(input));
    }
  }

  private static long seed(String parser) {
    long seed = Long.getLong("sluice.fuzz.seed", 1);
    System.out.printf("Feeding %s with %,d inputs from seed %d on.%n", parser, inputs(), seed);
    return seed;
  }

  private static int inputs() {
    return Integer.getInteger("sluice.fuzz.inputs", INPUTS);
  }

  private interface Attempt {
    @Nullable Object run() throws Exception;
  }

  private static void attempt(
      String parser,
      long seed,
      String shown,
      List<Class<? extends Exception>> clear,
      Attempt attempt) {
    String where = "%s, seed %d, input %s: ".formatted(parser, seed, shown);
    // Of the thread and not by the wall: the machine may be busy with something else.
    long before = THREADS.getCurrentThreadCpuTime();
    try {
      attempt.run();
    } catch (Throwable e) {
      String message = e.getMessage();
      boolean known = clear.stream().anyMatch(type -> type.isInstance(e));
      if (!known) {
        throw new AssertionError(where + "it throws " + e.getClass().getName(), e);
      }
      if (message == null || message.isBlank() || message.length() > LONGEST_MESSAGE) {
        throw new AssertionError(
            where + "its message has " + (message == null ? 0 : message.length()) + " characters",
            e);
      }
    }
    long nanos = THREADS.getCurrentThreadCpuTime() - before;
    if (nanos > LONGEST.toNanos()) {
      throw new AssertionError(where + "it takes " + nanos / 1_000_000 + " ms");
    }
  }

  /** One of the samples as text, damaged in one to four ways; sometimes left as it is. */
  public String text(List<String> samples) {
    String text = pick(samples);
    int times = random.nextInt(5);
    for (int i = 0; i < times && text.length() < LARGEST_INPUT; i++) {
      text = damaged(text, samples);
    }
    return text;
  }

  /** One of the samples as bytes, damaged in one to four ways; sometimes left as it is. */
  public byte[] bytes(List<byte[]> samples) {
    List<String> texts =
        samples.stream().map(bytes -> new String(bytes, StandardCharsets.ISO_8859_1)).toList();
    if (random.nextInt(3) > 0) {
      return text(texts).getBytes(StandardCharsets.ISO_8859_1);
    }
    List<String> decoded =
        samples.stream().map(bytes -> new String(bytes, StandardCharsets.UTF_8)).toList();
    return text(decoded).getBytes(StandardCharsets.UTF_8);
  }

  private String damaged(String text, List<String> samples) {
    int at = random.nextInt(text.length() + 1);
    int to = Math.min(text.length(), at + 1 + random.nextInt(random.nextBoolean() ? 4 : 64));
    String front = text.substring(0, at);
    String cut = text.substring(at, to);
    String back = text.substring(to);
    return switch (random.nextInt(11)) {
      case 0 -> front + flipped(cut) + back;
      case 1 -> front; // cut off
      case 2 -> front + back; // a hole
      case 3 -> front + cut + cut + back;
      case 4 -> front + cut.repeat(random.nextInt(2, 500)) + back;
      case 5 -> front + spliced(samples);
      case 6 -> front + pick(NUMBERS) + back;
      case 7 -> withNumber(text);
      case 8 -> front + pick(ODDITIES) + text.substring(at);
      case 9 -> front + pick(OPENERS).repeat(random.nextInt(1, 3_000)) + text.substring(at);
      default -> back + front + cut; // in another order
    };
  }

  private String flipped(String cut) {
    char[] chars = cut.toCharArray();
    for (int i = 0; i < chars.length; i++) {
      chars[i] ^= (char) (1 << random.nextInt(random.nextInt(4) == 0 ? 16 : 8));
    }
    return new String(chars);
  }

  private String spliced(List<String> samples) {
    String other = pick(samples);
    return other.substring(random.nextInt(other.length() + 1));
  }

  /** The text with one of its numbers replaced by a strange one. */
  private String withNumber(String text) {
    int from = random.nextInt(text.length() + 1);
    while (from < text.length() && !Character.isDigit(text.charAt(from))) {
      from++;
    }
    int to = from;
    while (to < text.length() && Character.isDigit(text.charAt(to))) {
      to++;
    }
    return text.substring(0, from) + pick(NUMBERS) + text.substring(to);
  }

  private String pick(List<String> from) {
    return from.get(random.nextInt(from.size()));
  }

  private static String shown(String input) {
    StringBuilder text = new StringBuilder("\"");
    for (int i = 0; i < Math.min(input.length(), 2_000); i++) {
      char c = input.charAt(i);
      text.append(c >= ' ' && c < 0x7f ? String.valueOf(c) : "\\u%04x".formatted((int) c));
    }
    return text.append(input.length() > 2_000 ? "…\" (" + input.length() + " characters)" : "\"")
        .toString();
  }
}
