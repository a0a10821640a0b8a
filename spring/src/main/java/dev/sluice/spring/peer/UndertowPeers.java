package dev.sluice.spring.peer;

import io.undertow.server.HttpServerExchange;
import io.undertow.servlet.spec.HttpServletRequestImpl;
import org.jspecify.annotations.Nullable;

/** Peers on Undertow, below its ProxyPeerAddressHandler. */
final class UndertowPeers {
  private UndertowPeers() {}

  static @Nullable Peer of(Object request) {
    return request instanceof HttpServerExchange exchange ? peer(exchange) : null;
  }

  static @Nullable Peer ofServlet(Object request) {
    return request instanceof HttpServletRequestImpl servlet ? peer(servlet.getExchange()) : null;
  }

  private static Peer peer(HttpServerExchange exchange) {
    return Peer.of(exchange.getConnection().getPeerAddress(), exchange.getRequestHeaders()::get);
  }
}
