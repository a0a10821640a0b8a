/** The API of the rate limiter: rules, limits, calls and decisions. */
@NullMarked
package dev.sluice;

import org.jspecify.annotations.NullMarked;
