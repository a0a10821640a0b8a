package dev.sluice;

/**
 * Where an HTTP edge finds one facet of who asks.
 *
 * @param key the header's, cookie's, query parameter's or claim's name; empty for the others
 * @param secret whether the value is hashed before it is stored or shown
 */
public record Facet(String name, Source source, String key, boolean secret) {
  /** The part of a request that a facet is read from. */
  public enum Source {
    CLIENT_ADDRESS,
    HEADER,
    COOKIE,
    QUERY,
    CLAIM,
    PRINCIPAL,
    SESSION
  }

  public Facet {
    Identity.checkedName(name);
  }
}
