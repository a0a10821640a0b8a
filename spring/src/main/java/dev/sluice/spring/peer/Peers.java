package dev.sluice.spring.peer;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/** Finds the peer of a request, below everything that explains forwarded headers. */
public final class Peers {
  /*
   * Spring's ForwardedHeaderFilter, Tomcat's RemoteIpValve and the like replace the address of a
   * request by an entry of its headers. Most take the leftmost one, which any client can choose. So
   * the server itself is asked, and ClientAddress alone explains the headers.
   *
   * Each class below is loaded only where its server is.
   */
  private interface Server {
    @Nullable Peer of(Object request);
  }

  private static final List<Server> SERVERS = present();
  private static final boolean SERVLETS = isPresent("jakarta.servlet.http.HttpServletRequest");

  private Peers() {}

  private static List<Server> present() {
    List<Server> servers = new ArrayList<>();
    if (isPresent("org.eclipse.jetty.server.Request")) {
      servers.add(JettyPeers::of);
    }
    if (isPresent("io.undertow.server.HttpServerExchange")) {
      servers.add(UndertowPeers::of);
    }
    if (isPresent("io.undertow.servlet.spec.HttpServletRequestImpl")) {
      servers.add(UndertowPeers::ofServlet);
    }
    if (isPresent("reactor.netty.http.server.HttpServerRequest")) {
      servers.add(NettyPeers::of);
    }
    return servers;
  }

  private static boolean isPresent(String type) {
    return ClassUtils.isPresent(type, Peers.class.getClassLoader());
  }

  /**
   * The peer of a request.
   *
   * @param request a servlet request, or the native request below one of WebFlux
   * @return null if the request is of no server that Sluice knows, as in some tests
   */
  public static @Nullable Peer of(Object request) {
    Object own = SERVLETS ? ServletPeers.innermost(request) : request;
    for (Server server : SERVERS) {
      Peer peer = server.of(own);
      if (peer != null) {
        return peer;
      }
    }
    return SERVLETS ? ServletPeers.of(own) : null;
  }
}
