/**
 * The other end of a request's connection, on every web server.
 *
 * <p>Not API: types are public here because the packages {@code call}, {@code mvc}, {@code webflux}
 * and {@code boot} need them.
 */
@NullMarked
package dev.sluice.spring.peer;

import org.jspecify.annotations.NullMarked;
