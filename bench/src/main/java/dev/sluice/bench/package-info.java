/** Benchmarks that compare Sluice with other rate limiters in one run: the command line. */
@NullMarked
package dev.sluice.bench;

import org.jspecify.annotations.NullMarked;
