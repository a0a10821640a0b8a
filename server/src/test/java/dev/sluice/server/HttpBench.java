package dev.sluice.server;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.Server;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Compares the service with a bare Armeria handler that answers a fixed JSON, by wrk, in turns.
 *
 * <p>On a machine with other work the rates wobble; the CPU time that a request takes in this
 * process is steadier, so it is printed beside them.
 *
 * <p>Arguments: seconds of each turn (5), and turns (3). Prints the median requests per second of
 * both and the share of the bare that the service reaches.
 */
public final class HttpBench {
  private static final Pattern PER_SECOND = Pattern.compile("Requests/sec:\\s+([0-9.]+)");
  private static final Pattern COUNT = Pattern.compile("(\\d+) requests in");
  private static final OperatingSystemMXBean CPU =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static final String BODY =
      "{\"rule\":\"Open\",\"identity\":{\"login\":\"ann\"},\"cost\":1}";
  private static final String RULES =
      """
      facets:
        ip: client-address
        login: {query: login}
      rules:
        Open:
          by: [login]
          limits:
            - token-bucket: {capacity: 1000000000, refill: 1000000000, per: 1s}
        OpenGate:
          by: [ip]
          limits:
            - token-bucket: {capacity: 1000000000, refill: 1000000000, per: 1s}
      """;

  private HttpBench() {}

  public static void main(String[] arguments) throws Exception {
    int seconds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 5;
    int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 3;
    HttpData fixed = HttpData.wrap("{\"allowed\":true}".getBytes(StandardCharsets.UTF_8));
    Server bare =
        Server.builder()
            .http(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .service(
                "/v1/check",
                (ctx, request) ->
                    HttpResponse.of(
                        request
                            .aggregate()
                            .thenApply(
                                whole -> HttpResponse.of(HttpStatus.OK, MediaType.JSON, fixed))))
            .service(
                "/v1/gate/OpenGate",
                (ctx, request) -> HttpResponse.of(HttpStatus.OK, MediaType.JSON, fixed))
            .build();
    bare.start().join();
    try (Sluice sluice = Sluice.start(Settings.defaults(), RULES)) {
      String bareUrl = "http://127.0.0.1:" + bare.activeLocalPort();
      for (String path : List.of("/v1/check", "/v1/gate/OpenGate")) {
        compare(path, bareUrl, sluice.url(), seconds, rounds);
      }
    } finally {
      bare.stop().join();
    }
  }

  private static void compare(String path, String bare, String sluice, int seconds, int rounds)
      throws Exception {
    boolean posts = path.equals("/v1/check");
    for (int i = 0; i < 2; i++) { // until both are compiled
      wrk(bare + path, posts, 2 * seconds);
      wrk(sluice + path, posts, 2 * seconds);
    }
    List<Turn> bareTurns = new ArrayList<>();
    List<Turn> sluiceTurns = new ArrayList<>();
    for (int i = 0; i < rounds; i++) {
      bareTurns.add(wrk(bare + path, posts, seconds));
      sluiceTurns.add(wrk(sluice + path, posts, seconds));
    }
    Turn bareTurn = Turn.median(bareTurns);
    Turn sluiceTurn = Turn.median(sluiceTurns);
    System.out.printf(
        "%-18s  bare Armeria %,9.0f/s %5.1f us of CPU  sluice %,9.0f/s %5.1f us of CPU  %.0f %% (by CPU %.0f %%)%n",
        path,
        bareTurn.perSecond,
        bareTurn.cpuMicros,
        sluiceTurn.perSecond,
        sluiceTurn.cpuMicros,
        100 * sluiceTurn.perSecond / bareTurn.perSecond,
        100 * bareTurn.cpuMicros / sluiceTurn.cpuMicros);
  }

  /** What passed, and what one request cost this process. */
  private record Turn(double perSecond, double cpuMicros) {
    static Turn median(List<Turn> turns) {
      return new Turn(median(turns, Turn::perSecond), median(turns, Turn::cpuMicros));
    }

    private static double median(List<Turn> turns, ToDoubleFunction<Turn> figure) {
      double[] sorted = turns.stream().mapToDouble(figure).sorted().toArray();
      return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }
  }

  private static Turn wrk(String url, boolean posts, int seconds) throws Exception {
    Path directory = Files.createTempDirectory("wrk");
    Path script = directory.resolve("post.lua");
    Files.writeString(
        script,
        posts ? "wrk.method = 'POST'\nwrk.body = '%s'\n".formatted(BODY) : "wrk.method = 'GET'\n");
    long before = CPU.getProcessCpuTime();
    String printed =
        Program.run(
            directory,
            List.of(
                "wrk", "-t", "1", "-c", "32", "-d", seconds + "s", "-s", script.toString(), url));
    Matcher found = PER_SECOND.matcher(printed);
    if (!found.find() || printed.contains("Non-2xx")) {
      throw new IllegalStateException(printed);
    }
    double cpuMicros = (CPU.getProcessCpuTime() - before) / 1_000.0;
    Matcher count = COUNT.matcher(printed);
    if (!count.find()) {
      throw new IllegalStateException(printed);
    }
    return new Turn(Double.parseDouble(found.group(1)), cpuMicros / Long.parseLong(count.group(1)));
  }
}
