/** Seeded bugs: each is put into the arithmetic alone, and the tests must find it. */
@NullMarked
package dev.sluice.redis.mutants;

import org.jspecify.annotations.NullMarked;
