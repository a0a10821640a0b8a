package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Percent;
import dev.sluice.internal.Sha256;
import dev.sluice.internal.Text;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Who makes a call, as named facets such as {@code ip}, {@code member} or {@code apiKey}.
 * Immutable.
 *
 * <p>A facet with an empty value counts as missing. Two identities are equal exactly if their
 * facets are. {@link #toString()} is the canonical text; no two identities share one.
 */
public final class Identity implements Comparable<Identity> {
  /*
   * A linked list of facets, sorted by name. Most identities have one or two facets, and every call
   * makes one. So it is a single small object, a look-up is a short walk, and equality needs no
   * map.
   *
   * Accounts are named by identities in which secret and long values are replaced by a hash: the
   * control character U+0002, then the SHA-256. Control characters are refused in values, so no
   * short value can equal the hash of a long one.
   *
   * Rules hash, not the constructor, because a value must be normalized first. Otherwise a login
   * with a hundred trailing spaces would be another login.
   */
  private static final int LONGEST_KEPT = 128;
  private static final int HASH_DIGITS = 40;
  private static final int LONGEST_TEXT =
      Bounds.MOST_FACETS * (Bounds.LONGEST_FACET_NAME + 2 + 9 * Bounds.LONGEST_FACET_VALUE);
  private static final char HASHED = '\u0002';
  private static final Pattern SHOWN_HASH =
      Pattern.compile("(?:\u0002|%02|sha256:)[0-9a-fA-F]{" + HASH_DIGITS + "}");
  private static final Identity EMPTY = new Identity("", "", null);

  /**
   * The identity of the account that all callers of a rule share. No facet of a call has its name.
   */
  static final Identity EVERYONE = new Identity(Rule.EVERYONE, "all", null);

  private final String name;
  private final String value;
  private final @Nullable Identity rest;

  private Identity(String name, String value, @Nullable Identity rest) {
    this.name = name;
    this.value = value;
    this.rest = rest;
  }

  /** An identity of one facet; without facets if the value is empty. */
  public static Identity of(String name, String value) {
    checkedName(name);
    return value.isEmpty() ? EMPTY : new Identity(name, checkedValue(name, value), null);
  }

  /** An identity of two facets. A facet with an empty value is left out. */
  public static Identity of(String name1, String value1, String name2, String value2) {
    return of(name1, value1).with(name2, value2);
  }

  /** An identity of several facets. Facets with an empty value are left out. */
  public static Identity of(Map<String, String> facets) {
    checkCount(facets.size());
    TreeMap<String, String> sorted = new TreeMap<>();
    facets.forEach(
        (name, value) -> {
          checkedName(name);
          if (!value.isEmpty()) {
            sorted.put(name, checkedValue(name, value));
          }
        });
    return sorted(sorted);
  }

  /** An identity of facets that were already checked and, where they are secret, hashed. */
  public static Identity ofChecked(NavigableMap<String, String> facets) {
    return sorted(facets);
  }

  private static void checkCount(int facets) {
    if (facets > Bounds.MOST_FACETS) {
      throw InvalidValueException.of(
          "facets", "%,d".formatted(facets), "at most %d".formatted(Bounds.MOST_FACETS));
    }
  }

  /** An identity without facets. */
  public static Identity none() {
    return EMPTY;
  }

  private static Identity sorted(NavigableMap<String, String> facets) {
    Identity identity = null;
    for (Map.Entry<String, String> facet : facets.descendingMap().entrySet()) {
      identity = new Identity(facet.getKey(), facet.getValue(), identity);
    }
    return identity == null ? EMPTY : identity;
  }

  /** Reads the canonical text that {@link #toString()} writes. */
  public static Identity parse(String text) {
    if (text.length() > LONGEST_TEXT) {
      throw InvalidValueException.of(
          "identity",
          "%,d characters".formatted(text.length()),
          "at most %,d".formatted(LONGEST_TEXT));
    }
    checkCount(1 + (int) text.chars().filter(c -> c == '&').count());
    TreeMap<String, String> sorted = new TreeMap<>();
    for (String facet : text.split("&", -1)) {
      int equals = facet.indexOf('=');
      if (equals < 1 || equals == facet.length() - 1) {
        throw InvalidValueException.of("identity", Text.quoted(text), "name=value, joined by &");
      }
      String name = checkedName(facet.substring(0, equals));
      String value = Percent.decode(facet.substring(equals + 1));
      if (sorted.put(name, isHash(value) ? value : checkedValue(name, value)) != null) {
        throw InvalidValueException.of(
            "identity", "%s has '%s' twice".formatted(Text.quoted(text), name), "once");
      }
    }
    return sorted(sorted);
  }

  /** This identity with a facet added or replaced; with an empty value, without that facet. */
  public Identity with(String name, String value) {
    TreeMap<String, String> sorted = new TreeMap<>(facets());
    checkedName(name);
    if (value.isEmpty()) {
      sorted.remove(name);
    } else {
      sorted.put(name, checkedValue(name, value));
      checkCount(sorted.size());
    }
    return sorted(sorted);
  }

  /** Whether a text is the hash of a secret or long value, in the form that lists and JSON show. */
  public static boolean isShownHash(String text) {
    return SHOWN_HASH.matcher(text).matches();
  }

  /**
   * This identity with a facet of which only the hash is known. For operators only: a caller that
   * may pass hashes can impersonate anyone whose hash it knows.
   *
   * @param shown the hash as lists and JSON show it: {@code %02…} or {@code sha256:…}
   */
  public Identity withHash(String name, String shown) {
    if (!isShownHash(shown)) {
      throw InvalidValueException.of(
          "facet '%s'".formatted(name), Text.quoted(shown), "a hash as it is listed");
    }
    TreeMap<String, String> sorted = new TreeMap<>(facets());
    sorted.put(checkedName(name), hashIn(shown));
    checkCount(sorted.size());
    return sorted(sorted);
  }

  /** The hash that lists and JSON show. */
  static String hashIn(String shown) {
    return HASHED + shown.substring(shown.length() - HASH_DIGITS).toLowerCase(Locale.ROOT);
  }

  /** A hash as lists and JSON show it. */
  static String shown(String hash) {
    return "sha256:" + hash.substring(1);
  }

  /** The value of a facet, or null if it is missing. */
  public @Nullable String facet(String wanted) {
    for (Identity at = first(); at != null; at = at.rest) {
      if (at.name.equals(wanted)) {
        return at.value;
      }
    }
    return null;
  }

  /** The number of characters of all values. */
  public int length() {
    int length = 0;
    for (Identity at = this; at != null; at = at.rest) {
      length += at.value.length();
    }
    return length;
  }

  /** Whether there are no facets. */
  public boolean isEmpty() {
    return value.isEmpty();
  }

  /** The facets from here on; null if there are none. */
  private @Nullable Identity first() {
    return isEmpty() ? null : this;
  }

  /** All facets, sorted by name. */
  public Map<String, String> facets() {
    LinkedHashMap<String, String> facets = new LinkedHashMap<>();
    for (Identity at = first(); at != null; at = at.rest) {
      facets.put(at.name, at.value);
    }
    return Collections.unmodifiableMap(facets);
  }

  /**
   * This identity reduced to the named facets, or null if one is missing. Without names: the
   * identity of all callers together.
   */
  @Nullable Identity only(String[] wanted) {
    if (wanted.length == 0) {
      return EVERYONE;
    }
    if (wanted.length == 1 && rest == null) {
      return same(name, wanted[0]) ? this : null;
    }
    Identity found = null;
    for (int i = wanted.length - 1; i >= 0; i--) {
      String itsValue = facet(wanted[i]);
      if (itsValue == null) {
        return null;
      }
      found = new Identity(wanted[i], itsValue, found);
    }
    return found;
  }

  /**
   * This identity with every value normalized as its facet demands. A value that becomes empty is a
   * missing facet; a value that is already a hash stays.
   *
   * @param forms the facets that normalize, by name
   */
  Identity canonical(Map<String, Facet> forms) {
    Identity canonical = isEmpty() ? this : inForm(forms);
    return canonical == null ? EMPTY : canonical;
  }

  private @Nullable Identity inForm(Map<String, Facet> forms) {
    Identity others = rest == null ? null : rest.inForm(forms);
    Facet facet = forms.get(name);
    String form = facet == null || isHash(value) ? value : facet.canonical(value);
    return form.isEmpty() ? others : having(form, others);
  }

  /** This identity as it names accounts: secret and long values are hashed. */
  Identity kept(Set<String> secret) {
    Identity others = rest == null ? null : rest.kept(secret);
    return having(kept(value, secret.contains(name)), others);
  }

  /** A value as it names accounts: hashed if it is secret or long. */
  static String kept(String value, boolean secret) {
    boolean hashes = value.length() > LONGEST_KEPT || secret;
    return hashes && !isHash(value) ? sha256(value) : value;
  }

  @SuppressWarnings({"ReferenceEquality", "StringEquality"}) // usually nothing changed
  private Identity having(String itsValue, @Nullable Identity others) {
    return itsValue == value && others == rest ? this : new Identity(name, itsValue, others);
  }

  private static boolean isHash(String value) {
    if (value.length() != 1 + HASH_DIGITS || value.charAt(0) != HASHED) {
      return false;
    }
    return value.chars().skip(1).allMatch(HexFormat::isHexDigit);
  }

  @Override
  public int compareTo(Identity other) {
    int byNames = compareNames(other);
    return byNames != 0 ? byNames : compareValues(other);
  }

  private int compareNames(Identity other) {
    int byName = name.compareTo(other.name);
    if (byName != 0 || rest == null || other.rest == null) {
      return byName != 0 ? byName : Boolean.compare(rest != null, other.rest != null);
    }
    return rest.compareNames(other.rest);
  }

  private int compareValues(Identity other) {
    int byValue = value.compareTo(other.value);
    return byValue != 0 || rest == null || other.rest == null
        ? byValue
        : rest.compareValues(other.rest);
  }

  @Override
  public boolean equals(@Nullable Object object) {
    return object instanceof Identity other
        && same(value, other.value)
        && same(name, other.name)
        && (rest == null ? other.rest == null : rest.equals(other.rest));
  }

  @SuppressWarnings({"ReferenceEquality", "StringEquality"}) // usually the same object
  private static boolean same(String a, String b) {
    return a == b || a.equals(b);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * (rest == null ? 1 : rest.hashCode()) + name.hashCode()) + value.hashCode();
  }

  /** The canonical text, such as {@code member=ann&promo=x%20y}. */
  @Override
  public String toString() {
    if (isEmpty()) {
      return "";
    }
    String facet = name + "=" + Percent.encode(value);
    return rest == null ? facet : facet + "&" + rest;
  }

  static String checkedName(String name) {
    boolean good =
        !name.isEmpty() && name.length() <= Bounds.LONGEST_FACET_NAME && isLetter(name.charAt(0));
    for (int i = 1; good && i < name.length(); i++) {
      char c = name.charAt(i);
      good = isLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    }
    if (!good) {
      throw InvalidValueException.of(
          "facet name",
          Text.quoted(name),
          "a letter, then letters, digits, '_', '-' or '.', %d at most"
              .formatted(Bounds.LONGEST_FACET_NAME));
    }
    return name;
  }

  private static boolean isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  private static String checkedValue(String name, String value) {
    if (same(name, Rule.EVERYONE) && !value.equals(EVERYONE.value)) {
      throw InvalidValueException.of(
          "facet '%s'".formatted(name),
          Text.quoted(value),
          "another name; this one stands for all callers together");
    }
    return value.length() <= LONGEST_KEPT && isPlain(value) ? value : carefully(name, value);
  }

  private static boolean isPlain(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c < ' ' || c >= 0x7f) {
        return false;
      }
    }
    return true;
  }

  private static String carefully(String name, String value) {
    if (value.length() > Bounds.LONGEST_FACET_VALUE) {
      throw InvalidValueException.of(
          "facet '%s'".formatted(name),
          "%,d characters".formatted(value.length()),
          "at most %,d".formatted(Bounds.LONGEST_FACET_VALUE));
    }
    for (int i = 0; i < value.length(); i++) {
      if (Character.isISOControl(value.charAt(i))) {
        throw InvalidValueException.of(
            "facet '%s'".formatted(name), Text.quoted(value), "no control characters");
      }
      if (Text.isAlone(value, i)) {
        throw InvalidValueException.of(
            "facet '%s'".formatted(name), Text.quoted(value), "well-formed Unicode");
      }
    }
    return value;
  }

  private static String sha256(String value) {
    return HASHED + Sha256.hex(value).substring(0, HASH_DIGITS);
  }
}
