package dev.sluice.bench.suites;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.bench.report.Figures;
import dev.sluice.bench.report.Summary;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class FiguresTest {
  private static final Extent TINY =
      new Extent(
          true,
          1,
          1,
          20,
          20,
          20_000,
          1_000,
          new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));

  @Test
  void memoryRunHasThePromisedKeysInFlatJson() {
    Figures figures = new Figures();

    MemorySuite.run(new MemorySuite.Pace(1, 1, 1, 0, 40, 40), TINY, figures);

    assertThat(figures.all())
        .containsKeys(
            "memory.vsBucket4j",
            "memory.fixedWindow.vsBucket4j",
            "memory.slidingWindow.vsBucket4j",
            "memory.slidingLog.vsBucket4j",
            "memory.listener.vsNone",
            "memory.sluice.bytesAllocated");
    assertFlat(figures);
  }

  @Test
  void redisRunsHaveThePromisedKeysInFlatJson() throws Exception {
    Figures figures = new Figures();

    RedisSuite.run(TINY, figures);
    KindSuite.run(TINY, figures);
    KindSuite.bytesOfWindow(TINY, figures);
    WaySuite.run(TINY, figures);
    DeniedSuite.run(TINY, figures);

    assertThat(figures.all())
        .containsKeys(
            "redis.512.vsIncr",
            "redis.512.vsBucket4j",
            "redis.512.vsRedisson",
            "redis.1.p50VsIncr",
            "redis.1.p50VsBucket4j",
            "redis.1.async.p50VsBucket4j",
            "redis.1.async.direct.p50VsIncr",
            "redis.cpu.vsBucket4j",
            "redis.bytes",
            "redis.bytes.slidingWindow",
            "redis.bytes.vsBucket4j",
            "redis.kind.fixedWindow.vsIncr",
            "redis.kind.slidingWindow.vsIncr",
            "redis.kind.slidingLog.vsIncr",
            "redis.kind.slidingWindow.moved.vsIncr",
            "redis.kind.slidingLog.full.vsIncr",
            "redis.kind.lock.vsSame",
            "redis.denied.vsIncr",
            "redis.evalsha.1.p50VsIncr",
            "redis.evalsha.512.vsIncr",
            "redis.costs.vsOne",
            "redis.acl.vsDefault",
            "redis.plan3x2.vsSingle",
            "redis.hot.vsBucket4jBatching",
            "denied.vsBucket4j",
            "denied.redisCommandsPerDecision");
    assertThat(Summary.machine(figures))
        .contains(figures.redisVersion().orElseThrow(), "Guava ", "Spring Cloud Gateway")
        .doesNotContain("unknown");
    assertFlat(figures);
  }

  @Test
  void clusterRunHasThePromisedKeysInFlatJson() throws Exception {
    Figures figures = new Figures();

    ClusterSuite.run(TINY, figures);

    assertThat(figures.all())
        .containsKeys(
            "cluster.cpu.vsSingle",
            "cluster.vsSingle",
            "cluster.slidingLog.cpu.vsSingle",
            "cluster.tokenBucket.three.perSecond",
            "cluster.tokenBucket.single.perSecond");
    assertFlat(figures);
  }

  @Test
  void growthRunHasThePromisedKeysInFlatJson() throws Exception {
    Figures figures = new Figures();

    GrowthSuite.run(TINY, figures);

    assertThat(figures.all())
        .containsKeys(
            "growth.tokenBucket",
            "growth.fixedWindow",
            "growth.slidingWindow",
            "growth.slidingLog",
            "growth.limits.at8.micros",
            "growth.accounts.at100000.micros",
            "growth.rules.at10000.micros");
    assertFlat(figures);
  }

  @Test
  void consoleRunHasThePromisedKeysInFlatJson() throws Exception {
    Figures figures = new Figures();

    ConsoleSuite.run(TINY, figures);

    assertThat(figures.all())
        .containsKeys(
            "console.overhead",
            "console.refused.overhead",
            "console.reporting.perSecond",
            "console.silent.perSecond",
            "console.memory.reporting.nanos",
            "console.memory.silent.nanos");
    assertFlat(figures);
  }

  @Test
  void theUserOfTheBenchHasTheRightsOfTheDocs() throws Exception {
    String docs = Files.readString(Path.of("..", "docs", "redis.md"));

    assertThat(docs.replaceAll("\\s+", " "))
        .contains(WaySuite.RIGHTS.strip().replaceAll("\\s+", " "), WaySuite.FUNCTIONS);
  }

  private static void assertFlat(Figures figures) {
    List<String> lines = figures.json().lines().toList();

    assertThat(lines.get(0)).isEqualTo("{");
    assertThat(lines.get(lines.size() - 1)).isEqualTo("}");
    assertThat(lines.subList(1, lines.size() - 1))
        .hasSize(figures.all().size())
        .allMatch(line -> line.matches("  \"[A-Za-z0-9.]+\": (-?[0-9.]+|null),?"));
  }
}
