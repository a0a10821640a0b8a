package dev.sluice.spring.peer;

import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Set;
import org.apache.catalina.Valve;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.web.server.WebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.core.Ordered;
import org.springframework.util.ReflectionUtils;

/** Prepares an embedded server so that the peers of its requests can be found. */
public final class PeerSetup implements WebServerFactoryCustomizer<WebServerFactory>, Ordered {
  /*
   * The factories of Spring Boot 4 are in other packages than those of 3.5, so they are known by the
   * names of their types and methods. Only Tomcat needs anything done.
   */
  private static final Set<String> FACTORIES =
      Set.of(
          "JettyServletWebServerFactory",
          "JettyReactiveWebServerFactory",
          "UndertowServletWebServerFactory",
          "UndertowReactiveWebServerFactory",
          "NettyReactiveWebServerFactory");

  private volatile @Nullable String unknown;

  /** After all others, so that nothing comes before the valve. */
  @Override
  public int getOrder() {
    return LOWEST_PRECEDENCE;
  }

  @Override
  @SuppressWarnings("unchecked") // the valves of an engine
  public void customize(WebServerFactory factory) {
    Method valves = ReflectionUtils.findMethod(factory.getClass(), "getEngineValves");
    if (valves != null
        && ReflectionUtils.invokeMethod(valves, factory) instanceof Collection<?> c) {
      TomcatPeers.installIn((Collection<Valve>) c);
    } else if (!isKnown(factory.getClass())) {
      unknown = factory.getClass().getName();
    }
  }

  private static boolean isKnown(Class<?> factory) {
    for (Class<?> type = factory; type != null; type = type.getSuperclass()) {
      if (FACTORIES.contains(type.getSimpleName())) {
        return true;
      }
    }
    return false;
  }

  /** The factory of a server whose requests do not tell their peer; null if there is none. */
  public @Nullable String unknown() {
    return unknown;
  }
}
