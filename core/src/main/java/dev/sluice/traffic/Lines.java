package dev.sluice.traffic;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Percent;
import java.util.List;
import java.util.stream.Stream;

/** The form in which nodes share what they saw: a line for each fact, words separated by blanks. */
final class Lines {
  /*
   * Words are percent-encoded, so any text can be one; an empty word is "-", and a "-" is encoded.
   * A reader skips lines that it does not know: nodes of several versions can share one Redis.
   */
  private static final String EMPTY = "-";

  /** Of a number, so that none is too large. */
  private static final int MOST_DIGITS = 18;

  private final StringBuilder text = new StringBuilder();

  /** Adds a line. */
  Lines add(Object... words) {
    String separator = "";
    for (Object word : words) {
      text.append(separator).append(encode(word.toString()));
      separator = " ";
    }
    text.append('\n');
    return this;
  }

  private static String encode(String word) {
    return word.isEmpty() ? EMPTY : word.equals(EMPTY) ? "%2D" : Percent.encode(word);
  }

  int length() {
    return text.length();
  }

  @Override
  public String toString() {
    return text.toString();
  }

  /** The words of each line; lines that are no good are left out. */
  static Stream<List<String>> read(String text) {
    return text.lines().map(Lines::words).filter(words -> !words.isEmpty());
  }

  private static List<String> words(String line) {
    try {
      return Stream.of(line.split(" ", -1))
          .map(word -> word.equals(EMPTY) ? "" : Percent.decode(word))
          .toList();
    } catch (InvalidValueException notOurs) {
      return List.of();
    }
  }

  /** A number of a line; 0 if it is none. */
  static long number(List<String> words, int index) {
    String word = index < words.size() ? words.get(index) : "";
    if (word.isEmpty() || word.length() > MOST_DIGITS) {
      return 0;
    }
    long number = 0;
    for (int i = 0; i < word.length(); i++) {
      char digit = word.charAt(i);
      if (digit < '0' || digit > '9') {
        return 0;
      }
      number = 10 * number + (digit - '0');
    }
    return number;
  }

  /** A word of a line; empty if there is none. */
  static String word(List<String> words, int index) {
    return index < words.size() ? words.get(index) : "";
  }
}
