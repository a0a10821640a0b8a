package dev.sluice.bench.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.knowm.xchart.AnnotationText;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.CategorySeries;
import org.knowm.xchart.ChartEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.IChart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Draws the figures as SVG with XChart. Charts of suites that did not run stay as they are. */
final class Charts {
  private static final int WIDTH = 820;
  private static final int HEIGHT = 400;
  private static final Pattern LONG_NUMBER = Pattern.compile("(\\d\\.\\d\\d)\\d+");
  private static final Color INK = new Color(0x1F2933);
  private static final Color FAINT = new Color(0xE4E7EB);
  private static final Color OURS = new Color(0x0B7285);
  private static final Color THEIRS = new Color(0xADB5BD);

  /** Sluice first, then the others in their order; no pair of red and green. */
  private static final List<Color> PALETTE =
      List.of(
          OURS, new Color(0xCED4DA), new Color(0xF59F00), new Color(0x845EF7), new Color(0x495057));

  private static final List<Color> CURVES =
      List.of(OURS, new Color(0x495057), new Color(0xF59F00), new Color(0x845EF7));

  private final Figures figures;
  private final Path folder;

  private Charts(Figures figures, Path folder) {
    this.figures = figures;
    this.folder = folder;
  }

  static void draw(Figures figures, Path folder) throws IOException {
    System.setProperty("java.awt.headless", "true");
    Files.createDirectories(folder);
    Charts charts = new Charts(figures, folder);
    charts.bars();
    charts.latency();
    charts.http();
    charts.growth();
  }

  private void bars() throws IOException {
    contenders(
        "redis-throughput",
        "Decisions per second on Redis, 512 in flight",
        Tables.ON_REDIS,
        "redis.512.%s.perSecond");
    contenders(
        "redis-cpu",
        "Redis CPU per decision, µs, 512 in flight (less is better)",
        Tables.ON_REDIS,
        "redis.512.%s.cpuMicros");
    contenders(
        "redis-bytes",
        "Bytes per account in Redis (less is better)",
        Tables.ON_REDIS,
        "redis.bytes.%s");
    contenders(
        "redis-hot",
        "Decisions per second on one hot account, 64 in flight",
        Tables.ON_HOT,
        "redis.hot.%s.perSecond");
    contenders(
        "denied",
        "Denials per second, limits used up, 64 in flight",
        Tables.DENYING,
        "denied.%s.perSecond");
    contenders(
        "memory",
        "Decisions per second in the JVM, 65,536 identities, 2 threads",
        Tables.IN_JVM,
        "memory.%s.perSecond");
    contenders(
        "redis-kinds",
        "Sluice on Redis by kind of limit: decisions per second, 512 in flight",
        Tables.KINDS,
        "redis.kind.%s.perSecond");
  }

  /** One bar for each contender with its figure above; Sluice is in colour. */
  private void contenders(String file, String title, List<Tables.Named> all, String keys)
      throws IOException {
    List<Tables.Named> measured =
        all.stream().filter(each -> has(keys.formatted(each.key()))).toList();
    if (measured.isEmpty()) {
      return;
    }
    CategoryChart chart = bars(title);
    chart.getStyler().setAvailableSpaceFill(0.6).setOverlapped(true).setLegendVisible(false);
    List<String> names = measured.stream().map(Tables.Named::name).toList();
    List<Double> values =
        measured.stream().map(each -> figures.get(keys.formatted(each.key()))).toList();
    boolean isOursAlone = all.equals(Tables.KINDS);
    series(chart, "Sluice", names, values, OURS, name -> isOursAlone || name.equals("Sluice"));
    if (!isOursAlone) {
      series(chart, "peers", names, values, THEIRS, name -> !name.equals("Sluice"));
    }
    double most = values.stream().mapToDouble(Double::doubleValue).max().orElse(1);
    chart.getStyler().setYAxisMin(0.0).setYAxisMax(most * 1.12);
    for (int i = 0; i < names.size(); i++) {
      label(chart, i + 0.5, values.get(i), most);
    }
    save(chart, file);
  }

  /** A figure above its bar; the middle of the first bar is at 0.5. */
  private static void label(CategoryChart chart, double x, double value, double most) {
    chart.addAnnotation(new AnnotationText(Tables.number(value), x, value + most * 0.045, false));
  }

  private static void series(
      CategoryChart chart,
      String name,
      List<String> names,
      List<Double> values,
      Color color,
      Predicate<String> isShown) {
    List<Double> shown = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      shown.add(isShown.test(names.get(i)) ? values.get(i) : 0.0);
    }
    CategorySeries series = chart.addSeries(name, names, shown);
    series.setFillColor(color);
  }

  private void latency() throws IOException {
    if (!has("redis.1.sluice.p50Micros")) {
      return;
    }
    CategoryChart chart =
        bars("Latency of a decision on Redis by calls in flight, µs, log scale (less is better)");
    chart.getStyler().setAvailableSpaceFill(0.8).setYAxisLogarithmic(true).setYAxisMin(10.0);
    List<String> names = new ArrayList<>();
    for (String inFlight : List.of("1", "64", "512")) {
      names.add("p50, " + inFlight);
      names.add("p99, " + inFlight);
    }
    for (int i = 0; i < Tables.ON_REDIS.size(); i++) {
      Tables.Named each = Tables.ON_REDIS.get(i);
      List<Double> values = new ArrayList<>();
      for (String inFlight : List.of("1", "64", "512")) {
        values.add(figures.get("redis." + inFlight + "." + each.key() + ".p50Micros"));
        values.add(figures.get("redis." + inFlight + "." + each.key() + ".p99Micros"));
      }
      chart.addSeries(each.name(), names, values).setFillColor(PALETTE.get(i));
    }
    save(chart, "redis-latency");
  }

  private void http() throws IOException {
    if (!has("http.check.sluice.perSecond")) {
      return;
    }
    CategoryChart chart = bars("Requests per second over HTTP, memory store, 32 connections");
    chart.getStyler().setAvailableSpaceFill(0.5);
    List<String> names = List.of("/v1/check", "/v1/gate/{rules}");
    double most =
        Math.max(figures.get("http.check.bare.perSecond"), figures.get("http.gate.bare.perSecond"));
    for (String server : List.of("sluice", "bare")) {
      boolean isOurs = server.equals("sluice");
      List<Double> values =
          List.of(
              figures.get("http.check." + server + ".perSecond"),
              figures.get("http.gate." + server + ".perSecond"));
      String name = isOurs ? "Sluice" : "bare Armeria";
      chart.addSeries(name, names, values).setFillColor(isOurs ? OURS : THEIRS);
      for (int i = 0; i < values.size(); i++) {
        double x = i + 0.5 + (isOurs ? -0.125 : 0.125);
        label(chart, x, values.get(i), most);
      }
    }
    chart.getStyler().setYAxisMin(0.0).setYAxisMax(most * 1.12);
    save(chart, "http");
  }

  private void growth() throws IOException {
    curves(
        "growth-limit-size",
        "Cost of a decision on Redis by the size of the limit, µs",
        "limit",
        Tables.GROWTHS.subList(0, 4));
    curves(
        "growth-limits",
        "Cost of a decision on Redis by limits per rule, µs",
        "limits in one rule",
        Tables.GROWTHS.subList(4, 5));
    curves(
        "growth-accounts",
        "Cost of a decision on Redis by accounts, µs",
        "accounts",
        Tables.GROWTHS.subList(5, 6));
    curves(
        "growth-rules",
        "Cost of a decision in the JVM by rules, µs",
        "rules",
        Tables.GROWTHS.subList(6, 7));
  }

  private void curves(String file, String title, String grows, List<Tables.Named> kinds)
      throws IOException {
    XYChart chart =
        new XYChartBuilder().width(WIDTH).height(HEIGHT).title(title).xAxisTitle(grows).build();
    plain(chart.getStyler());
    double most = 0;
    for (int i = 0; i < kinds.size(); i++) {
      Map<Integer, Double> curve = Tables.curve(figures, kinds.get(i).key());
      if (!curve.isEmpty()) {
        XYSeries series =
            chart.addSeries(
                kinds.get(i).name().replace("limit size, ", ""),
                List.copyOf(curve.keySet()),
                List.copyOf(curve.values()));
        series.setLineColor(CURVES.get(i));
        series.setLineStyle(new BasicStroke(2.5f));
        series.setMarkerColor(CURVES.get(i));
        series.setMarker(SeriesMarkers.CIRCLE);
        most = curve.values().stream().mapToDouble(Double::doubleValue).reduce(most, Math::max);
      }
    }
    if (most > 0) {
      chart.getStyler().setXAxisLogarithmic(!file.equals("growth-limits"));
      chart.getStyler().setXAxisDecimalPattern("#,##0").setYAxisMin(0.0).setYAxisMax(most * 1.2);
      chart.getStyler().setLegendVisible(kinds.size() > 1);
      save(chart, file);
    }
  }

  private boolean has(String key) {
    return Double.isFinite(figures.get(key));
  }

  private static CategoryChart bars(String title) {
    CategoryChart chart =
        new CategoryChartBuilder().width(WIDTH).height(HEIGHT).title(title).build();
    plain(chart.getStyler());
    return chart;
  }

  private static void plain(AxesChartStyler styler) {
    styler
        .setPlotGridVerticalLinesVisible(false)
        .setPlotGridLinesColor(FAINT)
        .setPlotGridLinesStroke(new BasicStroke(1f))
        .setAxisTicksLineVisible(false)
        .setAxisTickLabelsFont(new Font(Font.SANS_SERIF, Font.PLAIN, 13))
        .setAxisTickLabelsColor(INK)
        .setAxisTicksMarksVisible(false)
        .setYAxisDecimalPattern("#,##0.##")
        .setPlotBorderVisible(false)
        .setPlotBackgroundColor(Color.WHITE)
        .setChartBackgroundColor(Color.WHITE)
        .setChartFontColor(INK)
        .setChartTitleFont(new Font(Font.SANS_SERIF, Font.BOLD, 16))
        .setChartTitlePadding(12)
        .setChartTitleBoxVisible(false)
        .setAnnotationTextFont(new Font(Font.SANS_SERIF, Font.BOLD, 13))
        .setAnnotationTextFontColor(INK)
        .setLegendFont(new Font(Font.SANS_SERIF, Font.PLAIN, 13))
        .setLegendBorderColor(Color.WHITE)
        .setLegendPosition(LegendPosition.OutsideS)
        .setLegendLayout(LegendLayout.Horizontal)
        .setChartPadding(16)
        .setLocale(Locale.ROOT);
  }

  private void save(IChart chart, String file) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ChartEncoder.saveChart(chart, bytes, "svg");
    // Two decimals of a pixel are enough, and halve the file.
    String svg = LONG_NUMBER.matcher(bytes.toString(StandardCharsets.UTF_8)).replaceAll("$1");
    Files.writeString(folder.resolve(file + ".svg"), svg);
  }
}
