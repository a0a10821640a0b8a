package dev.sluice.spring.peer;

import java.lang.reflect.Method;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ReflectionUtils;

/** Peers on Jetty, below its ForwardedRequestCustomizer. */
final class JettyPeers {
  private JettyPeers() {}

  static @Nullable Peer of(Object request) {
    if (request instanceof Request core) {
      return peer(core);
    }
    boolean servlet = request.getClass().getName().startsWith("org.eclipse.jetty.");
    return servlet ? peer(core(request)) : null;
  }

  private static Peer peer(Request request) {
    Request own = Request.unWrap(request);
    return Peer.of(
        own.getConnectionMetaData().getRemoteSocketAddress(), own.getHeaders()::getValuesList);
  }

  /**
   * The request of Jetty under one for servlets, whose type has another name for each Jakarta EE.
   */
  private static Request core(Object servlet) {
    Method getter = ReflectionUtils.findMethod(servlet.getClass(), "getRequest");
    Object core = getter == null ? null : ReflectionUtils.invokeMethod(getter, servlet);
    if (core instanceof Request request) {
      return request;
    }
    throw new IllegalStateException(
        "Sluice cannot read the peer of a " + servlet.getClass().getName());
  }
}
