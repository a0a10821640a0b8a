package dev.sluice.spring.login;

import dev.sluice.Facet;
import dev.sluice.Facet.Normalization;
import dev.sluice.internal.Bounds;
import java.util.EnumSet;
import org.jspecify.annotations.Nullable;

/** Normalizes a typed login name to the form in which it is counted. */
final class LoginName {
  /*
   * Databases often take Ann, "ann " and ann for one account, and some cut a name at a null byte. If
   * each spelling had its own tries, an attacker would get the limit once for each spelling. So all
   * spellings share one account. Characters that no identity can hold are removed: if such names were
   * refused, those tries would not be counted.
   *
   * The name is cut last. If it were cut first, leading spaces could push the name out, while a
   * database that trims would still find the account.
   */
  static final String BLANK = "(blank)";
  static final String TOO_LONG = "(too long)";

  /** In characters. All longer names count as one, so that padding gives no further tries. */
  static final int LONGEST_TYPED = 4_096;

  private static final EnumSet<Normalization> ALL = EnumSet.allOf(Normalization.class);

  private LoginName() {}

  /**
   * The value of the facet, or null if nothing was typed.
   *
   * @param facet the facet in the rules, or null
   */
  static @Nullable String of(String name, String typed, @Nullable Facet facet) {
    if (typed.isEmpty()) {
      return null;
    }
    if (typed.length() > LONGEST_TYPED) {
      return TOO_LONG;
    }
    Facet form =
        facet == null || facet.normalize().isEmpty()
            ? new Facet(name, Facet.Source.PRINCIPAL, "", false, ALL)
            : facet;
    String login = cut(form.canonical(countable(typed)));
    return login.isEmpty() ? BLANK : login;
  }

  private static String cut(String text) {
    if (text.length() <= Bounds.LONGEST_FACET_VALUE) {
      return text;
    }
    boolean splits = Character.isHighSurrogate(text.charAt(Bounds.LONGEST_FACET_VALUE - 1));
    return text.substring(0, Bounds.LONGEST_FACET_VALUE - (splits ? 1 : 0));
  }

  /** Removes what an identity cannot hold: control characters and unpaired surrogates. */
  private static String countable(String text) {
    StringBuilder kept = new StringBuilder(text.length());
    text.codePoints()
        .filter(c -> !Character.isISOControl(c) && !isSurrogate(c))
        .forEach(kept::appendCodePoint);
    return kept.toString();
  }

  private static boolean isSurrogate(int codePoint) {
    return codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
  }
}
