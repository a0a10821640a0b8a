/** Real Redis servers for tests: one, a Cluster, a Sentinel trio. */
@NullMarked
package dev.sluice.redis.testing;

import org.jspecify.annotations.NullMarked;
