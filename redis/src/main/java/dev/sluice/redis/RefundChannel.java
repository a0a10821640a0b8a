package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.internal.Stages;
import dev.sluice.internal.Text;
import dev.sluice.outage.DenialCache;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The channel on which nodes announce refunds to each other: accounts that may have quota again.
 */
final class RefundChannel implements AutoCloseable {
  /*
   * A node must know whether it receives announcements, but a connection that hangs looks like one
   * without messages. So while denials are cached, the connection is pinged twice a second. If it
   * does not answer, it is closed and opened again, and until then the node counts as not
   * subscribed. The first ping comes at most half a second after the first denial, so a connection
   * that died while nothing was cached is noticed as soon as one that dies later. Whatever is
   * missed until then, no denial is cached for longer than DenialCache.LONGEST.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RefundChannel.class);
  private static final Duration COMPLAINT_PAUSE = Duration.ofMinutes(1);
  private static final Duration BEAT = Duration.ofMillis(500);

  /** Who receives announcements: a cache of denials. */
  interface Listener {
    /** Receives every account that was announced. */
    void refunded(Account account);

    /** Runs after every subscription, because announcements may have been missed before. */
    void missed();

    /** Whether a lost announcement could matter now. */
    boolean holdsDenials();
  }

  private final Topology topology;
  private final Object turn = new Object();
  private volatile @Nullable StatefulRedisPubSubConnection<String, String> connection;
  private volatile boolean subscribed;
  private volatile boolean closed;
  private volatile String lastTrouble = "";
  private volatile long complainedNanos = System.nanoTime() - COMPLAINT_PAUSE.toNanos();

  RefundChannel(Topology topology) {
    this.topology = topology;
  }

  /** Whether this node receives announcements now. */
  boolean isSubscribed() {
    return subscribed;
  }

  /** Subscribes, now or as soon as Redis can be reached. */
  void listen(Listener listener) {
    StatefulRedisPubSubConnection<String, String> found = null;
    try {
      found = topology.listen();
      keep(found);
      found.addListener(subscriber(listener));
      found.addListener(
          new RedisConnectionStateAdapter() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> handler) {
              subscribed = false;
            }
          });
      found.sync().subscribe(Keyspace.REFUNDS);
      lastTrouble = "";
      beat(found, listener);
    } catch (RuntimeException e) {
      String trouble = String.valueOf(Stages.cause(e).getMessage());
      if (!closed && !trouble.equals(lastTrouble)) {
        lastTrouble = trouble;
        LOG.warn(
            "Cannot subscribe to {}; the denial cache is off until it reconnects: {}",
            Keyspace.REFUNDS,
            trouble);
      }
      resubscribe(found, listener);
    }
  }

  /** Warns, at most once a minute, about messages that Sluice did not send. */
  private void complain(String channel, RuntimeException e) {
    long now = System.nanoTime();
    if (now - complainedNanos > COMPLAINT_PAUSE.toNanos()) {
      complainedNanos = now;
      LOG.warn(
          "Ignoring messages on {} that Sluice did not send, such as: {}",
          channel,
          Text.quoted(String.valueOf(e.getMessage())));
    }
  }

  private void keep(StatefulRedisPubSubConnection<String, String> found) {
    synchronized (turn) {
      if (closed) {
        drop(found);
        throw new IllegalStateException("the store is closed");
      }
      connection = found;
    }
  }

  private RedisPubSubAdapter<String, String> subscriber(Listener listener) {
    return new RedisPubSubAdapter<>() {
      @Override
      public void message(String channel, String text) {
        try {
          listener.refunded(DenialCache.account(text));
        } catch (RuntimeException e) {
          complain(channel, e);
        }
      }

      @Override
      public void subscribed(String channel, long count) {
        listener.missed();
        subscribed = !closed;
      }
    };
  }

  private void beat(StatefulRedisPubSubConnection<String, String> found, Listener listener) {
    topology.soon(
        BEAT,
        () -> {
          if (subscribed && !listener.holdsDenials()) {
            beat(found, listener);
            return;
          }
          CompletionStage<?> unused =
              ping(found)
                  .whenComplete(
                      (pong, error) -> {
                        if (error == null) {
                          beat(found, listener);
                        } else {
                          resubscribe(found, listener);
                        }
                      });
        });
  }

  private CompletionStage<String> ping(StatefulRedisPubSubConnection<String, String> found) {
    try {
      return topology.within(BEAT, found.async().ping());
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private void resubscribe(
      @Nullable StatefulRedisPubSubConnection<String, String> old, Listener listener) {
    subscribed = false;
    if (old != null) {
      drop(old);
    }
    topology.later(BEAT, () -> listen(listener));
  }

  private static void drop(StatefulRedisPubSubConnection<String, String> old) {
    if (!old.isOpen()) {
      return; // closing it twice would be logged as a mistake
    }
    CompletionStage<Void> closing = old.closeAsync();
    closing.exceptionally(
        error -> {
          LOG.debug("Could not close a connection cleanly: {}", error.getMessage());
          return null;
        });
  }

  @Override
  public void close() {
    synchronized (turn) {
      closed = true;
      subscribed = false;
      StatefulRedisPubSubConnection<String, String> found = connection;
      if (found != null) {
        drop(found);
      }
    }
  }
}
