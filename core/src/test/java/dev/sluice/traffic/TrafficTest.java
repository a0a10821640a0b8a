package dev.sluice.traffic;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.SharedData;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TrafficTest {
  private static final Rules RULES =
      Rules.of(
          Rule.builder("api").by("login").limit(Limit.fixedWindow(3, Duration.ofDays(1))).build(),
          Rule.builder("new")
              .by("login")
              .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
              .shadow()
              .build());

  private final MovableClock clock = MovableClock.at(Instant.parse("2026-01-01T12:00:00Z"));
  private final MemoryStore store = MemoryStore.create(clock);

  /** A node on the store of the test. */
  private final class TestNode {
    final Traffic traffic;
    final Reporter reporter;
    final Limiter limiter;

    TestNode(String id) {
      traffic = new Traffic(id, clock);
      reporter = Reporter.idle(traffic, store, clock);
      RuleSource source = RuleSource.fixed(RULES);
      reporter.rules(source);
      limiter = Limiter.builder(store, source).listener(traffic).build();
    }

    void calls(int times, String login) {
      for (int i = 0; i < times; i++) {
        limiter.decide(Call.of(List.of("api", "new"), Identity.of("login", login)));
      }
    }
  }

  @Test
  void countsAreExactWithManyThreads() throws Exception {
    TestNode node = new TestNode("a");
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> all = new ArrayList<>();
      IntStream.range(0, 4)
          .forEach(thread -> all.add(threads.submit(() -> node.calls(5_000, "login" + thread))));
      for (Future<?> each : all) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }

    NodeSummary summary = roundTrip(node);

    assertThat(summary.counts().get("api")).isEqualTo(new Tally(12, 19_988, 0, 0, 0, 0));
    assertThat(summary.counts().get("new").shadowAllowed()).isEqualTo(4);
    assertThat(summary.counts().get("new").shadowDenied()).isEqualTo(19_996);
    assertThat(summary.limits())
        .containsEntry(new Traffic.LimitName("api", "3 per 1d"), 19_988L)
        .hasSize(1);
    assertThat(Arrays.stream(summary.latencies()).sum()).isEqualTo(20_000);
  }

  private NodeSummary roundTrip(TestNode node) {
    node.reporter.share();
    SharedData data = store.sharedData();
    String text =
        data.members(Reporter.NODES).toCompletableFuture().join().get(node.traffic.node());
    return NodeSummary.read(node.traffic.node(), text);
  }

  @Test
  void theCollectorAddsUpNodesAndTurnsCountsIntoRates() {
    TestNode a = new TestNode("a");
    TestNode b = new TestNode("b");
    Collector collector = Collector.idle(store.sharedData(), clock);
    share(collector, a, b);
    a.calls(10, "ann");
    b.calls(20, "bob");

    clock.advance(Duration.ofSeconds(2));
    share(collector, a, b);
    clock.advance(Duration.ofSeconds(2));
    share(collector, a, b);

    Overview overview = collector.overview();
    assertThat(overview.total().allowed()).isEqualTo(6);
    assertThat(overview.total().denied()).isEqualTo(24);
    assertThat(overview.nodes()).extracting(node -> node.node().id()).containsExactly("a", "b");
    assertThat(overview.nodes()).allMatch(node -> node.node().rules() == 2);
    assertThat(overview.rules().get(0).total()).isEqualTo(new Tally(6, 24, 0, 0, 0, 0));
    Points points = collector.last15Minutes("api");
    assertThat(sum(points.allowed()) * 2).isEqualTo(6);
    assertThat(sum(points.denied()) * 2).isEqualTo(24);
    assertThat(sum(collector.last15Minutes("").shadowDenied()) * 2).isEqualTo(28);
  }

  private static double sum(float[] values) {
    double sum = 0;
    for (float value : values) {
      sum += Float.isNaN(value) ? 0 : value;
    }
    return Math.round(sum * 1000) / 1000.0;
  }

  private static void share(Collector collector, TestNode... nodes) {
    for (TestNode node : nodes) {
      node.reporter.share();
    }
    collector.look();
  }

  @Test
  void aNodeThatEndsOrStartsAgainGivesNoNegativeNumbers() {
    TestNode first = new TestNode("a");
    Collector collector = Collector.idle(store.sharedData(), clock);
    first.calls(50, "ann");
    share(collector, first);
    clock.advance(Duration.ofSeconds(12)); // its summary ends
    collector.look();
    assertThat(collector.overview().nodes()).isEmpty();

    TestNode again = new TestNode("b");
    again.calls(7, "ann");
    share(collector, again);
    clock.advance(Duration.ofSeconds(2));
    share(collector, again);

    assertThat(collector.overview().total().denied()).isEqualTo(7);
    for (float value : collector.last15Minutes("").denied()) {
      assertThat(Float.isNaN(value) || value >= 0).isTrue();
    }
    assertThat(sum(collector.last15Minutes("api").denied()) * 2).isEqualTo(47 + 7);
  }

  @Test
  void minutesAreWrittenByOneCollectorAndReadByAll() {
    TestNode node = new TestNode("a");
    Collector one = Collector.idle(store.sharedData(), clock);
    Collector other = Collector.idle(store.sharedData(), clock);
    share(one, node);
    other.look();
    node.calls(10, "ann");
    clock.advance(Duration.ofSeconds(2));
    share(one, node);
    other.look();

    for (int i = 0; i < 31; i++) {
      clock.advance(Duration.ofSeconds(2));
      share(one, node);
      other.look();
    }
    other.readHistory(10);

    assertThat(store.sharedData().newest("history", 10, null).toCompletableFuture().join())
        .hasSize(1);
    for (Collector collector : List.of(one, other)) {
      assertThat(Math.round(sum(collector.last24Hours("").allowed()) * 60)).isEqualTo(3);
      assertThat(Math.round(sum(collector.last24Hours("api").denied()) * 60)).isEqualTo(7);
    }
  }

  @Test
  void noMinuteIsLostWhenTheCollectorThatWroteTheLastOneEnds() {
    TestNode node = new TestNode("a");
    Collector first = Collector.idle(store.sharedData(), clock);
    Collector second = Collector.idle(store.sharedData(), clock);
    for (int i = 0; i < 45; i++) { // until 12:01:30
      share(first, node);
      second.look();
      clock.advance(Duration.ofSeconds(2));
    }
    Collector late = Collector.idle(store.sharedData(), clock); // sees a part of 12:01
    for (int i = 0; i < 60; i++) { // the first collector has ended
      node.calls(1, "ann");
      share(late, node);
      second.look();
      clock.advance(Duration.ofSeconds(2));
    }

    List<String> minutes =
        store.sharedData().newest("history", 10, null).toCompletableFuture().join().stream()
            .map(entry -> entry.text().lines().toList().get(0))
            .toList();
    long noon = Instant.parse("2026-01-01T12:00:00Z").getEpochSecond() / 60;
    assertThat(minutes)
        .containsExactly("minute " + (noon + 2), "minute " + (noon + 1), "minute " + noon);
  }

  @Test
  void aMinuteOfWhichACollectorSawAPartIsWrittenByTheOneThatSawItWhole() {
    TestNode node = new TestNode("a");
    Collector whole = Collector.idle(store.sharedData(), clock);
    whole.look();
    clock.advance(Duration.ofSeconds(70)); // 12:01:10
    share(whole, node);
    clock.advance(Duration.ofSeconds(10));
    node.calls(3, "ann");
    share(whole, node);
    Collector part = Collector.idle(store.sharedData(), clock);
    part.look();
    clock.advance(Duration.ofSeconds(40)); // 12:02:00
    node.calls(4, "ann");
    node.reporter.share();
    part.look();
    whole.look();
    clock.advance(Duration.ofSeconds(2));
    part.look();

    part.readHistory(10);
    assertThat(Math.round(sum(part.last24Hours("").allowed()) * 60)).isEqualTo(3);
    assertThat(Math.round(sum(part.last24Hours("").denied()) * 60)).isEqualTo(4);
  }

  @Test
  void irregularReadingDoesNotMakeRatesGoUpAndDown() {
    long seed = Long.getLong("sluice.seed", 11);
    Random random = new Random(seed);
    TestNode a = new TestNode("a");
    TestNode b = new TestNode("b");
    clock.advance(Duration.ofSeconds(30)); // so that nobody is young
    Collector collector = Collector.idle(store.sharedData(), clock);
    long nextA = 0;
    long nextB = 900;
    long nextLook = 1_300;
    for (long millis = 0; millis < 120_000; millis += 100) {
      a.calls(1, "ann");
      b.calls(2, "bob");
      if (millis >= nextA) {
        a.reporter.share();
        nextA = millis + 2_000 + random.nextInt(100);
      }
      if (millis >= nextB) {
        b.reporter.share();
        nextB = millis + 2_000 + random.nextInt(100);
      }
      if (millis >= nextLook) {
        collector.look();
        nextLook = millis + 1_500 + random.nextInt(1_500);
      }
      clock.advance(Duration.ofMillis(100));
    }

    float[] denied = collector.last15Minutes("api").denied();
    int first = 0;
    while (Float.isNaN(denied[first]) || denied[first] == 0) {
      first++;
    }
    float[] settled = Arrays.copyOfRange(denied, first + 5, denied.length);
    assertThat(settled).as("seed %d", seed).hasSizeGreaterThan(45);
    for (float rate : settled) {
      assertThat(rate).as("of %s, seed %d", Arrays.toString(settled), seed).isBetween(28f, 32f);
    }
  }

  @Test
  void aNodeWhoseClockStepsIsCountedOnceAndInThePresent() {
    for (Duration step : List.of(Duration.ofHours(1), Duration.ofHours(-1))) {
      Instant read = clock.instant();
      NodeClock node = new NodeClock(read.minusSeconds(60), read);

      node.next(read.minusSeconds(58), read.plusSeconds(3));
      assertThat(node.until()).isEqualTo(read.plusSeconds(2));
      node.next(read.minusSeconds(56).plus(step), read.plusSeconds(5));
      assertThat(node.until()).isEqualTo(read.plusSeconds(5));
      node.next(read.minusSeconds(54).plus(step), read.plusSeconds(8));
      assertThat(node.until()).isEqualTo(read.plusSeconds(7));
    }
  }

  @Test
  void theBusiestAndTheMostRefusedClientsAreFoundAmongMany() {
    long seed = 7;
    Random random = new Random(seed);
    TestNode a = new TestNode("a");
    TestNode b = new TestNode("b");
    for (int i = 0; i < 10_000; i++) {
      (random.nextBoolean() ? a : b).calls(1, "single" + i);
      if (i % 10 == 0) {
        (random.nextBoolean() ? a : b).calls(1, "busy");
      }
    }
    a.reporter.share();
    b.reporter.share();

    TopClients top =
        Collector.idle(store.sharedData(), clock).clients().toCompletableFuture().join();

    assertThat(top.busiest().get(0).identity()).isEqualTo("login=busy");
    assertThat(top.busiest().get(0).calls())
        .isBetween(1_000L, 1_000L + top.busiest().get(0).error());
    assertThat(top.busiest().get(0).denied()).isEqualTo(997);
    assertThat(top.refused()).hasSize(1);
    assertThat(top.refused().get(0).identity()).isEqualTo("login=busy");
    assertThat(top.refused().get(0).denied()).isEqualTo(997);
  }

  @Test
  void refusalsAreSampledOnlyWhileSomebodyLooksAndAtMostFiftyASecond() {
    TestNode node = new TestNode("a");
    Collector collector = Collector.idle(store.sharedData(), clock);
    node.calls(100, "ann");
    node.reporter.shareRefusals();
    assertThat(collector.refusals(200).toCompletableFuture().join()).isEmpty();

    collector.watch().toCompletableFuture().join();
    node.reporter.share();
    node.calls(100, "ann");
    node.reporter.shareRefusals();
    List<SampledRefusal> seen = collector.refusals(200).toCompletableFuture().join();
    assertThat(seen).hasSize(50);
    assertThat(seen.get(0))
        .isEqualTo(
            new SampledRefusal(
                clock.instant(),
                "a",
                "api",
                "login=ann",
                seen.get(0).limit(),
                Duration.ofHours(12).toMillis(),
                false));

    clock.advance(Duration.ofSeconds(11)); // nobody looks any more
    node.reporter.share();
    node.calls(100, "ann");
    node.reporter.shareRefusals();
    assertThat(collector.refusals(200).toCompletableFuture().join()).hasSize(50);
  }

  @Test
  void hostileTextSurvivesTheWayThroughASummary() {
    String hostile = "<img src=x onerror=alert(1)>\n %25 - \"'\t\u202e";
    Rules rules =
        Rules.of(
            Rule.builder("api")
                .by("login")
                .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
                .build());
    Traffic traffic = new Traffic("a", clock);
    Reporter reporter = Reporter.idle(traffic, store, clock);
    Limiter limiter = Limiter.builder(store, RuleSource.fixed(rules)).listener(traffic).build();
    Identity identity = Identity.of("login", hostile.replaceAll("[\n\t]", ""));
    Decision first = limiter.decide("api", identity);
    limiter.decide("api", identity);
    assertThat(first.allowed()).isTrue();

    reporter.share();

    TopClients top =
        Collector.idle(store.sharedData(), clock).clients().toCompletableFuture().join();
    assertThat(top.refused().get(0).identity()).isEqualTo(identity.toString());
    assertThat(Lines.read(new Lines().add("x", hostile, "", "-").toString()).toList())
        .containsExactly(List.of("x", hostile, "", "-"));
  }

  @Test
  void thousandsOfRulesAreBounded() {
    Traffic traffic = new Traffic("a", clock);
    List<Rule> many =
        IntStream.range(0, 3_000)
            .mapToObj(
                i ->
                    Rule.builder("rule" + i)
                        .by("login")
                        .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
                        .build())
            .toList();
    Limiter limiter =
        Limiter.builder(store, RuleSource.fixed(Rules.of(many))).listener(traffic).build();
    for (Rule rule : many) {
      limiter.decide(rule.name(), Identity.of("login", "ann"));
      limiter.decide(rule.name(), Identity.of("login", "ann"));
    }

    Reporter reporter = Reporter.idle(traffic, store, clock);
    reporter.share();

    String text = store.sharedData().members(Reporter.NODES).toCompletableFuture().join().get("a");
    NodeSummary summary = NodeSummary.read("a", text);
    assertThat(text.length()).isLessThan(SharedData.LONGEST_VALUE);
    assertThat(summary.counts()).hasSizeLessThanOrEqualTo(Traffic.MOST_RULES + 1);
    assertThat(summary.total()).isEqualTo(new Tally(3_000, 3_000, 0, 0, 0, 0));
  }

  @Test
  void percentilesAreAtMostAQuarterTooHigh() {
    Latency latency = new Latency();
    for (long nanos = 1; nanos <= 100_000; nanos++) {
      latency.record(nanos);
    }

    assertThat(Latency.percentile(latency.counts(), 0.5)).isBetween(50_000L, 62_500L);
    assertThat(Latency.percentile(latency.counts(), 0.99)).isBetween(99_000L, 123_750L);
    assertThat(Latency.percentile(new Latency().counts(), 0.5)).isZero();
  }
}
