/**
 * Filters and handlers for WebFlux.
 *
 * <p>Not API: types are public here because the package {@code boot} needs them.
 */
@NullMarked
package dev.sluice.spring.webflux;

import org.jspecify.annotations.NullMarked;
