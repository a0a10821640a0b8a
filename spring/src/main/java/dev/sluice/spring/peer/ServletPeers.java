package dev.sluice.spring.peer;

import jakarta.servlet.ServletRequestWrapper;
import jakarta.servlet.http.HttpServletRequest;
import java.util.Collections;
import org.jspecify.annotations.Nullable;

/** Peers in servlet containers; on Tomcat, {@link TomcatPeers} has noted them. */
final class ServletPeers {
  static final String NOTED = Peer.class.getName();

  private ServletPeers() {}

  /** The container's own request, in which no filter can have replaced the address. */
  static Object innermost(Object request) {
    Object inner = request;
    while (inner instanceof ServletRequestWrapper wrapper) {
      inner = wrapper.getRequest();
    }
    return inner;
  }

  static @Nullable Peer of(Object request) {
    if (!(request instanceof HttpServletRequest servlet)) {
      return null;
    }
    return servlet.getAttribute(NOTED) instanceof Peer noted ? noted : read(servlet);
  }

  static Peer read(HttpServletRequest servlet) {
    String address = servlet.getRemoteAddr(); // null on a Unix domain socket
    return Peer.of(
        address == null ? "" : address, name -> Collections.list(servlet.getHeaders(name)));
  }
}
