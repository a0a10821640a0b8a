package dev.sluice;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Who asks, as named facets: {@code ip}, {@code member}, {@code apiKey}, anything. Immutable.
 *
 * <p>An empty value is a missing facet. Two identities are equal if and only if their facets are;
 * {@link #toString()} is their canonical text, and no two identities share one.
 */
public final class Identity implements Comparable<Identity> {
  /*
   * One facet and the rest, sorted by name. Most identities have one or two facets and one is made
   * for every call, so it is a single object of few words, a look-up is a short walk and equality
   * needs no map.
   *
   * A value longer than LONGEST_KEPT is replaced by its SHA-256 behind the control character U+0002.
   * Control characters are refused in values, so nobody can write a short value that equals the hash
   * of a long one.
   */
  private static final int LONGEST_KEPT = 128;
  private static final int LONGEST_VALUE = 65_536;
  private static final char HASHED = '\u0002';
  private static final Identity EMPTY = new Identity("", "", null);

  private final String name;
  private final String value;
  private final @Nullable Identity rest;

  private Identity(String name, String value, @Nullable Identity rest) {
    this.name = name;
    this.value = value;
    this.rest = rest;
  }

  public static Identity of(String name, String value) {
    checkedName(name);
    return value.isEmpty() ? EMPTY : new Identity(name, checkedValue(name, value), null);
  }

  public static Identity of(String name1, String value1, String name2, String value2) {
    return of(name1, value1).with(name2, value2);
  }

  public static Identity of(Map<String, String> facets) {
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

  private static Identity sorted(NavigableMap<String, String> facets) {
    Identity identity = null;
    for (Map.Entry<String, String> facet : facets.descendingMap().entrySet()) {
      identity = new Identity(facet.getKey(), facet.getValue(), identity);
    }
    return identity == null ? EMPTY : identity;
  }

  /** Reads the canonical text that {@link #toString()} writes. */
  public static Identity parse(String text) {
    TreeMap<String, String> sorted = new TreeMap<>();
    for (String facet : text.split("&", -1)) {
      int equals = facet.indexOf('=');
      if (equals < 1 || equals == facet.length() - 1) {
        throw new IllegalArgumentException(
            "identity: '" + text + "' (expected: name=value, joined by &)");
      }
      String name = checkedName(facet.substring(0, equals));
      String value = Percent.decode(facet.substring(equals + 1));
      sorted.put(name, value.charAt(0) == HASHED ? value : checkedValue(name, value));
    }
    return sorted(sorted);
  }

  /** This identity with one facet more, or with another value for a facet it has. */
  public Identity with(String name, String value) {
    TreeMap<String, String> sorted = new TreeMap<>(facets());
    checkedName(name);
    if (value.isEmpty()) {
      sorted.remove(name);
    } else {
      sorted.put(name, checkedValue(name, value));
    }
    return sorted(sorted);
  }

  /** The value of a facet, or null if this identity lacks it. */
  public @Nullable String facet(String wanted) {
    for (Identity at = first(); at != null; at = at.rest) {
      if (at.name.equals(wanted)) {
        return at.value;
      }
    }
    return null;
  }

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

  /** This identity reduced to the named facets, or null if one of them is missing. */
  @Nullable Identity only(String[] wanted) {
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

  /** This identity with the values of the named facets replaced by their hashes. */
  Identity hashing(Collection<String> secret) {
    if (isEmpty()) {
      return this;
    }
    boolean hashes = secret.contains(name) && value.charAt(0) != HASHED;
    return new Identity(
        name, hashes ? sha256(value) : value, rest == null ? null : rest.hashing(secret));
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

  @SuppressWarnings({"ReferenceEquality", "StringEquality"}) // as nearly always, and then done
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
    boolean good = !name.isEmpty() && name.length() <= 64 && isLetter(name.charAt(0));
    for (int i = 1; good && i < name.length(); i++) {
      char c = name.charAt(i);
      good = isLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    }
    if (!good) {
      throw new IllegalArgumentException(
          "facet name: "
              + Text.quoted(name)
              + " (expected: a letter, then letters, digits, '_', '-' or '.', 64 at most)");
    }
    return name;
  }

  private static boolean isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  private static String checkedValue(String name, String value) {
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
    if (value.length() > LONGEST_VALUE) {
      throw new IllegalArgumentException(
          "facet '%s': %,d characters (expected: at most %,d)"
              .formatted(name, value.length(), LONGEST_VALUE));
    }
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c < ' ' || (c >= 0x7f && c < 0xa0)) {
        throw new IllegalArgumentException(
            "facet '%s': %s (expected: no control characters)".formatted(name, Text.quoted(value)));
      }
      if (Character.isSurrogate(c)) {
        boolean paired =
            Character.isHighSurrogate(c)
                && i + 1 < value.length()
                && Character.isLowSurrogate(value.charAt(i + 1));
        if (!paired) {
          throw new IllegalArgumentException(
              "facet '%s': %s (expected: well-formed Unicode)".formatted(name, Text.quoted(value)));
        }
        i++;
      }
    }
    return value.length() > LONGEST_KEPT ? sha256(value) : value;
  }

  private static String sha256(String value) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(value.getBytes(StandardCharsets.UTF_8));
      return HASHED + HexFormat.of().formatHex(digest, 0, 20);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
