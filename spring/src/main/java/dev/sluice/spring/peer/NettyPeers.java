package dev.sluice.spring.peer;

import org.jspecify.annotations.Nullable;
import reactor.netty.http.server.HttpServerRequest;

/** Peers on Reactor Netty, below its forwarded-header handler. */
final class NettyPeers {
  private NettyPeers() {}

  static @Nullable Peer of(Object request) {
    return request instanceof HttpServerRequest netty
        ? Peer.of(netty.connectionRemoteAddress(), netty.requestHeaders()::getAll)
        : null;
  }
}
