package dev.sluice.spring.peer;

import dev.sluice.http.ClientAddress.Trail;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The other end of a request's connection.
 *
 * @param address its address as text; empty if it has none, as on a Unix domain socket
 * @param trails the lines of the forwarded headers that it sent
 */
public record Peer(String address, Map<Trail, List<String>> trails) {
  static Peer of(String address, Function<String, @Nullable List<String>> headers) {
    Map<Trail, List<String>> trails = new EnumMap<>(Trail.class);
    for (Trail trail : Trail.values()) {
      List<String> lines = headers.apply(trail.header());
      trails.put(trail, lines == null ? List.of() : List.copyOf(lines));
    }
    return new Peer(address, Collections.unmodifiableMap(trails));
  }

  /** The peer at an address; without its port. */
  public static Peer of(
      @Nullable SocketAddress address, Function<String, @Nullable List<String>> headers) {
    if (!(address instanceof InetSocketAddress inet)) {
      return of("", headers);
    }
    boolean resolved = inet.getAddress() != null;
    return of(resolved ? inet.getAddress().getHostAddress() : inet.getHostString(), headers);
  }

  /** The lines of a forwarded header, as they came in. */
  public List<String> lines(Trail trail) {
    return trails.getOrDefault(trail, List.of());
  }
}
