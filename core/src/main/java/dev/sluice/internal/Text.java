package dev.sluice.internal;

import java.util.Collection;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Text for messages: quoted values that cannot forge log lines, JSON strings, URIs without their
 * passwords, and suggestions for misspelled names.
 */
public final class Text {
  private static final int SHOWN = 64;
  private static final int MOST_NAMES = 12;
  private static final int LONGEST_NAME = 128;
  private static final int MOST_TRIED = 1_000;

  private static final Pattern CREDENTIALS =
      Pattern.compile("^([a-z-]*:(?://)?)?.*@", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private Text() {}

  /** A value in quotes, control characters escaped, cut when long. */
  public static String quoted(String value) {
    return "'" + plain(value) + "'";
  }

  private static String plain(String value) {
    StringBuilder text = new StringBuilder();
    String shown = value.substring(0, Math.min(value.length(), SHOWN));
    for (int i = 0; i < shown.length(); i++) {
      char c = shown.charAt(i);
      if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || isAlone(shown, i)) {
        text.append("\\u%04x".formatted((int) c));
      } else {
        text.append(c);
      }
    }
    return text.append(value.length() > SHOWN ? "…" : "").toString();
  }

  /** A value as a JSON string in ASCII, which is also YAML and safe to embed in a web page. */
  public static String json(String value) {
    StringBuilder text = new StringBuilder(value.length() + 2).append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        text.append('\\').append(c);
      } else if (c < ' ' || c == '<' || c == '>' || c == '&' || c >= 0x7f) {
        text.append("\\u%04x".formatted((int) c));
      } else {
        text.append(c);
      }
    }
    return text.append('"').toString();
  }

  /**
   * A URI without its user and password: {@code redis://***@host}. A password that was not encoded
   * can contain any character, so everything up to the last '@' is left out.
   */
  public static String withoutPassword(String uri) {
    return CREDENTIALS.matcher(uri).replaceFirst("$1***@");
  }

  /** Whether a text has neither control characters nor unpaired surrogates. */
  public static boolean isPrintable(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (Character.isISOControl(text.charAt(i)) || isAlone(text, i)) {
        return false;
      }
    }
    return true;
  }

  /** Whether a character is an unpaired surrogate. */
  public static boolean isAlone(String value, int i) {
    char c = value.charAt(i);
    return Character.isHighSurrogate(c)
        ? i + 1 == value.length() || !Character.isLowSurrogate(value.charAt(i + 1))
        : Character.isLowSurrogate(c)
            && (i == 0 || !Character.isHighSurrogate(value.charAt(i - 1)));
  }

  /** The first few names, and how many more there are: {@code login, search}. */
  public static String listed(Collection<String> names) {
    String first =
        names.stream().limit(MOST_NAMES).map(Text::plain).collect(Collectors.joining(", "));
    int more = names.size() - MOST_NAMES;
    return more > 0 ? "%s and %,d more".formatted(first, more) : first;
  }

  /** Advice about an unknown name: the nearest name, or the known names. */
  public static String advice(String unknown, Collection<String> known) {
    return nearest(unknown, known)
        .map(Text::didYouMean)
        .orElseGet(
            () ->
                known.isEmpty()
                    ? "expected: none"
                    : "expected: " + (known.size() > 1 ? "one of " : "") + listed(known));
  }

  /** A question that suggests a name. */
  public static String didYouMean(String near) {
    return "did you mean '" + near + "'?";
  }

  /** The nearest name, if one of the first thousand is near enough. */
  public static Optional<String> nearest(String meant, Collection<String> names) {
    if (meant.length() > LONGEST_NAME) {
      return Optional.empty();
    }
    String best = null;
    int bestDistance = Math.max(1, meant.length() / 3) + 1;
    String lower = meant.toLowerCase(Locale.ROOT);
    int tried = 0;
    for (String name : names) {
      if (++tried > MOST_TRIED) {
        break;
      }
      if (Math.abs(name.length() - meant.length()) >= bestDistance) {
        continue;
      }
      int distance = distance(lower, name.toLowerCase(Locale.ROOT));
      if (distance < bestDistance) {
        bestDistance = distance;
        best = name;
      }
    }
    return Optional.ofNullable(best);
  }

  /**
   * The number of edits (insert, delete, replace, swap of neighbours) that turn one word into the
   * other.
   */
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
