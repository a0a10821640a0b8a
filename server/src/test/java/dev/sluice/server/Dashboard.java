package dev.sluice.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The Grafana dashboard in docs/monitoring, as far as its panels and queries go. */
final class Dashboard {
  static final Path FOLDER = Path.of("..", "docs", "monitoring");

  private static final Pattern LABEL = Pattern.compile("\\{\\{(\\w+)}}");
  private static final Pattern METRIC = Pattern.compile("\\b(?:sluice|jvm|process|system)_\\w+");

  /** A query with the text of its legend. */
  record Target(String expr, String legend) {
    /** The legend of a series: each {@code {{label}}} replaced by its value. */
    String legendOf(Map<String, String> labels) {
      return LABEL
          .matcher(legend)
          .replaceAll(found -> Matcher.quoteReplacement(labels.getOrDefault(found.group(1), "")));
    }
  }

  /** A panel: a row, a number (stat) or curves (timeseries). */
  record Panel(
      String kind,
      String title,
      int x,
      int y,
      int width,
      int height,
      List<Target> targets,
      JsonNode field) {
    boolean isRow() {
      return kind.equals("row");
    }

    String unit() {
      return field.path("defaults").path("unit").asText();
    }

    /** The colours that the dashboard fixes, by legend. */
    Map<String, String> colours() {
      Map<String, String> colours = new HashMap<>();
      for (JsonNode each : field.path("overrides")) {
        JsonNode colour = each.path("properties").path(0).path("value").path("fixedColor");
        colours.put(each.path("matcher").path("options").asText(), colour.asText());
      }
      return colours;
    }
  }

  private final JsonNode json;
  private final List<Panel> panels = new ArrayList<>();

  private Dashboard(JsonNode json) {
    this.json = json;
    for (JsonNode each : json.path("panels")) {
      JsonNode at = each.path("gridPos");
      List<Target> targets = new ArrayList<>();
      for (JsonNode target : each.path("targets")) {
        targets.add(new Target(target.path("expr").asText(), target.path("legendFormat").asText()));
      }
      panels.add(
          new Panel(
              each.path("type").asText(),
              each.path("title").asText(),
              at.path("x").asInt(),
              at.path("y").asInt(),
              at.path("w").asInt(),
              at.path("h").asInt(),
              targets,
              each.path("fieldConfig")));
    }
  }

  static Dashboard read() throws IOException {
    return new Dashboard(new ObjectMapper().readTree(FOLDER.resolve("dashboard.json").toFile()));
  }

  JsonNode json() {
    return json;
  }

  List<Panel> panels() {
    return panels;
  }

  /** The query as Grafana sends it if all jobs, instances and rules are chosen. */
  static String filled(String query, String rateInterval) {
    return query
        .replace("$__rate_interval", rateInterval)
        .replaceAll("\\$(job|instance|rule)\\b", ".*");
  }

  /** The names of metrics in a text. */
  static List<String> metricsIn(String text) {
    return METRIC.matcher(text).results().map(found -> found.group()).distinct().toList();
  }
}
