/** The store inside the JVM: exact, bounded, and the oracle that other stores are compared with. */
@NullMarked
package dev.sluice.memory;

import org.jspecify.annotations.NullMarked;
