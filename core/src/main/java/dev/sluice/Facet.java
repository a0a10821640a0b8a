package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/**
 * Where one facet of who asks comes from, and the form in which its values are counted.
 *
 * @param key the header's, cookie's, query parameter's or claim's name; empty for the others
 * @param secret whether the value is hashed before it is stored or shown
 * @param normalize what is done to a value before it is compared, hashed or counted; always in the
 *     order of the enum
 */
public record Facet(
    String name, Source source, String key, boolean secret, Set<Normalization> normalize) {
  /** The facet that is the client's address where nobody says where it is found. */
  public static final String ADDRESS = "ip";

  /** The part of a request that a facet is read from. */
  public enum Source {
    CLIENT_ADDRESS,
    HEADER,
    COOKIE,
    QUERY,
    CLAIM,
    PRINCIPAL,
    SESSION,
    /** No request: the code that asks supplies it. */
    CALLER
  }

  /** A step towards one form for values that mean the same. */
  public enum Normalization {
    /** Unicode's form NFKC, without the characters that nobody can see. */
    NFKC,
    /** Without white space at both ends. */
    TRIM,
    /** In lower case, by the rules of no language in particular; both small sigmas are one. */
    LOWERCASE
  }

  public Facet {
    checkName(name);
    EnumSet<Normalization> steps = EnumSet.noneOf(Normalization.class);
    steps.addAll(normalize);
    normalize = Collections.unmodifiableSet(steps);
  }

  /** A facet whose values are counted as they are. */
  public Facet(String name, Source source, String key, boolean secret) {
    this(name, source, key, secret, Set.of());
  }

  /** Refuses a name that no facet may have. */
  public static String checkName(String name) {
    if (name.equals(Rule.EVERYONE)) {
      throw InvalidValueException.of(
          "facet name",
          "'%s'".formatted(name),
          "another name; this one stands for all callers together");
    }
    return Identity.checkedName(name);
  }

  /**
   * Whether the facet of a name holds client addresses. Where nobody says a word about {@code ip},
   * it does.
   */
  public static boolean isAddress(String name, Map<String, Facet> facets) {
    Facet facet = facets.get(name);
    return facet == null ? name.equals(ADDRESS) : facet.source == Source.CLIENT_ADDRESS;
  }

  /** A value in the form in which it is counted; doing so twice changes nothing more. */
  public String canonical(String value) {
    return normalize.isEmpty() ? value : CanonicalForm.of(value, normalize);
  }
}
