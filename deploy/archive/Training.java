import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs the commands of an unpacked Sluice, each with a list of the classes that it loads. The lists
 * become the class-data archive. Arguments: bin/sluice, the folder for the lists.
 */
final class Training {
  private static final String TOKEN = "a-token-for-training";
  private static final int SECONDS = 120;

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final String program;
  private final Path folder;
  private int lists;

  private Training(String program, Path folder) {
    this.program = program;
    this.folder = folder;
  }

  public static void main(String[] arguments) throws Exception {
    Training training = new Training(arguments[0], Path.of(arguments[1]));
    training.serviceInMemory();
    training.serviceWithoutItsRedis();
    training.ruleFiles();
  }

  private void serviceInMemory() throws Exception {
    int port = freePort();
    String url = "http://127.0.0.1:" + port;
    Process service = start("serve", "--port=" + port, "--admin-token=" + TOKEN);
    try {
      awaitLive(service, url);
      for (int i = 0; i < 3; i++) {
        calls(url);
      }
      run("health", "--url=" + url);
      run("check", "Api", "apiKey=k1", "--url=" + url);
      run("locks", "list", "--url=" + url, "--token=" + TOKEN);
      run("accounts", "show", "Api", "apiKey=k1", "--url=" + url, "--token=" + TOKEN);
    } finally {
      stop(service);
    }
  }

  private void calls(String url) throws Exception {
    expect(200, get(url + "/health/ready"));
    expect(200, get(url + "/metrics"));
    expect(200, get(url + "/openapi.yaml"));
    expect(200, get(url + "/v1/gate/Everyone"));
    expect(404, get(url + "/v1/gate/NoSuchRule"));
    expect(200, get(url + "/v1/rules"));
    expect(400, post(url + "/v1/check", "{}"));
    String call = "{\"rule\": \"Api\", \"identity\": {\"apiKey\": \"k1\"}, \"receipt\": true}";
    HttpResponse<String> decision = expect(200, post(url + "/v1/check", call));
    String receipt = decision.body().replaceAll("(?s).*\"receipt\":\"([^\"]+)\".*", "$1");
    expect(200, post(url + "/v1/settle", "{\"receipt\": \"" + receipt + "\", \"cost\": 0}"));
  }

  /** Nobody listens there: the client of Redis is loaded, and the fallback decides. */
  private void serviceWithoutItsRedis() throws Exception {
    int port = freePort();
    String url = "http://127.0.0.1:" + port;
    Process service =
        start("serve", "--port=" + port, "--store=redis://127.0.0.1:" + freePort(), "--log=json");
    try {
      awaitLive(service, url);
      expect(200, get(url + "/v1/gate/Everyone"));
    } finally {
      stop(service);
    }
  }

  private void ruleFiles() throws Exception {
    Path rules = folder.resolve("rules.yaml");
    Process sample =
        builder("rules", "sample").redirectOutput(rules.toFile()).start();
    expectEnd(sample);
    run("rules", "check", rules.toString());
    run("rules", "explain", rules.toString());
    run("--help");
  }

  private ProcessBuilder builder(String... arguments) {
    List<String> command = new ArrayList<>(List.of(program));
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD);
    builder.environment().keySet().removeIf(name -> !name.equals("PATH"));
    String list = folder.resolve("classes-" + lists++ + ".txt").toString();
    builder
        .environment()
        .put("SLUICE_JAVA_OPTS", "-XX:DumpLoadedClassList=" + list + " -Duser.home=" + folder);
    return builder;
  }

  private Process start(String... arguments) throws IOException {
    return builder(arguments).start();
  }

  private void run(String... arguments) throws Exception {
    expectEnd(start(arguments));
  }

  private static void expectEnd(Process process) throws Exception {
    if (!process.waitFor(SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
      process.destroyForcibly();
      throw new IllegalStateException(
          process.info() + ": ended with an error or not at all (expected: exit code 0)");
    }
  }

  private static void stop(Process service) throws Exception {
    service.destroy();
    if (!service.waitFor(SECONDS, TimeUnit.SECONDS)) {
      service.destroyForcibly();
    }
  }

  private void awaitLive(Process service, String url) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (true) {
      try {
        expect(200, get(url + "/health/live"));
        return;
      } catch (IOException e) {
        if (!service.isAlive() || System.nanoTime() > end) {
          throw new IllegalStateException(url + ": no answer (expected: a service)", e);
        }
        Thread.sleep(20); // another process starts
      }
    }
  }

  private HttpResponse<String> get(String url) throws Exception {
    return send(HttpRequest.newBuilder(URI.create(url)));
  }

  private HttpResponse<String> post(String url, String body) throws Exception {
    return send(
        HttpRequest.newBuilder(URI.create(url)).POST(HttpRequest.BodyPublishers.ofString(body)));
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return client.send(
        request.header("Authorization", "Bearer " + TOKEN).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private static HttpResponse<String> expect(int status, HttpResponse<String> answer) {
    if (answer.statusCode() != status) {
      throw new IllegalStateException(
          "%s: %d %s (expected: %d)"
              .formatted(answer.uri(), answer.statusCode(), answer.body(), status));
    }
    return answer;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
