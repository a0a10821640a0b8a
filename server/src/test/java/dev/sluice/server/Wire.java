package dev.sluice.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A client that sends whatever it is told, over a bare socket; a char is a byte. */
record Wire(int port) {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** What came back. */
  record Answer(String head, String body) {
    int status() {
      return Integer.parseInt(head.substring("HTTP/1.1 ".length(), "HTTP/1.1 200".length()));
    }

    String header(String name) {
      List<String> found =
          head.lines()
              .filter(line -> line.regionMatches(true, 0, name + ": ", 0, name.length() + 2))
              .map(line -> line.substring(name.length() + 2))
              .toList();
      return found.isEmpty() ? "(none)" : String.join(" AND ", found);
    }

    JsonNode json() {
      try {
        return MAPPER.readTree(body);
      } catch (IOException e) {
        throw new AssertionError(body, e);
      }
    }
  }

  Answer get(String target, String... fields) {
    return send("GET", target, "", fields);
  }

  Answer send(String method, String target, String body, String... fields) {
    String head =
        "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
            .formatted(method, target, port);
    for (String field : fields) {
      head += field + "\r\n";
    }
    if (!body.isEmpty()) {
      head += "Content-Length: " + body.length() + "\r\n";
    }
    return exchange(head + "\r\n" + body);
  }

  private Answer exchange(String request) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      while (all.startsWith("HTTP/1.1 100 ")) {
        all = all.substring(all.indexOf("\r\n\r\n") + 4);
      }
      int end = all.indexOf("\r\n\r\n");
      if (end < 0) {
        throw new AssertionError("no whole answer: " + all);
      }
      return new Answer(all.substring(0, end), all.substring(end + 4));
    } catch (IOException e) {
      throw new AssertionError(request, e);
    }
  }
}
