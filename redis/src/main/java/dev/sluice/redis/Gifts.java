package dev.sluice.redis;

import dev.sluice.Account;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The channel on which nodes tell one another of accounts that may have got something. */
final class Gifts implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Gifts.class);

  private final Topology topology;
  private volatile @Nullable StatefulRedisPubSubConnection<String, String> connection;
  private volatile boolean hearing;
  private volatile boolean closed;

  Gifts(Topology topology) {
    this.topology = topology;
  }

  /** Whether announcements are heard now. */
  boolean hearing() {
    return hearing;
  }

  /** Listens, now or as soon as Redis can be reached; what was missed is told by {@code missed}. */
  void listen(Consumer<Account> given, Runnable missed) {
    if (closed) {
      return;
    }
    try {
      StatefulRedisPubSubConnection<String, String> found = topology.listen();
      connection = found;
      found.addListener(
          new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String text) {
              try {
                given.accept(DenialCache.account(text));
              } catch (RuntimeException e) {
                LOG.warn("An announcement on {} cannot be read: {}", channel, e.getMessage());
              }
            }

            @Override
            public void subscribed(String channel, long count) {
              missed.run();
              hearing = true;
            }
          });
      found.addListener(
          new RedisConnectionStateAdapter() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> handler) {
              hearing = false;
            }
          });
      found.sync().subscribe(Keyspace.GIFTS);
    } catch (RuntimeException e) {
      CompletableFuture.delayedExecutor(500, TimeUnit.MILLISECONDS)
          .execute(() -> listen(given, missed));
    }
  }

  void announce(Account account) {
    try {
      CompletionStage<Long> published =
          topology.commands().publish(Keyspace.GIFTS, DenialCache.text(account));
      published.exceptionally(
          error -> {
            LOG.warn("A gift to {} could not be announced: {}", account, error.getMessage());
            return 0L;
          });
    } catch (RuntimeException e) {
      LOG.warn("A gift to {} could not be announced: {}", account, e.getMessage());
    }
  }

  @Override
  public void close() {
    closed = true;
    hearing = false;
    StatefulRedisPubSubConnection<String, String> found = connection;
    if (found != null) {
      found.close();
    }
  }
}
