/**
 * The store inside the JVM: exact, bounded, and the reference that other stores are tested against.
 */
@NullMarked
package dev.sluice.memory;

import org.jspecify.annotations.NullMarked;
