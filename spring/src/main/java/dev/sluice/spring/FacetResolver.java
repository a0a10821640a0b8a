package dev.sluice.spring;

import org.jspecify.annotations.Nullable;

/**
 * Tells one facet of who asks, for every rule that counts by it. A bean; thread-safe.
 *
 * <p>What it throws is not swallowed: the call fails, it neither passes nor counts.
 */
public interface FacetResolver {
  /** The name of the facet, as rules call it. */
  String facet();

  /** Its value for this call, or null if there is none. Must not block in WebFlux. */
  @Nullable String resolve(FacetContext context);
}
