import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures the time from the start of a process to its first 200 of /health/live: java -jar and the
 * packed bin/sluice in turns. Arguments: how often, the jar, bin/sluice.
 */
final class StartTimes {
  private static final byte[] CALL =
      "GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
          .getBytes(StandardCharsets.US_ASCII);
  private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(2);

  /** Milliseconds to the first answer, and of processor time until then. */
  private record Start(double wall, double cpu) {}

  public static void main(String[] arguments) throws Exception {
    int rounds = Integer.parseInt(arguments[0]);
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    List<String> jar = List.of(java, "-jar", arguments[1]);
    List<String> packed = List.of(arguments[2]);
    List<Start> ofJar = new ArrayList<>();
    List<Start> ofPacked = new ArrayList<>();
    start(jar); // the files are in the system's cache from here on
    start(packed);
    for (int i = 0; i < rounds; i++) {
      ofJar.add(start(jar));
      ofPacked.add(start(packed));
    }
    System.out.printf("From exec to the first 200 of /health/live, %d starts each, in turns:%n", rounds);
    print("java -jar", ofJar);
    print("bin/sluice", ofPacked);
    System.out.printf(
        "bin/sluice takes %.0f %% of the time and %.0f %% of the processor time of java -jar.%n",
        100 * median(ofPacked.stream().map(Start::wall).toList())
            / median(ofJar.stream().map(Start::wall).toList()),
        100 * median(ofPacked.stream().map(Start::cpu).toList())
            / median(ofJar.stream().map(Start::cpu).toList()));
  }

  private static void print(String name, List<Start> starts) {
    List<Double> walls = starts.stream().map(Start::wall).toList();
    System.out.printf(
        "  %-10s  median %.0f ms (%.0f to %.0f), processor time %.0f ms%n",
        name,
        median(walls),
        Collections.min(walls),
        Collections.max(walls),
        median(starts.stream().map(Start::cpu).toList()));
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int half = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(half)
        : (sorted.get(half - 1) + sorted.get(half)) / 2;
  }

  private static Start start(List<String> program) throws Exception {
    int port = freePort();
    List<String> command = new ArrayList<>(program);
    command.addAll(List.of("serve", "--port=" + port, "--admin-token=a-token-for-measuring"));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD);
    builder.environment().keySet().removeIf(name -> name.startsWith("SLUICE_"));
    long begin = System.nanoTime();
    Process process = builder.start();
    try {
      while (!isLive(port)) {
        if (!process.isAlive() || System.nanoTime() - begin > LONGEST_NANOS) {
          throw new IllegalStateException(command + ": no answer (expected: a service)");
        }
        LockSupport.parkNanos(500_000);
      }
      long end = System.nanoTime();
      double cpu = process.toHandle().info().totalCpuDuration().orElseThrow().toNanos() / 1e6;
      return new Start((end - begin) / 1e6, cpu);
    } finally {
      process.destroy();
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    }
  }

  private static boolean isLive(int port) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1_000);
      socket.setSoTimeout(10_000);
      socket.getOutputStream().write(CALL);
      InputStream in = socket.getInputStream();
      return new String(in.readNBytes(12), StandardCharsets.US_ASCII).equals("HTTP/1.1 200");
    } catch (IOException e) {
      return false; // it does not listen yet
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
