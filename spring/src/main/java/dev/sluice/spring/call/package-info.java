/**
 * From a request to a call: its facets, and the gate to the limiter.
 *
 * <p>Not API: types are public here because the other packages of the starter need them.
 */
@NullMarked
package dev.sluice.spring.call;

import org.jspecify.annotations.NullMarked;
