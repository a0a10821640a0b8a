/** The shared store on Redis: one truth for all nodes, one atomic script call a batch. */
@NullMarked
package dev.sluice.redis;

import org.jspecify.annotations.NullMarked;
