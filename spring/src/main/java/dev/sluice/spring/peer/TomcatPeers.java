package dev.sluice.spring.peer;

import jakarta.servlet.ServletException;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import org.apache.catalina.Valve;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;

/** Notes the peer of each request of Tomcat in an attribute. */
final class TomcatPeers extends ValveBase {
  /*
   * RemoteIpValve replaces the address, and it removes from X-Forwarded-For what it has read. So both
   * are noted before it runs.
   */
  private TomcatPeers() {
    super(true); // does not hinder asynchronous requests
  }

  /** Adds itself before all valves of an engine. */
  static void installIn(Collection<Valve> engine) {
    List<Valve> others = List.copyOf(engine);
    engine.clear();
    engine.add(new TomcatPeers());
    engine.addAll(others);
  }

  @Override
  public void invoke(Request request, Response response) throws IOException, ServletException {
    request.setAttribute(ServletPeers.NOTED, ServletPeers.read(request));
    getNext().invoke(request, response);
  }
}
