/**
 * Filters and handlers for servlets.
 *
 * <p>Not API: types are public here because the package {@code boot} needs them.
 */
@NullMarked
package dev.sluice.spring.mvc;

import org.jspecify.annotations.NullMarked;
