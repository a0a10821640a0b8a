/** The Redis servers that the bench starts. */
@NullMarked
package dev.sluice.bench.servers;

import org.jspecify.annotations.NullMarked;
