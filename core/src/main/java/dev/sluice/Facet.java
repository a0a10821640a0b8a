package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * One facet of a caller: where a request carries it, and how its values are normalized.
 *
 * @param name the name by which rules refer to it
 * @param source the part of a request that holds it
 * @param key the name of the header, cookie, query parameter or claim; empty for other sources
 * @param secret whether the value is hashed before it is stored or shown
 * @param normalize the steps applied to a value before it is compared, hashed or counted; always in
 *     the order of the enum
 */
public record Facet(
    String name, Source source, String key, boolean secret, Set<Normalization> normalize) {
  /** The name of the facet that holds the client address if rules do not define it otherwise. */
  public static final String ADDRESS = "ip";

  /** The part of a request that a facet is read from. */
  public enum Source {
    /** The address of the client, also behind trusted proxies. */
    CLIENT_ADDRESS,
    /** A header field. */
    HEADER,
    /** A cookie. */
    COOKIE,
    /** A query parameter. */
    QUERY,
    /** A claim of a verified token. */
    CLAIM,
    /** The name of the authenticated user. */
    PRINCIPAL,
    /** The id of the session. */
    SESSION,
    /** Not in the request: the calling code supplies it. */
    CALLER
  }

  /** A step that gives values with the same meaning the same text. */
  public enum Normalization {
    /** Unicode NFKC, with invisible characters removed. */
    NFKC,
    /** White space at both ends is removed. */
    TRIM,
    /** Lower case, independent of locale. Both small sigmas become one. */
    LOWERCASE
  }

  /** Checks the name and copies the steps. */
  public Facet {
    checkName(Objects.requireNonNull(name, "name"));
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(key, "key");
    EnumSet<Normalization> steps = EnumSet.noneOf(Normalization.class);
    steps.addAll(normalize);
    normalize = Collections.unmodifiableSet(steps);
  }

  /** A facet without normalization. */
  public Facet(String name, Source source, String key, boolean secret) {
    this(name, source, key, secret, Set.of());
  }

  /** Returns the name, or throws if no facet may have it. */
  public static String checkName(String name) {
    if (name.equals(Rule.EVERYONE)) {
      throw InvalidValueException.of(
          "facet name",
          "'%s'".formatted(name),
          "another name; this one stands for all callers together");
    }
    return Identity.checkedName(name);
  }

  /** Whether a facet holds client addresses. If the rules do not define {@code ip}, it does. */
  public static boolean isAddress(String name, Map<String, Facet> facets) {
    Facet facet = facets.get(name);
    return facet == null ? name.equals(ADDRESS) : facet.source == Source.CLIENT_ADDRESS;
  }

  /** The normalized value. Normalizing it again changes nothing. */
  public String canonical(String value) {
    return normalize.isEmpty() ? value : CanonicalForm.of(value, normalize);
  }
}
