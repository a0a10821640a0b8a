package dev.sluice.traffic;

import static org.assertj.core.api.Assertions.assertThat;

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
  private final MovableClock clock = MovableClock.at(Instant.parse("2026-01-01T12:00:00Z"));
  private final MemoryStore store = MemoryStore.create(clock);

  @Test
  void countsAreExactWithManyThreads() throws Exception {
    TestNode node = new TestNode("a", store, clock);
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
  void theBusiestAndTheMostRefusedClientsAreFoundAmongMany() {
    long seed = 7;
    Random random = new Random(seed);
    TestNode a = new TestNode("a", store, clock);
    TestNode b = new TestNode("b", store, clock);
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
    TestNode node = new TestNode("a", store, clock);
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
