package dev.sluice.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A real Prometheus that scrapes one service every second and evaluates the alerts. */
final class Prometheus implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Program program;
  private final String url;
  private final HttpClient client = HttpClient.newHttpClient();

  /** The values of one series by time, in seconds; those that are NaN or infinite are left out. */
  record Series(Map<String, String> labels, TreeMap<Double, Double> values) {
    double last() {
      return values.lastEntry().getValue();
    }

    double most() {
      return values.values().stream().mapToDouble(Double::doubleValue).max().orElse(Double.NaN);
    }
  }

  private Prometheus(Program program, int port) {
    this.program = program;
    this.url = "http://127.0.0.1:" + port;
  }

  static Prometheus start(Path directory, int service, Path alerts) throws Exception {
    Path config =
        Files.writeString(
            directory.resolve("prometheus.yaml"),
            """
            global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
            rule_files: ["%s"]
            scrape_configs:
              - job_name: sluice
                static_configs: [{targets: ["127.0.0.1:%d"], labels: {instance: sluice-1}}]
            """
                .formatted(alerts.toAbsolutePath().normalize(), service));
    int port = Program.freePort();
    Program program =
        Program.start(
            directory,
            List.of(
                "prometheus",
                "--config.file=" + config,
                "--storage.tsdb.path=" + directory.resolve("prometheus"),
                "--web.listen-address=127.0.0.1:" + port));
    program.awaitPort(port);
    return new Prometheus(program, port);
  }

  /** The series that a query gives now. */
  List<Series> query(String query) throws Exception {
    return series(ask("/api/v1/query?query=" + encoded(query)), "value");
  }

  /** The series that a query gives between two times, in seconds since 1970. */
  List<Series> range(String query, double from, double to, double stepSeconds) throws Exception {
    return series(
        ask(
            "/api/v1/query_range?query=%s&start=%s&end=%s&step=%s"
                .formatted(encoded(query), from, to, stepSeconds)),
        "values");
  }

  /** The rules as Prometheus has evaluated them. */
  List<JsonNode> rules() throws Exception {
    List<JsonNode> rules = new ArrayList<>();
    for (JsonNode group : ask("/api/v1/rules").path("groups")) {
      group.path("rules").forEach(rules::add);
    }
    return rules;
  }

  /** Waits until a query gives something; another process counts, so this asks again and again. */
  void await(String query) throws Exception {
    long end = System.nanoTime() + 60_000_000_000L;
    while (query(query).isEmpty()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("after a minute nothing for: " + query);
      }
      Thread.sleep(100); // no clock of ours drives Prometheus
    }
  }

  private JsonNode ask(String path) throws Exception {
    HttpResponse<String> response =
        client.send(
            HttpRequest.newBuilder(URI.create(url + path)).build(),
            HttpResponse.BodyHandlers.ofString());
    JsonNode answer = MAPPER.readTree(response.body());
    if (!answer.path("status").asText().equals("success")) {
      throw new AssertionError(path + ": " + response.body());
    }
    return answer.path("data");
  }

  private static List<Series> series(JsonNode data, String field) {
    List<Series> all = new ArrayList<>();
    for (JsonNode each : data.path("result")) {
      Map<String, String> labels = new TreeMap<>();
      each.path("metric")
          .properties()
          .forEach(label -> labels.put(label.getKey(), label.getValue().asText()));
      TreeMap<Double, Double> values = new TreeMap<>();
      if (field.equals("value")) {
        add(each.path(field), values);
      } else {
        each.path(field).forEach(value -> add(value, values));
      }
      if (!values.isEmpty()) {
        all.add(new Series(labels, values));
      }
    }
    return all;
  }

  /** Prometheus writes a value as a text: "12.5", "NaN" or "+Inf". */
  private static void add(JsonNode value, Map<Double, Double> values) {
    String text = value.path(1).asText();
    if (!text.equals("NaN") && !text.endsWith("Inf")) {
      values.put(value.path(0).asDouble(), Double.valueOf(text));
    }
  }

  private static String encoded(String query) {
    return URLEncoder.encode(query, StandardCharsets.UTF_8);
  }

  @Override
  public void close() throws IOException {
    program.close();
  }
}
