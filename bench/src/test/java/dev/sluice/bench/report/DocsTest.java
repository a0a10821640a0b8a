package dev.sluice.bench.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Element;

class DocsTest {
  private static final Path PAGE = Path.of("..", "docs", "performance.md");

  @TempDir private Path folder;

  @Test
  void everyFigureOfThePageIsReplacedAndTheProseIsLeft() {
    String page = "Before.\n<!-- bench:hot -->\nold\n<!-- /bench:hot -->\nAfter.\n";

    String replaced = Docs.replaced(page, Map.of("hot", "| new |"));

    assertThat(replaced)
        .isEqualTo("Before.\n<!-- bench:hot -->\n| new |\n<!-- /bench:hot -->\nAfter.\n");
  }

  @Test
  void aPageWithoutTheMarksOfASectionIsRefused() {
    assertThatThrownBy(() -> Docs.replaced("Nothing here.", Map.of("hot", "")))
        .hasMessageContaining("no '<!-- bench:hot --> … <!-- /bench:hot -->'");
  }

  @Test
  void writesTablesChartsAndFigures() throws Exception {
    Files.copy(PAGE, folder.resolve("performance.md"));

    Docs.in(folder).write(measured(), "A run of a test.");

    assertThat(folder.resolve("performance.md"))
        .content()
        .contains("A run of a test.")
        .contains("| at least 1.8 | **2.44** | ✓ |")
        .contains("| 512 | Redisson | 9,000 |")
        .contains("| sliding log | – | – | 1.50 |")
        .contains("| limits per rule | 1 | 8 | 8 | 12.5 | 1.56 |");
    Figures read = new Figures();
    read.read(Files.readString(folder.resolve("performance.json")));
    assertThat(read.all()).isEqualTo(measured().all());
    assertThat(charts()).hasSize(13).allSatisfy(DocsTest::isSvgOfTheRightSize);
  }

  @Test
  void everyChartOfTheBenchIsOnThePage() throws Exception {
    Charts.draw(measured(), folder.resolve("charts"));

    String page = Files.readString(PAGE);

    assertThat(charts()).allMatch(chart -> page.contains("(charts/" + chart.getFileName() + ")"));
  }

  private List<Path> charts() throws Exception {
    try (Stream<Path> files = Files.list(folder.resolve("charts"))) {
      return files.sorted().toList();
    }
  }

  private static void isSvgOfTheRightSize(Path chart) throws Exception {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
    Element svg = factory.newDocumentBuilder().parse(chart.toFile()).getDocumentElement();

    assertThat(svg.getTagName()).isEqualTo("svg");
    assertThat(svg.getAttribute("viewBox")).isEqualTo("0 0 820 400");
  }

  /** A figure for everything that is drawn. */
  private static Figures measured() {
    Figures figures = new Figures();
    figures.put("redis.512.vsIncr", 2.44);
    figures.put("worst.slidingLog.large.millis", 1.5);
    for (Tables.Named each : Tables.ON_HOT) {
      for (String inFlight : List.of("1", "64", "512", "hot")) {
        String key = "redis." + inFlight + "." + each.key();
        figures.put(key + ".perSecond", 9_000);
        figures.put(key + ".p50Micros", 55);
        figures.put(key + ".p99Micros", 250);
        figures.put(key + ".cpuMicros", 12.5);
      }
      figures.put("redis.bytes." + each.key(), 88);
      figures.put("denied." + each.key() + ".perSecond", 20_000);
    }
    Tables.KINDS.forEach(each -> figures.put("redis.kind." + each.key() + ".perSecond", 90_000));
    Tables.IN_JVM.forEach(each -> figures.put("memory." + each.key() + ".perSecond", 9_000_000));
    for (Tables.Named each : Tables.OVER_HTTP) {
      figures.put(each.key().formatted("check") + ".perSecond", 27_000);
      figures.put(each.key().formatted("gate") + ".perSecond", 27_000);
    }
    for (Tables.Named each : Tables.GROWTHS) {
      figures.put("growth." + each.key(), 1.5625);
      figures.put("growth." + each.key() + ".at1.micros", 8);
      figures.put("growth." + each.key() + ".at8.micros", 12.5);
    }
    return figures;
  }
}
