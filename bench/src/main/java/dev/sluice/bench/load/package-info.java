/** The load on a contender, and how rounds of it are measured. */
@NullMarked
package dev.sluice.bench.load;

import org.jspecify.annotations.NullMarked;
