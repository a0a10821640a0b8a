package dev.sluice.bench.load;

import dev.sluice.bench.servers.RedisServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The load generator wrk: one thread, 32 connections, each with one request in flight. */
public final class Wrk {
  private static final Pattern REQUESTS = Pattern.compile("(\\d+) requests in");
  private static final Pattern PER_SECOND = Pattern.compile("Requests/sec:\\s+([0-9.]+)");
  private static final String PERCENTILE = "\\s%d%%\\s+([0-9.]+)(us|ms|s)";
  private static final Map<String, Double> MICROS = Map.of("us", 1.0, "ms", 1e3, "s", 1e6);

  private final Path program;

  /** The output of wrk. */
  public record Seen(long requests, double perSecond, double p50Micros, double p99Micros) {
    /** Reads what {@code wrk --latency} prints; throws if a request failed. */
    static Seen read(String printed) {
      if (printed.contains("Non-2xx") || printed.contains("Socket errors")) {
        throw new IllegalStateException("wrk saw failures:\n" + printed);
      }
      return new Seen(
          Long.parseLong(first(REQUESTS, printed).group(1)),
          Double.parseDouble(first(PER_SECOND, printed).group(1)),
          percentile(50, printed),
          percentile(99, printed));
    }

    private static double percentile(int percent, String printed) {
      Matcher found = first(Pattern.compile(PERCENTILE.formatted(percent)), printed);
      return Double.parseDouble(found.group(1)) * MICROS.getOrDefault(found.group(2), Double.NaN);
    }

    private static Matcher first(Pattern pattern, String printed) {
      Matcher matcher = pattern.matcher(printed);
      if (!matcher.find()) {
        throw new IllegalStateException(
            "wrk: no '" + pattern + "' in what it printed:\n" + printed);
      }
      return matcher;
    }
  }

  private Wrk(Path program) {
    this.program = program;
  }

  public static Wrk find() {
    return new Wrk(
        RedisServer.onPath("wrk")
            .orElseThrow(
                () ->
                    new IllegalStateException(
                        "wrk: not found (expected: on the PATH; Debian and Ubuntu: apt-get install"
                            + " wrk; macOS: brew install wrk)")));
  }

  /** Sends requests for this time: POST with a body, else GET. */
  public Seen run(String url, String body, int seconds) throws IOException {
    Path script = Files.createTempFile("wrk", ".lua");
    Files.writeString(
        script, body.isEmpty() ? "" : "wrk.method = 'POST'\nwrk.body = '%s'\n".formatted(body));
    Process process =
        new ProcessBuilder(
                List.of(
                    program.toString(),
                    "--latency",
                    "-t1",
                    "-c32",
                    "-d" + seconds + "s",
                    "-s" + script,
                    url))
            .redirectErrorStream(true)
            .start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    Files.delete(script);
    return Seen.read(printed);
  }
}
