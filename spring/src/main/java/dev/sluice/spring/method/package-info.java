/**
 * Annotated methods: their limits, and how calls to them are limited.
 *
 * <p>Not API: types are public here because the packages {@code boot} and {@code webflux} need
 * them.
 */
@NullMarked
package dev.sluice.spring.method;

import org.jspecify.annotations.NullMarked;
