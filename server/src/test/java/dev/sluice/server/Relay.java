package dev.sluice.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** Hands bytes on to a port of this machine and counts the connections. */
final class Relay implements AutoCloseable {
  private final ServerSocket server;
  private final int target;
  private final AtomicInteger connections = new AtomicInteger();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  private Relay(ServerSocket server, int target) {
    this.server = server;
    this.target = target;
  }

  static Relay to(int port) throws IOException {
    Relay relay = new Relay(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), port);
    relay.threads.execute(relay::accept);
    return relay;
  }

  int port() {
    return server.getLocalPort();
  }

  int connections() {
    return connections.get();
  }

  private void accept() {
    try {
      while (true) {
        Socket from = server.accept();
        connections.incrementAndGet();
        Socket to = new Socket(InetAddress.getLoopbackAddress(), target);
        threads.execute(() -> copy(from, to));
        threads.execute(() -> copy(to, from));
      }
    } catch (IOException e) {
      threads.shutdown(); // closed: the test is over
    }
  }

  /** Until one side ends; then both do. */
  private static void copy(Socket from, Socket to) {
    try (from;
        to) {
      from.getInputStream().transferTo(to.getOutputStream());
    } catch (IOException e) {
      // the other direction has ended, and closed both
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    threads.shutdown();
  }
}
