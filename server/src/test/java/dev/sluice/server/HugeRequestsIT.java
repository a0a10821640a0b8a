package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.commands.Main;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Requests as large as they may be, to a service in a small process of its own. */
class HugeRequestsIT {
  private static final int REQUESTS = 50;
  private static final int AT_ONCE = 8;

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @TempDir private Path directory;

  @Test
  void fifteenThousandRulesInACallAreRefusedWithLittleMemory() throws Exception {
    int port = Program.freePort();
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "-Duser.home=" + directory,
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "serve",
            "--port=" + port);
    String names =
        IntStream.range(0, 15_000)
            .mapToObj(i -> "\"Unknown%07d\"".formatted(i))
            .collect(Collectors.joining(","));
    String rules = "{\"identity\":{\"a\":\"b\"},\"rules\":[" + names + "]}";
    String facets =
        IntStream.range(0, 3_000)
            .mapToObj(i -> "\"f%d\":\"%s\"".formatted(i, "x".repeat(60)))
            .collect(Collectors.joining(",", "{\"rule\":\"Everyone\",\"identity\":{", "}}"));

    try (Program service = Program.start(directory, command)) {
      service.awaitPort(port);
      URI check = URI.create("http://127.0.0.1:" + port + "/v1/check");
      List<HttpResponse<String>> answers = new ArrayList<>();
      answers.addAll(sendAll(check, rules));
      answers.addAll(sendAll(check, facets));

      assertThat(answers).hasSize(2 * REQUESTS);
      for (HttpResponse<String> answer : answers) {
        assertThat(answer.statusCode()).isEqualTo(400);
        assertThat(answer.body().length()).isLessThan(64 * 1024);
        assertThat(answer.body()).contains("(expected: ");
      }
      String call = "{\"rule\":\"Everyone\",\"identity\":{\"ip\":\"192.0.2.7\"}}";
      assertThat(send(check, call).body()).contains("\"allowed\":true");
      assertThat(service.process().isAlive()).isTrue();
      assertThat(service.printed()).doesNotContain("OutOfMemoryError", "Exception");
    }
  }

  private List<HttpResponse<String>> sendAll(URI to, String body) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
    try {
      Callable<HttpResponse<String>> request = () -> send(to, body);
      List<HttpResponse<String>> answers = new ArrayList<>();
      for (Future<HttpResponse<String>> answer :
          threads.invokeAll(IntStream.range(0, REQUESTS).mapToObj(i -> request).toList())) {
        answers.add(answer.get());
      }
      return answers;
    } finally {
      threads.shutdownNow();
    }
  }

  private HttpResponse<String> send(URI to, String body) throws Exception {
    return client.send(
        HttpRequest.newBuilder(to).POST(HttpRequest.BodyPublishers.ofString(body)).build(),
        HttpResponse.BodyHandlers.ofString());
  }
}
