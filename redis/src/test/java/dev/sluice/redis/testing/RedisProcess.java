package dev.sluice.redis.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import redis.embedded.core.ExecutableProvider;

/** A real redis-server process on a free loopback port; it can be stopped, paused and restarted. */
public final class RedisProcess implements AutoCloseable {
  /** Where the server comes from. */
  public enum Binary {
    /** The server that SLUICE_REDIS names, else the redis-server on the PATH; 7 or newer. */
    SYSTEM,
    /** The Redis 6.2 in the Maven artifact embedded-redis. */
    ARTIFACT
  }

  /** A program or its path; or "artifact", to run what runs on every version on Redis 6.2. */
  private static final String CHOSEN = System.getenv().getOrDefault("SLUICE_REDIS", "");

  private final List<String> command = new ArrayList<>();
  private final Path folder;
  private final int port;
  private Process process;

  private RedisProcess(Binary binary, int port, List<String> arguments) {
    this.port = port;
    try {
      this.folder = Files.createTempDirectory("sluice-redis");
      command.add(executable(binary));
      command.addAll(arguments);
      command.addAll(
          List.of(
              "--port", Integer.toString(port), "--bind", "127.0.0.1", "--dir", folder.toString()));
      this.process = launch();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    await();
  }

  /** Starts a server that keeps nothing on disk. */
  public static RedisProcess start(Binary binary, String... arguments) {
    List<String> all = new ArrayList<>(List.of("--save", "", "--appendonly", "no"));
    all.addAll(Arrays.asList(arguments));
    return startOnFreePort(binary, all);
  }

  /**
   * A port that was free may be taken before the server has it, and the port of the Cluster's bus,
   * 10,000 higher, was never asked for: then with another one.
   */
  private static RedisProcess startOnFreePort(Binary binary, List<String> arguments) {
    for (int tries = 1; ; tries++) {
      try {
        return new RedisProcess(binary, freePort(), arguments);
      } catch (IllegalStateException e) {
        boolean isTaken = String.valueOf(e.getMessage()).contains("Address already in use");
        if (!isTaken || tries == 5) {
          throw e;
        }
      }
    }
  }

  /** Starts a server from a file of settings that it may rewrite, such as a Sentinel's. */
  public static RedisProcess startWithFile(Binary binary, String settings, String... arguments) {
    try {
      // Sentinels sync it often; in memory that never holds them up.
      Path memory = Path.of("/dev/shm");
      Path file =
          Files.isWritable(memory)
              ? Files.createTempFile(memory, "sluice-redis", ".conf")
              : Files.createTempFile("sluice-redis", ".conf");
      file.toFile().deleteOnExit();
      Files.writeString(file, settings);
      List<String> all = new ArrayList<>(List.of(file.toString()));
      all.addAll(Arrays.asList(arguments));
      return startOnFreePort(binary, all);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The binaries that this machine has: that of the artifact always. */
  public static List<Binary> binaries() {
    return system().isEmpty() ? List.of(Binary.ARTIFACT) : List.of(Binary.ARTIFACT, Binary.SYSTEM);
  }

  /** The newest binary that this machine has, unless SLUICE_REDIS asks for the artifact's. */
  public static Binary newest() {
    return CHOSEN.equals("artifact") || system().isEmpty() ? Binary.ARTIFACT : Binary.SYSTEM;
  }

  public int port() {
    return port;
  }

  public String uri() {
    return "redis://127.0.0.1:" + port;
  }

  public void kill() {
    process.destroyForcibly();
    awaitEnd();
  }

  /** Stops the process in its tracks: connections stay open, nothing is answered. */
  public void pause() {
    signal("STOP");
  }

  public void resume() {
    signal("CONT");
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Whether it runs and is no replica. */
  public boolean isMaster() {
    return isAlive() && command("INFO", "replication").contains("role:master");
  }

  /** Starts it again on the same port, after {@link #kill}, with these settings besides. */
  public void restart(String... more) {
    try {
      process = launch(more);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    await();
  }

  /** Sends one command as words and returns the raw reply's first line, or the bulk's text. */
  public String command(String... words) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(20_000);
      StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
      for (String word : words) {
        int length = word.getBytes(StandardCharsets.UTF_8).length;
        request.append('$').append(length).append("\r\n").append(word).append("\r\n");
      }
      OutputStream out = socket.getOutputStream();
      out.write(request.toString().getBytes(StandardCharsets.UTF_8));
      out.flush();
      return reply(socket.getInputStream());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String reply(InputStream in) throws IOException {
    String line = line(in);
    if (line.startsWith("$") && !line.equals("$-1")) {
      int length = Integer.parseInt(line.substring(1));
      String text = new String(in.readNBytes(length), StandardCharsets.UTF_8);
      line(in);
      return text;
    }
    if (line.startsWith("*") && !line.equals("*-1")) {
      List<String> parts = new ArrayList<>();
      for (int i = Integer.parseInt(line.substring(1)); i > 0; i--) {
        parts.add(reply(in));
      }
      return String.join("\n", parts);
    }
    return line.startsWith("+") || line.startsWith(":") ? line.substring(1) : line;
  }

  private static String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    int c;
    while ((c = in.read()) != '\n') {
      if (c < 0) {
        throw new IOException("the server closed the connection");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  /** How often decisions have asked this server, as functions or as a script. */
  public long libraryCalls() {
    return info("commandstats", "cmdstat_fcall")
        + info("commandstats", "cmdstat_fcall_ro")
        + info("commandstats", "cmdstat_evalsha");
  }

  /** Makes the server forget the library, in both forms. */
  public void forgetLibrary() {
    command("SCRIPT", "FLUSH");
    command("FUNCTION", "FLUSH"); // an error before Redis 7
  }

  /** A number out of INFO, such as {@code calls} of {@code cmdstat_evalsha}. */
  public long info(String section, String name) {
    for (String line : command("INFO", section).split("\r?\n", -1)) {
      if (line.startsWith(name + ":")) {
        String value = line.substring(name.length() + 1);
        String digits = value.startsWith("calls=") ? value.substring(6) : value;
        return Long.parseLong(digits.split("[^0-9]", 2)[0]);
      }
    }
    return 0;
  }

  /** The keys that would never go away by themselves. */
  public List<String> keysWithoutTtl() {
    String found =
        command(
            "EVAL",
            "local found = {} "
                + "for _, key in ipairs(redis.call('KEYS', '*')) do "
                + "if redis.call('PTTL', key) == -1 and key ~= 's2:spread-key' then found[#found + 1] = key end end "
                + "return found",
            "0");
    if (found.startsWith("-")) {
      throw new IllegalStateException(found);
    }
    return found.isEmpty() ? List.of() : List.of(found.split("\n", -1));
  }

  @Override
  public void close() {
    process.destroyForcibly();
    awaitEnd();
    if (Files.notExists(folder)) {
      return; // closed before
    }
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted((a, b) -> b.compareTo(a)).forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Process launch(String... more) throws IOException {
    List<String> words = new ArrayList<>(command);
    words.addAll(Arrays.asList(more));
    return new ProcessBuilder(words)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()))
        .start();
  }

  /** Waits for the first answer: there is no clock to pass to a process that starts. */
  private void await() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (true) {
      try {
        String answer = command("PING");
        if (answer.equals("PONG") || answer.startsWith("-NOAUTH")) {
          return;
        }
      } catch (UncheckedIOException e) {
        if (!process.isAlive() || System.nanoTime() > end) {
          throw new IllegalStateException(
              "redis-server did not start: %s%n%s".formatted(command, lastWords()), e);
        }
      }
      pauseBriefly();
    }
  }

  private Path log() {
    return folder.resolve("log");
  }

  private String lastWords() {
    try {
      List<String> lines = Files.readAllLines(log());
      return String.join("\n", lines.subList(Math.max(0, lines.size() - 10), lines.size()));
    } catch (IOException e) {
      return "no log: " + e;
    }
  }

  private void awaitEnd() {
    try {
      process.waitFor(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void signal(String name) {
    try {
      new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static void pauseBriefly() {
    try {
      Thread.sleep(10); // another process starts or changes: no clock of ours can be moved
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  public static int freePort() {
    // Cluster nodes also listen 10,000 higher, so the port must leave room for that.
    while (true) {
      try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        if (socket.getLocalPort() < 55_000) {
          return socket.getLocalPort();
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static String executable(Binary binary) throws IOException {
    if (binary == Binary.SYSTEM) {
      return system().orElseThrow();
    }
    return Artifact.FILE.toString();
  }

  private static Optional<String> system() {
    boolean isChosen = !CHOSEN.isEmpty() && !CHOSEN.equals("artifact");
    String program = isChosen ? CHOSEN : "redis-server";
    Optional<String> found =
        Arrays.stream(System.getenv("PATH").split(":", -1))
            .map(folder -> Path.of(folder).resolve(program)) // an absolute path stays as it is
            .filter(Files::isExecutable)
            .map(Path::toString)
            .findFirst();
    if (isChosen && found.isEmpty()) {
      throw new IllegalStateException(
          "SLUICE_REDIS=%s: not found (expected: a program on the PATH, a path, or artifact)"
              .formatted(CHOSEN));
    }
    return found;
  }

  /** The artifact's binary, unpacked once. */
  private static final class Artifact {
    static final Path FILE = unpack();

    private static Path unpack() {
      try {
        return ExecutableProvider.newJarResourceProvider().get().toPath();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
