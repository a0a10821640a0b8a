/** Evidence: processes that decide on real Redis servers while faults happen, then are checked. */
@NullMarked
package dev.sluice.redis.prove;

import org.jspecify.annotations.NullMarked;
