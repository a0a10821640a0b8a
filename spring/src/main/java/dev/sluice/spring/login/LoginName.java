package dev.sluice.spring.login;

import dev.sluice.Facet;
import dev.sluice.Facet.Normalization;
import dev.sluice.internal.Bounds;
import java.util.EnumSet;
import org.jspecify.annotations.Nullable;

/** The form in which the name of an account is counted, whatever somebody typed. */
public final class LoginName {
  /*
   * Databases often take Ann, "ann " and ann for one account, and some cut a name at a null byte. If
   * each spelling had tries of its own, the limit would be multiplied by the spellings. So the
   * spellings share one account here; and a name that no identity can hold is made one that can,
   * because a refusal would leave such tries uncounted.
   *
   * The name is cut last. Cut first, enough spaces before a name would leave nothing of it, while a
   * database that trims still finds the account.
   */
  static final String BLANK = "(blank)";
  static final String TOO_LONG = "(too long)";

  /** Characters as typed. All names with more count as one, so that padding buys no tries. */
  static final int LONGEST_TYPED = 4_096;

  private static final EnumSet<Normalization> ALL = EnumSet.allOf(Normalization.class);

  private LoginName() {}

  /**
   * The value of the facet, or null if nothing was typed.
   *
   * @param facet what the rules say about it, or null
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

  /** Without what an identity refuses: control characters and halves of characters. */
  private static String countable(String text) {
    StringBuilder kept = new StringBuilder(text.length());
    text.codePoints()
        .filter(c -> !Character.isISOControl(c) && !isHalf(c))
        .forEach(kept::appendCodePoint);
    return kept.toString();
  }

  private static boolean isHalf(int codePoint) {
    return codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
  }
}
