/**
 * Routes, and what a refusal says, for servlets and WebFlux alike.
 *
 * <p>Not API: types are public here because the other packages of the starter need them.
 */
@NullMarked
package dev.sluice.spring.web;

import org.jspecify.annotations.NullMarked;
