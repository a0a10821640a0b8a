package dev.sluice;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
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
   * Facets are kept as two arrays sorted by name. Most identities have one or two, so a look-up is a
   * short scan and equality needs no map.
   *
   * A value longer than LONGEST_KEPT is replaced by its SHA-256 behind the control character U+0002.
   * Control characters are refused in values, so nobody can write a short value that equals the hash
   * of a long one.
   */
  private static final int LONGEST_KEPT = 128;
  private static final int LONGEST_VALUE = 65_536;
  private static final char HASHED = '\u0002';

  private final String[] names;
  private final String[] values;
  private final int hash;

  private Identity(String[] names, String[] values) {
    this.names = names;
    this.values = values;
    int h = 1;
    for (int i = 0; i < names.length; i++) {
      h = 31 * (31 * h + names[i].hashCode()) + values[i].hashCode();
    }
    this.hash = h;
  }

  public static Identity of(String name, String value) {
    checkedName(name);
    return value.isEmpty()
        ? new Identity(new String[0], new String[0])
        : new Identity(new String[] {name}, new String[] {checkedValue(name, value)});
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
    return new Identity(
        sorted.keySet().toArray(new String[0]), sorted.values().toArray(new String[0]));
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
    return new Identity(
        sorted.keySet().toArray(new String[0]), sorted.values().toArray(new String[0]));
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
    return new Identity(
        sorted.keySet().toArray(new String[0]), sorted.values().toArray(new String[0]));
  }

  /** The value of a facet, or null if this identity lacks it. */
  public @Nullable String facet(String name) {
    for (int i = 0; i < names.length; i++) {
      if (names[i].equals(name)) {
        return values[i];
      }
    }
    return null;
  }

  public boolean isEmpty() {
    return names.length == 0;
  }

  /** All facets, sorted by name. */
  public Map<String, String> facets() {
    LinkedHashMap<String, String> facets = new LinkedHashMap<>();
    for (int i = 0; i < names.length; i++) {
      facets.put(names[i], values[i]);
    }
    return Collections.unmodifiableMap(facets);
  }

  /** This identity reduced to the named facets, or null if one of them is missing. */
  @Nullable Identity only(String[] wanted) {
    if (Arrays.equals(names, wanted)) {
      return this;
    }
    String[] found = new String[wanted.length];
    for (int i = 0; i < wanted.length; i++) {
      String value = facet(wanted[i]);
      if (value == null) {
        return null;
      }
      found[i] = value;
    }
    return new Identity(wanted, found);
  }

  /** This identity with the values of the named facets replaced by their hashes. */
  Identity hashing(Collection<String> secret) {
    String[] hashed = values.clone();
    for (int i = 0; i < names.length; i++) {
      if (secret.contains(names[i]) && hashed[i].charAt(0) != HASHED) {
        hashed[i] = sha256(hashed[i]);
      }
    }
    return new Identity(names, hashed);
  }

  @Override
  public int compareTo(Identity other) {
    int byNames = Arrays.compare(names, other.names);
    return byNames != 0 ? byNames : Arrays.compare(values, other.values);
  }

  @Override
  public boolean equals(@Nullable Object object) {
    return object instanceof Identity other
        && hash == other.hash
        && Arrays.equals(values, other.values)
        && Arrays.equals(names, other.names);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  /** The canonical text, such as {@code member=ann&promo=x%20y}. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < names.length; i++) {
      text.append(i == 0 ? "" : "&").append(names[i]).append('=');
      Percent.encode(values[i], text);
    }
    return text.toString();
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
