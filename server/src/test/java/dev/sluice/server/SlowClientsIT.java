package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.commands.Main;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients that send much and read nothing, to a service with little memory. */
class SlowClientsIT {
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @TempDir private Path directory;

  private Program service(int port) throws IOException {
    return Program.start(
        directory,
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx128m",
            "-Duser.home=" + directory,
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "serve",
            "--port=" + port));
  }

  private int live(int port) throws Exception {
    return client
        .send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/health/live"))
                .timeout(Duration.ofSeconds(20))
                .build(),
            HttpResponse.BodyHandlers.discarding())
        .statusCode();
  }

  @Test
  void requestsWhoseAnswersAreNotReadEndTheirConnectionAndNothingElse() throws Exception {
    int port = Program.freePort();
    byte[] request =
        "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    try (Program service = service(port)) {
      service.awaitPort(port);
      List<Socket> sockets = new ArrayList<>();
      int cut = 0;
      for (int i = 0; i < 4; i++) {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        sockets.add(socket);
        cut += sendUntilCut(socket, request, 4_000) ? 1 : 0;
      }

      assertThat(cut).as("connections that were closed").isEqualTo(4);
      assertThat(live(port)).isEqualTo(200);
      assertThat(service.printed()).doesNotContain("OutOfMemoryError");
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  private static boolean sendUntilCut(Socket socket, byte[] request, int times) {
    try {
      OutputStream out = socket.getOutputStream();
      for (int i = 0; i < times; i++) {
        out.write(request);
      }
      out.flush();
      socket.setSoTimeout(10_000);
      while (socket.getInputStream().read() >= 0) {
        // what was answered before it was closed
      }
      return true;
    } catch (IOException e) {
      return true; // reset
    }
  }

  @Test
  void bodiesThatAreHeldBackDoNotFillTheMemory() throws Exception {
    int port = Program.freePort();
    byte[] head =
        "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n\r\n"
            .getBytes(StandardCharsets.US_ASCII);
    byte[] most = " ".repeat(250_000).getBytes(StandardCharsets.US_ASCII);
    try (Program service = service(port)) {
      service.awaitPort(port);
      List<Socket> sockets = new ArrayList<>();
      for (int i = 0; i < 400; i++) {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        sockets.add(socket);
        try {
          socket.getOutputStream().write(head);
          socket.getOutputStream().write(most);
        } catch (IOException refused) {
          // as it should be
        }
      }

      assertThat(live(port)).isEqualTo(200);
      for (Socket socket : sockets) {
        socket.close();
      }
      assertThat(live(port)).isEqualTo(200);
      assertThat(service.printed()).doesNotContain("OutOfMemoryError");
      assertThat(service.process().isAlive()).isTrue();
    }
  }
}
