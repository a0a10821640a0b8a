package dev.sluice.server.http;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;

/**
 * Says {@code Connection: keep-alive} in every answer over HTTP/1 that does not say {@code close}.
 *
 * <p>A client of HTTP/1.1 takes it for granted. One of HTTP/1.0 that asked for a kept connection
 * keeps it only if the answer says so; else it waits for the end of a connection that Armeria
 * keeps.
 */
@ChannelHandler.Sharable
final class KeptConnections extends ChannelOutboundHandlerAdapter {
  @Override
  public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
    if (message instanceof HttpResponse response
        && response.status().code() >= 200
        && !response.headers().contains(HttpHeaderNames.CONNECTION)) {
      response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
    }
    var unused = ctx.write(message, promise);
  }
}
