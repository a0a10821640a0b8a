package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.server.commands.Main;
import dev.sluice.testing.Needs;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Services in processes of their own, called the moment they listen, with every default. */
class ColdStartIT {
  @TempDir private Path directory;

  private Program service(RedisProcess redis, int port) throws Exception {
    Path rules = directory.resolve("rules.yaml");
    Files.writeString(
        rules,
        """
        rules:
          Everyone: {by: [ip], limit: 1000 per 1d}
          Few: {by: [ip], limit: 5 per 1d}
        """);
    return Program.start(
        directory,
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Duser.home=" + directory,
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "serve",
            "--port=" + port,
            "--rules=" + rules,
            "--store=" + redis.uri()));
  }

  @Test
  @Needs("ab")
  void exactlyAThousandOfTwelveHundredPassRightAfterTheStart() throws Exception {
    int port = Program.freePort();
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Program service = service(redis, port)) {
      service.awaitPort(port);
      String url = "http://127.0.0.1:" + port + "/v1/gate/Everyone";

      String printed = Program.run(directory, List.of("ab", "-q", "-n", "1200", "-c", "50", url));

      assertThat(printed).contains("Complete requests:      1200\n");
      assertThat(printed).contains("Non-2xx responses:      200\n");
    }
  }

  @Test
  void fortyCallsAtOnceToTwoFreshServicesPassFiveTimes() throws Exception {
    int one = Program.freePort();
    int two = Program.freePort();
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Program first = service(redis, one);
        Program second = service(redis, two)) {
      first.awaitPort(one);
      second.awaitPort(two);

      List<CompletableFuture<HttpResponse<Void>>> calls =
          IntStream.range(0, 40)
              .mapToObj(i -> "http://127.0.0.1:" + (i % 2 == 0 ? one : two) + "/v1/gate/Few")
              .map(url -> HttpRequest.newBuilder(URI.create(url)).build())
              .map(call -> client.sendAsync(call, HttpResponse.BodyHandlers.discarding()))
              .toList();

      assertThat(calls.stream().filter(call -> call.join().statusCode() == 200)).hasSize(5);
      assertThat(calls.stream().filter(call -> call.join().statusCode() == 429)).hasSize(35);
    }
  }
}
