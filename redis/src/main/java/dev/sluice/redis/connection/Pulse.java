package dev.sluice.redis.connection;

import io.lettuce.core.pubsub.PubSubCommandHandler;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/** Tracks whether the other end of a connection still answers. */
public final class Pulse extends ChannelDuplexHandler {
  /*
   * A server that hangs or a network that drops packets closes no connection: the kernel retries
   * for a quarter of an hour. So each connection remembers since when something was written and
   * nothing has been read. A connection that is unanswered for too long can be closed; the client
   * then reconnects and looks up the master.
   *
   * A subscription is not metered: that it receives messages says nothing about whether the
   * connection for calls still works.
   */
  private final Function<Channel, List<Meter>> metersOf;
  private List<Meter> meters = List.of();
  private volatile long unansweredSinceNanos;

  private Pulse(Function<Channel, List<Meter>> metersOf) {
    this.metersOf = metersOf;
  }

  /** The connections to one Redis node, and how often something was read from any of them. */
  static final class Meter {
    private final AtomicLong reads = new AtomicLong();
    private final Set<Channel> channels = ConcurrentHashMap.newKeySet();

    /** A counter that changes with everything that is read. */
    long reads() {
      return reads.get();
    }

    /** The connections that are open now. */
    List<Channel> channels() {
      return List.copyOf(channels);
    }

    private void read() {
      reads.lazySet(reads.get() + 1); // it only has to change
    }
  }

  /** Watches a connection and updates the meters of its node. */
  static void watch(Channel channel, Function<Channel, List<Meter>> metersOf) {
    channel.pipeline().addFirst(new Pulse(metersOf));
  }

  /** Whether something was written longer ago than that, and nothing was read since. */
  static boolean isUnanswered(Channel channel, Duration length) {
    Pulse pulse = channel.pipeline().get(Pulse.class);
    long since = pulse == null ? 0 : pulse.unansweredSinceNanos;
    return since != 0 && System.nanoTime() - since > length.toNanos();
  }

  @Override
  public void channelActive(ChannelHandlerContext context) throws Exception {
    boolean subscribes = context.pipeline().get(PubSubCommandHandler.class) != null;
    meters = subscribes ? List.of() : metersOf.apply(context.channel());
    for (Meter meter : meters) {
      meter.channels.add(context.channel());
    }
    super.channelActive(context);
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) throws Exception {
    for (Meter meter : meters) {
      meter.channels.remove(context.channel());
    }
    super.channelInactive(context);
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise)
      throws Exception {
    if (unansweredSinceNanos == 0) {
      unansweredSinceNanos = System.nanoTime() | 1; // 0 means that nothing is unanswered
    }
    super.write(context, message, promise);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
    unansweredSinceNanos = 0;
    for (Meter meter : meters) {
      meter.read();
    }
    super.channelRead(context, message);
  }
}
