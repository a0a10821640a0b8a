package dev.sluice.bench;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import redis.embedded.core.ExecutableProvider;

/** A redis-server of the bench's own, on a free loopback port, that keeps nothing on disk. */
final class RedisServer implements AutoCloseable {
  private final Process process;
  private final int port;
  private final RedisClient client;
  private final StatefulRedisConnection<String, String> connection;

  private RedisServer(Process process, int port) {
    this.process = process;
    this.port = port;
    this.client = RedisClient.create(uri());
    this.connection = connectWithin(Duration.ofSeconds(10));
  }

  static RedisServer start() throws IOException {
    int port = freePort();
    Path folder = Files.createTempDirectory("sluice-bench");
    folder.toFile().deleteOnExit();
    List<String> command =
        List.of(
            executable(),
            "--port",
            Integer.toString(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            folder.toString());
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
    return new RedisServer(process, port);
  }

  /** The server on the PATH, else the one in the Maven artifact. */
  private static String executable() throws IOException {
    Optional<Path> found = onPath("redis-server");
    return found.isPresent()
        ? found.get().toString()
        : ExecutableProvider.newJarResourceProvider().get().getAbsolutePath();
  }

  /** A program on the PATH. */
  static Optional<Path> onPath(String program) {
    String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
    return Stream.of(path.split(Pattern.quote(java.io.File.pathSeparator), -1))
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private StatefulRedisConnection<String, String> connectWithin(Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    while (true) {
      try {
        return client.connect();
      } catch (RuntimeException e) {
        if (System.nanoTime() > end || !process.isAlive()) {
          throw e;
        }
        // The server is another process: there is no clock to pass in.
        java.util.concurrent.locks.LockSupport.parkNanos(20_000_000);
      }
    }
  }

  String uri() {
    return "redis://127.0.0.1:" + port;
  }

  RedisCommands<String, String> commands() {
    return connection.sync();
  }

  String version() {
    return info("server").getOrDefault("redis_version", "unknown");
  }

  /** The CPU time that the server has used so far. */
  double cpuMicros() {
    Map<String, String> info = info("cpu");
    return 1e6
        * (Double.parseDouble(info.getOrDefault("used_cpu_user", "0"))
            + Double.parseDouble(info.getOrDefault("used_cpu_sys", "0")));
  }

  /** The memory in use but for what the connections hold, which comes and goes. */
  long usedMemory() {
    Map<String, String> info = info("memory");
    return Long.parseLong(info.getOrDefault("used_memory", "0"))
        - Long.parseLong(info.getOrDefault("mem_clients_normal", "0"));
  }

  /** How often commands whose names begin so were run, those inside scripts included. */
  long calls(String prefix) {
    long sum = 0;
    for (Map.Entry<String, String> line : info("commandstats").entrySet()) {
      String name = line.getKey().substring("cmdstat_".length());
      if (name.startsWith(prefix) && !name.startsWith("info")) {
        String calls = line.getValue().substring("calls=".length());
        sum += Long.parseLong(calls.substring(0, calls.indexOf(',')));
      }
    }
    return sum;
  }

  private Map<String, String> info(String section) {
    return commands()
        .info(section)
        .lines()
        .filter(line -> line.contains(":") && !line.startsWith("#"))
        .collect(
            Collectors.toMap(
                line -> line.substring(0, line.indexOf(':')),
                line -> line.substring(line.indexOf(':') + 1).strip(),
                (first, second) -> second));
  }

  @Override
  public void close() {
    connection.close();
    client.shutdown(0, 1, TimeUnit.SECONDS);
    process.destroy();
  }
}
