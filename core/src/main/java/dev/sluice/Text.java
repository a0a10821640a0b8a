package dev.sluice;

import java.util.Collection;
import java.util.Locale;
import java.util.Optional;

/** Words for messages: values quoted so that a log cannot be forged, and names that were meant. */
public final class Text {
  private static final int SHOWN = 64;

  private Text() {}

  /** A value in quotes, control characters escaped, cut when long. */
  public static String quoted(String value) {
    StringBuilder text = new StringBuilder("'");
    for (int i = 0; i < Math.min(value.length(), SHOWN); i++) {
      char c = value.charAt(i);
      if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || isAlone(value, i)) {
        text.append("\\u%04x".formatted((int) c));
      } else {
        text.append(c);
      }
    }
    return text.append(value.length() > SHOWN ? "…'" : "'").toString();
  }

  /** Whether a character is half of a pair whose other half is missing. */
  private static boolean isAlone(String value, int i) {
    char c = value.charAt(i);
    return Character.isHighSurrogate(c)
        ? i + 1 == value.length() || !Character.isLowSurrogate(value.charAt(i + 1))
        : Character.isLowSurrogate(c)
            && (i == 0 || !Character.isHighSurrogate(value.charAt(i - 1)));
  }

  /** The name among many that was probably meant, if one is near enough. */
  public static Optional<String> nearest(String meant, Collection<String> names) {
    String best = null;
    int bestDistance = Math.max(1, meant.length() / 3) + 1;
    for (String name : names) {
      int distance = distance(meant.toLowerCase(Locale.ROOT), name.toLowerCase(Locale.ROOT));
      if (distance < bestDistance) {
        bestDistance = distance;
        best = name;
      }
    }
    return Optional.ofNullable(best);
  }

  /** Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
  private static int distance(String a, String b) {
    int[][] d = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          d[i][j] = i + j;
          continue;
        }
        int same = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
        d[i][j] = Math.min(Math.min(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + same);
        boolean swapped =
            i > 1
                && j > 1
                && a.charAt(i - 1) == b.charAt(j - 2)
                && a.charAt(i - 2) == b.charAt(j - 1);
        if (swapped) {
          d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
        }
      }
    }
    return d[a.length()][b.length()];
  }
}
