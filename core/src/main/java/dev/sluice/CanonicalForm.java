package dev.sluice;

import dev.sluice.Facet.Normalization;
import java.text.Normalizer;
import java.util.Locale;
import java.util.Set;

/** Brings the value of a facet into its canonical form. */
final class CanonicalForm {
  /*
   * The steps repeat until nothing changes, because one pass is not enough. Removing a soft hyphen
   * can join a letter and its accent into one character; a lower-case h with a macron below has a
   * character of its own, the upper-case one has none. Normalizing a normalized value must not
   * change it.
   *
   * Every pass after the first only removes, composes or lowers, so the loop ends. The bound guards
   * against a future version of Unicode.
   */
  private static final int MOST_PASSES = 8;

  /** Default_Ignorable_Code_Point of Unicode, and the marks of interlinear annotations. */
  private static final int[][] INVISIBLE = {
    {0x00AD, 0x00AD},
    {0x034F, 0x034F},
    {0x061C, 0x061C},
    {0x115F, 0x1160},
    {0x17B4, 0x17B5},
    {0x180B, 0x180F},
    {0x200B, 0x200F},
    {0x202A, 0x202E},
    {0x2060, 0x206F},
    {0x3164, 0x3164},
    {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A},
    {0xE0000, 0xE0FFF},
  };

  /** The blank Braille pattern: it looks like a space, and NFKC keeps it. */
  private static final int BLANK = 0x2800;

  private CanonicalForm() {}

  static String of(String value, Set<Normalization> steps) {
    String form = pass(value, steps);
    if (isAscii(form)) {
      return form;
    }
    for (int i = 1; i < MOST_PASSES; i++) {
      String next = pass(form, steps);
      if (next.equals(form)) {
        break;
      }
      form = next;
    }
    return form;
  }

  private static String pass(String value, Set<Normalization> steps) {
    String form = value;
    if (steps.contains(Normalization.NFKC) && !isAscii(form)) {
      form = visible(Normalizer.normalize(form, Normalizer.Form.NFKC));
    }
    if (steps.contains(Normalization.TRIM)) {
      form = trimmed(form);
    }
    return steps.contains(Normalization.LOWERCASE) ? lower(form) : form;
  }

  /**
   * Maps both small sigmas to one. Which of them a capital sigma becomes depends on the end of its
   * word. Java searches for that end again for every sigma: a thousand of them take 14 ms.
   */
  private static String lower(String value) {
    return value.replace('Σ', 'σ').replace('ς', 'σ').toLowerCase(Locale.ROOT);
  }

  private static boolean isAscii(String value) {
    for (int i = 0; i < value.length(); i++) {
      if (value.charAt(i) >= 0x80) {
        return false;
      }
    }
    return true;
  }

  private static String visible(String value) {
    StringBuilder visible = new StringBuilder(value.length());
    value
        .codePoints()
        .filter(c -> !isInvisible(c))
        .forEach(c -> visible.appendCodePoint(c == BLANK ? ' ' : c));
    return visible.toString();
  }

  private static boolean isInvisible(int character) {
    for (int[] range : INVISIBLE) {
      if (character <= range[1]) {
        return character >= range[0];
      }
    }
    return false;
  }

  private static String trimmed(String value) {
    int from = 0;
    int to = value.length();
    while (from < to && isSpace(value.charAt(from))) {
      from++;
    }
    while (to > from && isSpace(value.charAt(to - 1))) {
      to--;
    }
    return value.substring(from, to);
  }

  /**
   * Unicode white space, all of it below U+10000. {@link Character#isWhitespace} leaves out NBSP.
   */
  private static boolean isSpace(char c) {
    return Character.isWhitespace(c) || Character.isSpaceChar(c);
  }
}
