/** The store on Redis, which all nodes share: one atomic script call per batch. */
@NullMarked
package dev.sluice.redis;

import org.jspecify.annotations.NullMarked;
