package dev.sluice.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.bench.report.BenchCheck.Worse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BenchCheckTest {
  private static final Path COMMITTED = Path.of("..", "docs", "performance.quick.json");

  private static Figures figures(String key, double value) {
    Figures figures = new Figures();
    figures.put(key, value);
    return figures;
  }

  private static List<Worse> worse(String key, double was, double is) {
    return new BenchCheck(figures(key, was), 0.25).worse(figures(key, is));
  }

  @Test
  void halfOfTheDecisionsIsTwoTimesAsBad() {
    assertThat(worse("redis.512.vsIncr", 2, 1))
        .containsExactly(new Worse("redis.512.vsIncr", 2, 1, 2));
  }

  @Test
  void twiceTheLatencyIsTwoTimesAsBad() {
    assertThat(worse("redis.1.p50VsIncr", 1.5, 3))
        .containsExactly(new Worse("redis.1.p50VsIncr", 1.5, 3, 2));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis.1.p50VsIncr",
        "redis.evalsha.1.p50VsIncr",
        "redis.1.async.p50VsBucket4j",
        "redis.cpu.vsIncr",
        "redis.bytes.vsBucket4j",
        "redis.costs.vsOne",
        "redis.plan3x2.vsSingle",
        "cluster.cpu.vsSingle",
        "cluster.slidingLog.cpu.vsSingle"
      })
  void ratiosOfTimeAndMemoryAreBetterIfTheyAreLower(String key) {
    assertThat(worse(key, 1, 2)).hasSize(1);
    assertThat(worse(key, 2, 1)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis.64.vsIncr",
        "redis.512.vsGateway",
        "redis.kind.lock.vsSame",
        "redis.denied.vsIncr",
        "redis.acl.vsDefault",
        "cluster.vsSingle",
        "memory.listener.vsNone",
        "http.check.cold.vsBare"
      })
  void ratiosOfRatesAreBetterIfTheyAreHigher(String key) {
    assertThat(worse(key, 2, 1)).hasSize(1);
    assertThat(worse(key, 1, 2)).isEmpty();
  }

  @Test
  void whatIsWithinTheToleranceIsNotWorse() {
    assertThat(worse("redis.512.vsIncr", 1.25, 1)).isEmpty();
    assertThat(worse("redis.512.vsIncr", 1.26, 1)).hasSize(1);
    assertThat(worse("redis.1.p50VsIncr", 1, 1.25)).isEmpty();
    assertThat(worse("redis.1.p50VsIncr", 1, 1.26)).hasSize(1);
  }

  @Test
  void halvedSpeedIsWorseAlsoAtToleranceOfOneHalf() {
    BenchCheck check = new BenchCheck(figures("redis.512.vsIncr", 1.8), 0.5);

    assertThat(check.worse(figures("redis.512.vsIncr", 0.9))).hasSize(1);
  }

  @Test
  void onlyRatiosAreCompared() {
    assertThat(worse("redis.512.sluice.perSecond", 200_000, 1)).isEmpty();
    assertThat(worse("redis.bytes", 100, 1_000)).isEmpty();
  }

  @Test
  void figureMissingOnEitherSideIsSaidAndNotWorse() {
    BenchCheck check = new BenchCheck(figures("redis.512.vsIncr", 2), 0.25);
    Figures other = figures("redis.acl.vsDefault", 1);

    assertThat(check.worse(other)).isEmpty();
    assertThat(check.missing(other, List.of("redis")))
        .containsExactly(
            "redis.512.vsIncr: not measured now", "redis.acl.vsDefault: not in the committed run");
  }

  @Test
  void figureThatCouldNotBeMeasuredIsMissing() {
    BenchCheck check = new BenchCheck(figures("redis.512.vsIncr", 2), 0.25);
    Figures none = figures("redis.512.vsIncr", Double.NaN);

    assertThat(check.worse(none)).isEmpty();
    assertThat(check.missing(none, List.of("redis")))
        .containsExactly("redis.512.vsIncr: not measured now");
  }

  @Test
  void figuresOfSuitesThatDidNotRunAreNotMissing() {
    BenchCheck check = new BenchCheck(figures("memory.vsBucket4j", 4), 0.25);

    assertThat(check.missing(new Figures(), List.of("redis"))).isEmpty();
  }

  @Test
  void runsWithOtherCoresOrAnotherRedisAreNotCompared() {
    Figures committed = new Figures();
    committed.put(Figures.MACHINE + "cores", 2);
    committed.measuredOn("Redis 7.0.15");
    Figures same = new Figures();
    same.put(Figures.MACHINE + "cores", 2);
    same.measuredOn("Redis 7.2.4");
    Figures other = new Figures();
    other.put(Figures.MACHINE + "cores", 4);
    other.measuredOn("Redis 6.2.7");
    BenchCheck check = new BenchCheck(committed, 0.25);

    assertThat(check.differences(same)).isEmpty();
    assertThat(check.differences(other))
        .containsExactly(
            "machine.cores: 4 (expected: 2, as in the committed run)",
            "machine.redis: 6 (expected: 7, as in the committed run)");
  }

  @Test
  void theCommittedRunHasItsMachineAndTheRatiosOfRedis() throws Exception {
    Figures committed = new Figures();
    committed.read(Files.readString(COMMITTED));

    assertThat(committed.all())
        .containsKeys(
            "machine.cores",
            "machine.redis",
            "redis.512.vsIncr",
            "redis.1.p50VsIncr",
            "redis.kind.slidingWindow.moved.vsIncr",
            "redis.kind.slidingLog.full.vsIncr",
            "redis.kind.lock.vsSame",
            "redis.denied.vsIncr",
            "redis.evalsha.512.vsIncr",
            "redis.costs.vsOne",
            "redis.acl.vsDefault")
        .doesNotContainValue(Double.NaN);
  }
}
