package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.commands.Main;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** SIGTERM under load, to a service in a process of its own. */
class DrainIT {
  private static final int CLIENTS = 8;
  private static final String REQUEST = "GET %s HTTP/1.1\r\nHost: x\r\n\r\n";

  @TempDir private Path directory;
  private int port;
  private final AtomicInteger answered = new AtomicInteger();
  private final AtomicLong lastTaken = new AtomicLong(); // a connection, at System.nanoTime
  private long sentNanos; // when SIGTERM was sent
  private long endedNanos;
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();

  @Test
  void nothingFailsIfABalancerSeesThatItIsNotReady() throws Exception {
    String printed = stopUnderLoad("1s", true);

    assertThat(failures).isEmpty();
    assertThat(printed).doesNotContain("ERROR", "Exception");
  }

  @Test
  void noRequestThatWasAcceptedFailsEvenWithoutABalancer() throws Exception {
    String printed = stopUnderLoad("0s", false);

    assertThat(Duration.ofNanos(lastTaken.get() - sentNanos)).isLessThan(Duration.ofSeconds(1));
    assertThat(Duration.ofNanos(endedNanos - sentNanos)).isLessThan(Duration.ofSeconds(5));
    assertThat(printed).contains("Stopping: ", "New connections are refused; ", "Stopped after ");

    // A connection that only the kernel had taken may be reset: the service never saw it.
    assertThat(failures).allMatch(failure -> failure.startsWith("fresh "));
    assertThat(failures).hasSizeLessThanOrEqualTo(CLIENTS);
  }

  @Test
  void aRequestThatIsHalfSentIsAnsweredAlthoughNewConnectionsAreRefused() throws Exception {
    try (Program service = serve("0s");
        Socket slow = new Socket(InetAddress.getLoopbackAddress(), port)) {
      slow.setSoTimeout(20_000);
      String body = "{\"rule\":\"Everyone\",\"identity\":{\"ip\":\"192.0.2.7\"}}";
      String head = "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s";
      send(slow, head.formatted(body.length(), body.substring(0, 9)));
      awaitInWork();
      service.process().destroy(); // SIGTERM
      awaitRefusal();
      send(slow, body.substring(9));

      String answer = head(new BufferedInputStream(slow.getInputStream()));

      assertThat(answer).startsWith("HTTP/1.1 200");
      assertThat(service.await(60)).isZero();
    }
  }

  /** The other process cannot tell us that it has read the half request: its next answer can. */
  private void awaitInWork() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      exchange(socket, new BufferedInputStream(socket.getInputStream()), "/health/ready");
    }
  }

  private void awaitRefusal() throws Exception {
    while (true) {
      try {
        new Socket(InetAddress.getLoopbackAddress(), port).close();
        Thread.sleep(10); // no clock of ours drives another process
      } catch (ConnectException refused) {
        return;
      }
    }
  }

  private Program serve(String drainDelay) throws Exception {
    port = Program.freePort();
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Duser.home=" + directory,
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "serve",
            "--port=" + port,
            "--drain-delay=" + drainDelay);
    Program service = Program.start(directory, command);
    service.awaitPort(port);
    return service;
  }

  private String stopUnderLoad(String drainDelay, boolean asksWhetherReady) throws Exception {
    try (Program service = serve(drainDelay)) {
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        Thread client = new Thread(() -> ask(asksWhetherReady));
        client.start();
        clients.add(client);
      }
      while (answered.get() < 2_000 && service.process().isAlive()) {
        Thread.sleep(10); // until there is load; no clock of ours drives another process
      }
      assertThat(directory.resolve(".sluice/admin-token-" + port)).exists();
      sentNanos = System.nanoTime();
      service.process().destroy(); // SIGTERM
      for (Thread client : clients) {
        client.join(60_000);
      }

      assertThat(service.await(60)).isZero();
      endedNanos = System.nanoTime();
      assertThat(directory.resolve(".sluice/admin-token-" + port)).doesNotExist();
      return service.printed();
    }
  }

  /** Asks again and again over kept connections, until the service takes no more. */
  private void ask(boolean asksWhetherReady) {
    while (true) {
      int asked = 0;
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.setSoTimeout(20_000);
        InputStream in = new BufferedInputStream(socket.getInputStream());
        long began = System.nanoTime();
        if (asksWhetherReady && exchange(socket, in, "/health/ready").startsWith("HTTP/1.1 503")) {
          return;
        }
        String head;
        do {
          head = exchange(socket, in, "/v1/gate/NewCrawlerRule");
          asked++;
          if (asked == 1) {
            lastTaken.accumulateAndGet(began, Math::max);
          }
          answered.incrementAndGet();
          if (!head.startsWith("HTTP/1.1 200")) {
            failures.add("answered " + head);
          }
        } while (!head.toLowerCase(Locale.ROOT).contains("connection: close"));
      } catch (ConnectException e) {
        return;
      } catch (IOException e) {
        failures.add((asked == 0 ? "fresh " : "kept ") + e);
        return;
      }
    }
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  private static String exchange(Socket socket, InputStream in, String path) throws IOException {
    send(socket, REQUEST.formatted(path));
    String head = head(in);
    String lower = head.toLowerCase(Locale.ROOT);
    int from = lower.indexOf("content-length: ") + 16;
    in.skipNBytes(Integer.parseInt(lower.substring(from, lower.indexOf('\r', from))));
    return head;
  }

  private static String head(InputStream in) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int read = in.read();
      if (read < 0) {
        throw new EOFException("after " + head.length() + " bytes");
      }
      head.append((char) read);
    }
    return head.toString();
  }
}
