package dev.sluice.redis;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.time.Duration;

/** Tells whether the other end of a connection still answers. */
final class Pulse extends ChannelDuplexHandler {
  /*
   * A server that hangs, or a network that swallows packets, closes no connection: the kernel would
   * go on trying for a quarter of an hour. So each connection remembers since when something was
   * written and nothing has been read, and one that is silent for too long can be closed; the client
   * then connects again, and asks anew where to.
   */
  private volatile long unansweredSinceNanos;

  static void watch(Channel channel) {
    channel.pipeline().addFirst(new Pulse());
  }

  /** Whether something was written that long ago, and nothing has been read since. */
  static boolean isSilent(Channel channel, Duration length) {
    Pulse pulse = channel.pipeline().get(Pulse.class);
    long since = pulse == null ? 0 : pulse.unansweredSinceNanos;
    return since != 0 && System.nanoTime() - since > length.toNanos();
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
    super.channelRead(context, message);
  }
}
