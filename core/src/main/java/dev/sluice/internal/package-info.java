/**
 * Helpers that the modules of Sluice share. Not part of the public API; they may change at any
 * time.
 */
@NullMarked
package dev.sluice.internal;

import org.jspecify.annotations.NullMarked;
