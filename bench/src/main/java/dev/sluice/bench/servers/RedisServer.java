package dev.sluice.bench.servers;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import redis.embedded.core.ExecutableProvider;

/** A redis-server for the bench, on a free loopback port, without persistence. */
public final class RedisServer implements Usage, AutoCloseable {
  private static final String ARTIFACT = "artifact";
  private static final Pattern CALLS = Pattern.compile("\\bcalls=(\\d+)");
  private static final Pattern MICROS = Pattern.compile("\\busec=(\\d+)");

  private final Process process;
  private final Path folder;
  private final int port;
  private final RedisClient client;
  private final StatefulRedisConnection<String, String> connection;

  private RedisServer(Process process, Path folder, int port) {
    this.process = process;
    this.folder = folder;
    this.port = port;
    this.client = RedisClient.create(uri());
    this.connection = connectWithin(Duration.ofSeconds(10));
  }

  public static RedisServer start() throws IOException {
    return start(freePort(), List.of());
  }

  /** A node for a Cluster, with a timeout that a busy machine does not reach. */
  static RedisServer startInCluster() throws IOException {
    return start(
        freePortInCluster(),
        List.of("--cluster-enabled", "yes", "--cluster-node-timeout", "60000"));
  }

  private static RedisServer start(int port, List<String> more) throws IOException {
    Path folder = Files.createTempDirectory("sluice-bench");
    List<String> command =
        new ArrayList<>(
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
                folder.toString()));
    command.addAll(more);
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
    return new RedisServer(process, folder, port);
  }

  /**
   * The server that SLUICE_REDIS names, as in the tests: a program, a path or "artifact". Without
   * it, the redis-server on the PATH, else the Redis 6.2 in the Maven artifact.
   */
  private static String executable() throws IOException {
    String chosen = System.getenv().getOrDefault("SLUICE_REDIS", "");
    boolean isProgram = !chosen.isEmpty() && !chosen.equals(ARTIFACT);
    Optional<Path> found =
        chosen.equals(ARTIFACT) ? Optional.empty() : onPath(isProgram ? chosen : "redis-server");
    if (isProgram && found.isEmpty()) {
      throw new IllegalStateException(
          "SLUICE_REDIS=%s: not found (expected: a program on the PATH, a path, or artifact)"
              .formatted(chosen));
    }
    return found.isPresent()
        ? found.get().toString()
        : ExecutableProvider.newJarResourceProvider().get().getAbsolutePath();
  }

  /** A program on the PATH, or at a path. */
  public static Optional<Path> onPath(String program) {
    String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
    return Stream.of(path.split(Pattern.quote(java.io.File.pathSeparator), -1))
        .map(folder -> Path.of(folder).resolve(program)) // an absolute path stays as it is
        .filter(Files::isExecutable)
        .findFirst();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /** A Cluster node also listens on its port + 10,000. */
  private static int freePortInCluster() throws IOException {
    while (true) {
      int port = freePort();
      if (port < 55_000 && isFree(port + 10_000)) {
        return port;
      }
    }
  }

  private static boolean isFree(int port) throws IOException {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (BindException e) {
      return false;
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

  public String uri() {
    return "redis://127.0.0.1:" + port;
  }

  int port() {
    return port;
  }

  public RedisCommands<String, String> commands() {
    return connection.sync();
  }

  /** Such as {@code Redis 7.0.15} or {@code Valkey 8.0.1}. */
  public String version() {
    Map<String, String> info = info("server");
    String valkey = info.get("valkey_version");
    return valkey == null
        ? "Redis " + info.getOrDefault("redis_version", "unknown")
        : "Valkey " + valkey;
  }

  public boolean hasFunctions() {
    return !info("server").getOrDefault("redis_version", "").matches("[0-6]\\..*");
  }

  @Override
  public double cpuMicros() {
    Map<String, String> info = info("cpu");
    return 1e6
        * (Double.parseDouble(info.getOrDefault("used_cpu_user", "0"))
            + Double.parseDouble(info.getOrDefault("used_cpu_sys", "0")));
  }

  /** The memory in use, without that of connections, which varies. */
  public long usedMemory() {
    Map<String, String> info = info("memory");
    return Long.parseLong(info.getOrDefault("used_memory", "0"))
        - Long.parseLong(info.getOrDefault("mem_clients_normal", "0"));
  }

  /** The memory of all keys: the sum of {@code MEMORY USAGE} over {@code SCAN}. */
  public long bytesOfAllKeys() {
    List<RedisFuture<Long>> weights = new ArrayList<>();
    ScanIterator.scan(commands(), ScanArgs.Builder.limit(1_000))
        .forEachRemaining(key -> weights.add(weigh(key)));
    long sum = 0;
    for (RedisFuture<Long> weight : weights) {
      Long bytes = weight.toCompletableFuture().join();
      sum += bytes == null ? 0 : bytes; // the key has expired meanwhile
    }
    return sum;
  }

  /** With SAMPLES 0: all elements of a value, not only a sample of a large one. */
  private RedisFuture<Long> weigh(String key) {
    CommandArgs<String, String> arguments =
        new CommandArgs<>(StringCodec.UTF8).add("USAGE").addKey(key).add("SAMPLES").add(0);
    return connection
        .async()
        .dispatch(CommandType.MEMORY, new IntegerOutput<>(StringCodec.UTF8), arguments);
  }

  @Override
  public long calls(String prefix) {
    return sumOverCommands(prefix, CALLS);
  }

  /** The time that Redis has spent in scripts and functions. */
  public long scriptMicros() {
    return sumOverCommands("eval", MICROS) + sumOverCommands("fcall", MICROS);
  }

  private long sumOverCommands(String prefix, Pattern figure) {
    long sum = 0;
    for (Map.Entry<String, String> line : info("commandstats").entrySet()) {
      String name = line.getKey().substring("cmdstat_".length());
      Matcher found = figure.matcher(line.getValue());
      if (name.startsWith(prefix) && !name.startsWith("info") && found.find()) {
        sum += Long.parseLong(found.group(1));
      }
    }
    return sum;
  }

  /** The memory of the Lua engines, which is outside {@code maxmemory}. */
  public long luaMemory() {
    Map<String, String> info = info("memory");
    String before7 = info.getOrDefault("used_memory_lua", "0");
    return Long.parseLong(info.getOrDefault("used_memory_vm_total", before7));
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
    try {
      process.waitFor(5, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    // A Cluster node leaves its configuration file behind.
    try (Stream<Path> files = Files.list(folder)) {
      files.forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    folder.toFile().delete();
  }
}
