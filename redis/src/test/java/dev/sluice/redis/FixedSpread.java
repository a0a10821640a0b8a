package dev.sluice.redis;

import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.wire.Keyspace;

/** Where accounts lie in a Cluster of tests. */
final class FixedSpread {
  static final Keyspace KEYSPACE = Keyspace.keyed(Long.parseUnsignedLong(RedisCluster.SPREAD, 16));

  private FixedSpread() {}
}
