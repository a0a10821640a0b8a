package dev.sluice.server;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.Dashboard.Panel;
import dev.sluice.server.Dashboard.Target;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Draws the panels of the dashboard as SVG, from the data of a Prometheus. */
final class DashboardPicture {
  private static final int WIDTH = 1600;
  private static final int HEADER = 64;
  private static final int MARGIN = 12;
  private static final int GAP = 8;
  private static final int UNIT = 26;
  private static final double COLUMN = (WIDTH - 2.0 * MARGIN) / 24;
  private static final int POINTS = 160;

  private static final String INK = "#CCCCDC";
  private static final String FAINT = "#8E8EA0";
  private static final String LINES = "#2A2D35";
  private static final List<String> PALETTE =
      List.of("#73BF69", "#F2CC0C", "#8AB8FF", "#FF780A", "#F2495C", "#5794F2", "#B877D9");
  private static final Map<String, String> NAMED =
      Map.of("green", "#73BF69", "orange", "#FF9830", "red", "#F2495C", "blue", "#5794F2");
  private static final DateTimeFormatter CLOCK =
      DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT).withZone(ZoneOffset.UTC);

  private final Prometheus prometheus;
  private final double from;
  private final double to;
  private final String rateInterval;
  private final StringBuilder svg = new StringBuilder();

  /** A series with its name and colour. */
  private record Curve(String name, String colour, Prometheus.Series series) {}

  /** The rectangle of a plot, and the values at its left, right and upper edge. */
  private record Plot(
      double left, double top, double width, double height, double from, double to, double most) {
    double x(double time) {
      return left + (time - from) / (to - from) * width;
    }

    double y(double value) {
      return top + height - Math.min(value / most, 1) * height;
    }
  }

  private DashboardPicture(Prometheus prometheus, double from, double to, String rateInterval) {
    this.prometheus = prometheus;
    this.from = from;
    this.to = to;
    this.rateInterval = rateInterval;
  }

  static String draw(
      Dashboard dashboard, Prometheus prometheus, double from, double to, String rateInterval)
      throws Exception {
    return new DashboardPicture(prometheus, from, to, rateInterval).draw(dashboard);
  }

  private String draw(Dashboard dashboard) throws Exception {
    int rows =
        dashboard.panels().stream().mapToInt(each -> each.y() + each.height()).max().orElse(0);
    int height = HEADER + rows * UNIT + MARGIN;
    add(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d'"
            + " font-family='Inter, Helvetica, Arial, sans-serif'>",
        WIDTH, height, WIDTH, height);
    add("<rect width='%d' height='%d' fill='#111217'/>", WIDTH, height);
    text(
        MARGIN + 4,
        40,
        22,
        INK,
        "start' font-weight='600",
        dashboard.json().path("title").asText());
    List<String> variables = new ArrayList<>();
    for (JsonNode each : dashboard.json().path("templating").path("list")) {
      boolean isSource = each.path("type").asText().equals("datasource");
      variables.add(each.path("label").asText() + ": " + (isSource ? "Prometheus" : "All"));
    }
    text(MARGIN + 100, 40, 14, FAINT, "start", String.join("     ", variables));
    text(WIDTH - MARGIN - 4, 40, 14, FAINT, "end", clock(from) + " to " + clock(to) + " UTC");
    for (Panel panel : dashboard.panels()) {
      panel(panel);
    }
    return svg.append("</svg>\n").toString();
  }

  private void panel(Panel panel) throws Exception {
    double left = MARGIN + panel.x() * COLUMN;
    double top = HEADER + panel.y() * (double) UNIT;
    if (panel.isRow()) {
      text(left + 4, top + 18, 15, INK, "start' font-weight='600", panel.title());
      return;
    }
    double width = panel.width() * COLUMN - GAP;
    double height = panel.height() * (double) UNIT - GAP;
    add(
        "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='3' fill='#181B1F' stroke='%s'/>",
        left, top, width, height, LINES);
    text(left + 10, top + 20, 13, INK, "start' font-weight='600", panel.title());
    List<Curve> curves = curves(panel);
    if (panel.kind().equals("stat")) {
      stat(panel, curves, left + width / 2, top + height / 2 + 24);
    } else {
      curves(panel, curves, left, top, width, height);
    }
  }

  private List<Curve> curves(Panel panel) throws Exception {
    record Found(String name, Prometheus.Series series) {}
    List<Found> found = new ArrayList<>();
    double step = Math.max(1, (to - from) / POINTS);
    for (Target target : panel.targets()) {
      String query = Dashboard.filled(target.expr(), rateInterval);
      prometheus.range(query, from, to, step).stream()
          .map(each -> new Found(target.legendOf(each.labels()), each))
          .sorted(Comparator.comparing(Found::name))
          .forEach(found::add);
    }
    List<Curve> curves = new ArrayList<>();
    for (Found each : found) {
      String colour = PALETTE.get(curves.size() % PALETTE.size());
      colour = panel.colours().getOrDefault(each.name, colour);
      curves.add(new Curve(each.name, colour, each.series));
    }
    return curves;
  }

  private void stat(Panel panel, List<Curve> curves, double x, double y) {
    if (curves.isEmpty()) {
      text(x, y, 28, FAINT, "middle", "No data");
      return;
    }
    double value = curves.get(0).series.last();
    JsonNode defaults = panel.field().path("defaults");
    String colour = INK;
    for (JsonNode step : defaults.path("thresholds").path("steps")) {
      if (step.path("value").isNull() || value >= step.path("value").asDouble()) {
        colour = NAMED.getOrDefault(step.path("color").asText(), INK);
      }
    }
    String shown =
        defaults
            .path("mappings")
            .path(0)
            .path("options")
            .path(String.valueOf(Math.round(value)))
            .path("text")
            .asText(number(value, panel.unit(), value));
    text(x, y, 34, colour, "middle' font-weight='600", shown);
  }

  private void curves(
      Panel panel, List<Curve> curves, double left, double top, double width, double height) {
    double highest = curves.stream().mapToDouble(each -> each.series.most()).max().orElse(0);
    double fixed = panel.field().path("defaults").path("max").asDouble(0);
    double scale = panel.unit().equals("bytes") ? 1 << 20 : panel.unit().equals("s") ? 1e-3 : 1;
    boolean isWhole = panel.unit().equals("none");
    double step = tick((fixed > 0 ? fixed : highest * 1.05) / scale, isWhole) * scale;
    double most = fixed > 0 ? fixed : Math.max(step, Math.ceil(highest * 1.02 / step) * step);
    Plot plot = new Plot(left + 62, top + 34, width - 76, height - 80, from, to, most);
    for (double at = 0; at <= most * 1.001; at += step) {
      add("<path d='M%.1f %.1fh%.1f' stroke='%s'/>", plot.left, plot.y(at), plot.width, LINES);
      text(plot.left - 8, plot.y(at) + 4, 11, FAINT, "end", number(at, panel.unit(), most));
    }
    int times = width > 600 ? 5 : 3;
    for (int i = 0; i < times; i++) {
      double time = from + (to - from) * (i + 0.5) / times;
      text(plot.x(time), plot.top + plot.height + 16, 11, FAINT, "middle", clock(time));
    }
    JsonNode custom = panel.field().path("defaults").path("custom");
    for (Curve curve : curves) {
      curve(plot, curve, custom);
    }
    legend(curves, left + 14, top + height - 12, width - 20);
  }

  private void curve(Plot plot, Curve curve, JsonNode custom) {
    boolean isStepped = custom.path("lineInterpolation").asText().equals("stepAfter");
    double longest = 3 * Math.max(1, (to - from) / POINTS);
    StringBuilder line = new StringBuilder();
    StringBuilder area = new StringBuilder();
    double base = plot.y(0);
    double before = Double.NEGATIVE_INFINITY;
    for (Map.Entry<Double, Double> each : curve.series.values().entrySet()) {
      double x = plot.x(each.getKey());
      double y = plot.y(each.getValue());
      if (each.getKey() - before > longest) {
        area.append(area.isEmpty() ? "" : form("V%.1fZ", base));
        area.append(form("M%.1f %.1fV%.1f", x, base, y));
        line.append(form("M%.1f %.1f", x, y));
      } else {
        String to = isStepped ? form("H%.1fV%.1f", x, y) : form("L%.1f %.1f", x, y);
        line.append(to);
        area.append(to);
      }
      before = each.getKey();
    }
    double opacity = custom.path("fillOpacity").asDouble() / 100;
    if (opacity > 0) {
      add("<path d='%sV%.1fZ' fill='%s' fill-opacity='%.2f'/>", area, base, curve.colour, opacity);
    }
    add(
        "<path d='%s' fill='none' stroke='%s' stroke-width='2' stroke-linejoin='round'"
            + " stroke-linecap='round'/>",
        line, curve.colour);
  }

  private void legend(List<Curve> curves, double left, double y, double width) {
    if (curves.isEmpty()) {
      text(left, y, 12, FAINT, "start", "No data");
    }
    double x = left;
    for (Curve curve : curves) {
      double wide = 36 + curve.name.length() * 6.6;
      if (x + wide > left + width) {
        text(x, y, 12, FAINT, "start", "…");
        return;
      }
      add(
          "<rect x='%.1f' y='%.1f' width='14' height='4' rx='2' fill='%s'/>",
          x, y - 6, curve.colour);
      text(x + 20, y, 12, INK, "start", curve.name);
      x += wide;
    }
  }

  /** A round distance between grid lines: 1, 2 or 5 times a power of ten; about four lines. */
  private static double tick(double most, boolean isWhole) {
    double rough = Math.max(most, 1e-6) / 4;
    double power = Math.pow(10, Math.floor(Math.log10(rough)));
    double factor = rough / power;
    double step = (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10) * power;
    return isWhole ? Math.max(1, step) : step;
  }

  /** A value with its unit; values on one axis, up to the highest of them, share a unit. */
  private static String number(double value, String unit, double highest) {
    return switch (unit) {
      case "reqps" -> plain(value, highest) + "/s";
      case "percentunit" -> plain(value * 100, highest * 100) + "%";
      case "s" ->
          highest >= 1
              ? plain(value, highest) + " s"
              : highest >= 1e-3
                  ? plain(value * 1e3, highest * 1e3) + " ms"
                  : plain(value * 1e6, highest * 1e6) + " µs";
      case "bytes" ->
          highest >= 1 << 30
              ? plain(value / (1 << 30), highest / (1 << 30)) + " GiB"
              : plain(value / (1 << 20), highest / (1 << 20)) + " MiB";
      default -> plain(value, highest);
    };
  }

  private static String plain(double value, double highest) {
    String text = form(highest >= 10 ? "%.0f" : highest >= 1 ? "%.1f" : "%.2f", value);
    return text.contains(".") ? text.replaceFirst("\\.?0+$", "") : text;
  }

  private static String clock(double seconds) {
    return CLOCK.format(Instant.ofEpochSecond((long) seconds));
  }

  private void text(double x, double y, int size, String colour, String anchor, String text) {
    add(
        "<text x='%.1f' y='%.1f' font-size='%d' fill='%s' text-anchor='%s' xml:space='preserve'>%s</text>",
        x, y, size, colour, anchor, text.replace("&", "&amp;").replace("<", "&lt;"));
  }

  private void add(String format, Object... arguments) {
    svg.append(form(format, arguments)).append('\n');
  }

  private static String form(String format, Object... arguments) {
    return String.format(Locale.ROOT, format, arguments);
  }
}
