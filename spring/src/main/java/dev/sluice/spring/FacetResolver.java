package dev.sluice.spring;

import org.jspecify.annotations.Nullable;

/**
 * Supplies one facet of the caller, such as its tenant, to every rule that counts by it. A bean;
 * must be thread-safe.
 *
 * <p>If it throws, the call fails with that exception: it does not pass, and is not counted.
 */
public interface FacetResolver {
  /** The name of the facet in the rules. */
  String facet();

  /** Its value for this call, or null if there is none. Must not block in WebFlux. */
  @Nullable String resolve(FacetContext context);
}
