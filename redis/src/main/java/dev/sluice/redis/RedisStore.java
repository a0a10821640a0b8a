package dev.sluice.redis;

import dev.sluice.store.Store;

/**
 * Opens stores that count on Redis, so that all nodes share their limits.
 *
 * <p>Every store has a deadline for each decision. When Redis does not answer in time, the rule's
 * {@code onStoreFailure} decides. Denials that are known to last are answered without Redis.
 */
public final class RedisStore {
  private RedisStore() {}

  /** A store on a Redis, with every default; the URI is as for {@link #builder}. */
  public static Store connect(String uri) {
    return builder(uri).build();
  }

  /**
   * A store on a Redis, with settings.
   *
   * @param uri how to reach Redis: {@code redis://host:port}, {@code rediss://host:port} for TLS,
   *     {@code redis-sentinel://host:port/0#name}, {@code redis-cluster://host:port,host:port}
   */
  public static RedisStoreBuilder builder(String uri) {
    return new RedisStoreBuilder(uri);
  }
}
