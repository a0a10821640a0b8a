package dev.sluice.server;

import dev.sluice.http.ClientAddress;
import dev.sluice.http.HeaderProfile;
import java.time.Duration;

/**
 * What a service can be told.
 *
 * @param port 0 for any free one
 * @param mostInFlight requests in work at once; one more is answered 503
 * @param mostRequestBytes the largest body that is read
 * @param drainDelay how long a stopping service still takes new connections, so that a balancer can
 *     see that it is not ready
 * @param drainTimeout how long a stopping service waits for what is in work
 */
record Settings(
    String host,
    int port,
    ClientAddress client,
    HeaderProfile headers,
    int mostConnections,
    int mostInFlight,
    int mostRequestBytes,
    Duration requestTimeout,
    Duration drainDelay,
    Duration drainTimeout) {

  static Settings defaults() {
    return new Settings(
        "127.0.0.1",
        0,
        ClientAddress.ofPeer(),
        HeaderProfile.BOTH,
        10_000,
        10_000,
        256 * 1024,
        Duration.ofSeconds(10),
        Duration.ZERO,
        Duration.ofSeconds(10));
  }

  Settings withClient(ClientAddress client) {
    return new Settings(
        host,
        port,
        client,
        headers,
        mostConnections,
        mostInFlight,
        mostRequestBytes,
        requestTimeout,
        drainDelay,
        drainTimeout);
  }
}
