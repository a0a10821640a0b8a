package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where one request ends and the next begins, over a bare socket. */
class FramingTest {
  private static final String SECOND = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";

  private static Sluice sluice;

  @BeforeAll
  static void start() {
    sluice = Sluice.start();
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  /** Sends bytes, one a char, and gives all that comes back until the service closes. */
  private static String exchange(String... parts) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), sluice.service().port())) {
      socket.setSoTimeout(20_000);
      socket.setTcpNoDelay(true);
      for (String part : parts) {
        socket.getOutputStream().write(part.getBytes(StandardCharsets.ISO_8859_1));
      }
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  private static int answers(String received) {
    return received.split("HTTP/1\\.1 ", -1).length - 1;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "transfer-encoding:\tchunked;q=1\r\n",
        "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n",
      })
  void anUnknownTransferEncodingIsRefusedAndEndsTheConnection(String fields) throws IOException {
    String received =
        exchange("POST /v1/gate/NewCrawlerRule HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + SECOND);

    assertThat(received).startsWith("HTTP/1.1 400 ").containsIgnoringCase("connection: close");
    assertThat(answers(received)).isOne();
    assertThat(received).contains("Transfer-Encoding: '", "(expected: chunked or none)");
  }

  @Test
  void anUnknownTransferEncodingIsRefusedInALaterRequestToo() throws IOException {
    String received =
        exchange(
            SECOND + "POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n" + SECOND);

    assertThat(answers(received)).isEqualTo(2);
    assertThat(received).startsWith("HTTP/1.1 200 ").contains("HTTP/1.1 400 ");
  }

  @Test
  void aRequestInPiecesIsUnderstood() throws IOException {
    String received =
        exchange(
            "G", "ET", " /health/live HTTP/1.1\r\nHo", "st: x\r\nConnection: close\r\n\r", "\n");

    assertThat(received).startsWith("HTTP/1.1 200 ").contains("\"live\"");
  }

  @Test
  void aChunkedBodyIsRead() throws IOException {
    String body = "{\"rule\":\"SecureLogin\",\"identity\":{\"login\":\"chunks\"}}";
    String received =
        exchange(
            "POST /v1/check HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\n\r\n"
                + Integer.toHexString(body.length())
                + "\r\n"
                + body
                + "\r\n0\r\n\r\n");

    assertThat(received).startsWith("HTTP/1.1 200 ").contains("\"allowed\":true");
  }

  /** Whether the length or the chunks hold is what proxies disagree about. */
  @Test
  void aLengthBesideChunksIsRefusedOrEndsTheConnection() throws IOException {
    String received =
        exchange(
            "POST /v1/gate/NewCrawlerRule HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                + SECOND);

    assertThat(answers(received)).isOne();
  }
}
