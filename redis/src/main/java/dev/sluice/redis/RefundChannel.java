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
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The channel on which nodes tell one another of accounts that may have got something. */
final class RefundChannel implements AutoCloseable {
  /*
   * Whether announcements are heard must be known, not hoped: a connection that hangs looks like one
   * on which nothing is said. So it is asked for a sign of life twice a second, and one that gives
   * none is closed and opened anew. Until then nothing counts as heard.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RefundChannel.class);
  private static final Duration COMPLAINT_PAUSE = Duration.ofMinutes(1);
  private static final Duration BEAT = Duration.ofMillis(500);

  private final Topology topology;
  private final Object turn = new Object();
  private volatile @Nullable StatefulRedisPubSubConnection<String, String> connection;
  private volatile boolean hearing;
  private volatile boolean closed;
  private volatile String lastTrouble = "";
  private volatile long complainedNanos = System.nanoTime() - COMPLAINT_PAUSE.toNanos();

  RefundChannel(Topology topology) {
    this.topology = topology;
  }

  /** Whether announcements are heard now. */
  boolean hearing() {
    return hearing;
  }

  /** Listens, now or as soon as Redis can be reached; what was missed is told by {@code missed}. */
  void listen(Consumer<Account> given, Runnable missed) {
    StatefulRedisPubSubConnection<String, String> found = null;
    try {
      found = topology.listen();
      keep(found);
      found.addListener(hearer(given, missed));
      found.addListener(
          new RedisConnectionStateAdapter() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> handler) {
              hearing = false;
            }
          });
      found.sync().subscribe(Keyspace.REFUNDS);
      lastTrouble = "";
      beat(found, given, missed);
    } catch (RuntimeException e) {
      String trouble = String.valueOf(Stages.cause(e).getMessage());
      if (!closed && !trouble.equals(lastTrouble)) {
        lastTrouble = trouble;
        LOG.warn("No denials are cached, {} cannot be heard: {}", Keyspace.REFUNDS, trouble);
      }
      listenAnew(found, given, missed);
    }
  }

  /** Says once a minute that somebody else writes to our channel. */
  private void complain(String channel, RuntimeException e) {
    long now = System.nanoTime();
    if (now - complainedNanos > COMPLAINT_PAUSE.toNanos()) {
      complainedNanos = now;
      LOG.warn(
          "Messages on {} that Sluice did not write are ignored, such as: {}",
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

  private RedisPubSubAdapter<String, String> hearer(Consumer<Account> given, Runnable missed) {
    return new RedisPubSubAdapter<>() {
      @Override
      public void message(String channel, String text) {
        try {
          given.accept(DenialCache.account(text));
        } catch (RuntimeException e) {
          complain(channel, e);
        }
      }

      @Override
      public void subscribed(String channel, long count) {
        missed.run();
        hearing = !closed;
      }
    };
  }

  private void beat(
      StatefulRedisPubSubConnection<String, String> found,
      Consumer<Account> given,
      Runnable missed) {
    topology.later(
        BEAT,
        () ->
            ping(found)
                .whenComplete(
                    (pong, error) -> {
                      if (error == null) {
                        beat(found, given, missed);
                      } else {
                        listenAnew(found, given, missed);
                      }
                    }));
  }

  private static CompletionStage<String> ping(StatefulRedisPubSubConnection<String, String> found) {
    try {
      return found
          .async()
          .ping()
          .toCompletableFuture()
          .orTimeout(BEAT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private void listenAnew(
      @Nullable StatefulRedisPubSubConnection<String, String> old,
      Consumer<Account> given,
      Runnable missed) {
    hearing = false;
    if (old != null) {
      drop(old);
    }
    topology.later(BEAT, () -> listen(given, missed));
  }

  private static void drop(StatefulRedisPubSubConnection<String, String> old) {
    CompletionStage<Void> closing = old.closeAsync();
    closing.exceptionally(
        error -> {
          LOG.debug("A connection did not close in order: {}", error.getMessage());
          return null;
        });
  }

  @Override
  public void close() {
    synchronized (turn) {
      closed = true;
      hearing = false;
      StatefulRedisPubSubConnection<String, String> found = connection;
      if (found != null) {
        drop(found);
      }
    }
  }
}
