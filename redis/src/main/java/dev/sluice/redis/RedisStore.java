package dev.sluice.redis;

import dev.sluice.store.Store;

/**
 * Opens stores on Redis, so that all nodes share their limits.
 *
 * <p>Every decision has a deadline. If Redis does not answer in time, the rule's {@code
 * onStoreFailure} decides. Known denials are answered from a cache.
 */
public final class RedisStore {
  private RedisStore() {}

  /** Connects with default settings; the URI is as for {@link #builder}. */
  public static Store connect(String uri) {
    return builder(uri).build();
  }

  /**
   * A builder for a store with settings.
   *
   * @param uri how to reach Redis: {@code redis://host:port}, {@code rediss://host:port} for TLS,
   *     {@code redis-sentinel://host:port/0#name}, {@code redis-cluster://host:port,host:port}
   */
  public static RedisStoreBuilder builder(String uri) {
    return new RedisStoreBuilder(uri);
  }
}
