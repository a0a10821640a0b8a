package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** SIGTERM under load, to a service in a process of its own. */
class DrainIT {
  private static final int CLIENTS = 8;
  private static final String REQUEST = "GET %s HTTP/1.1\r\nHost: x\r\n\r\n";

  @TempDir private Path directory;
  private int port;
  private final AtomicInteger answered = new AtomicInteger();
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();

  @Test
  void nothingFailsIfABalancerSeesThatItIsNotReady() throws Exception {
    String printed = stopUnderLoad("1s", true);

    assertThat(failures).isEmpty();
    assertThat(printed).doesNotContain("ERROR", "Exception");
  }

  @Test
  void noRequestThatWasAcceptedFailsEvenWithoutABalancer() throws Exception {
    stopUnderLoad("0s", false);

    // A connection that only the kernel had taken may be reset: the service never saw it.
    assertThat(failures).allMatch(failure -> failure.startsWith("fresh "));
    assertThat(failures).hasSizeLessThanOrEqualTo(CLIENTS);
  }

  private String stopUnderLoad(String drainDelay, boolean asksWhetherReady) throws Exception {
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
    try (Program service = Program.start(directory, command)) {
      service.awaitPort(port);
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
      service.process().destroy(); // SIGTERM
      for (Thread client : clients) {
        client.join(60_000);
      }

      assertThat(service.await(60)).isZero();
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
        if (asksWhetherReady && exchange(socket, in, "/health/ready").startsWith("HTTP/1.1 503")) {
          return;
        }
        String head;
        do {
          head = exchange(socket, in, "/v1/gate/NewCrawlerRule");
          asked++;
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

  private static String exchange(Socket socket, InputStream in, String path) throws IOException {
    socket.getOutputStream().write(REQUEST.formatted(path).getBytes(StandardCharsets.US_ASCII));
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int read = in.read();
      if (read < 0) {
        throw new EOFException("after " + head.length() + " bytes");
      }
      head.append((char) read);
    }
    String lower = head.toString().toLowerCase(Locale.ROOT);
    int from = lower.indexOf("content-length: ") + 16;
    in.skipNBytes(Integer.parseInt(lower.substring(from, lower.indexOf('\r', from))));
    return head.toString();
  }
}
