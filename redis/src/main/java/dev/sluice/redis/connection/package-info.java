/** Connections to Redis: one server, Sentinels or a Cluster, with deadlines and liveness checks. */
@NullMarked
package dev.sluice.redis.connection;

import org.jspecify.annotations.NullMarked;
