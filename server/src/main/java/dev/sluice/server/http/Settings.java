package dev.sluice.server.http;

import dev.sluice.http.ClientAddress;
import dev.sluice.http.HeaderProfile;
import dev.sluice.server.api.Receipts;
import java.time.Duration;
import java.time.InstantSource;

/**
 * The settings of a service.
 *
 * @param port 0 for any free one
 * @param clock the time for wrong admin tokens; everything else follows the store's clock
 * @param mostInFlight requests in work at once; one more is answered 503
 * @param mostRequestBytes the largest body that is read
 * @param drainDelay how long a stopping service still takes new connections, so that a balancer can
 *     see that it is not ready
 * @param drainTimeout how long a stopping service waits for what is in work
 */
public record Settings(
    String host,
    int port,
    ClientAddress client,
    InstantSource clock,
    HeaderProfile headers,
    int mostConnections,
    int mostInFlight,
    int mostRequestBytes,
    Duration requestTimeout,
    Duration drainDelay,
    Duration drainTimeout) {

  /** Whatever is within its bounds fits into this, a receipt to be settled too. */
  public static final int SMALLEST_REQUEST_BOUND = Receipts.LONGEST_TEXT + 4 * 1024;

  public static Settings defaults() {
    return new Settings(
        "127.0.0.1",
        0,
        ClientAddress.ofPeer(),
        InstantSource.system(),
        HeaderProfile.BOTH,
        10_000,
        10_000,
        256 * 1024,
        Duration.ofSeconds(10),
        Duration.ZERO,
        Duration.ofSeconds(10));
  }

  public Settings withClient(ClientAddress client) {
    return with(client, clock);
  }

  public Settings withClock(InstantSource clock) {
    return with(client, clock);
  }

  private Settings with(ClientAddress client, InstantSource clock) {
    return new Settings(
        host,
        port,
        client,
        clock,
        headers,
        mostConnections,
        mostInFlight,
        mostRequestBytes,
        requestTimeout,
        drainDelay,
        drainTimeout);
  }
}
