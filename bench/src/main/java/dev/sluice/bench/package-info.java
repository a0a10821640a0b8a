/** Benchmarks that compare Sluice with other rate limiters in one run. */
@NullMarked
package dev.sluice.bench;

import org.jspecify.annotations.NullMarked;
