package dev.sluice.traffic;

import static dev.sluice.traffic.TestNode.share;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.contract.MovableClock;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CollectorTest {
  private static final Duration TWO_SECONDS = Duration.ofSeconds(2);

  private final MovableClock clock = MovableClock.at(Instant.parse("2026-01-01T12:00:00Z"));
  private final MemoryStore store = MemoryStore.create(clock);
  private boolean down;

  @Test
  void theCollectorAddsUpNodesAndTurnsCountsIntoRates() {
    TestNode a = new TestNode("a", store, clock);
    TestNode b = new TestNode("b", store, clock);
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

  @Test
  void aNodeThatEndsOrStartsAgainGivesNoNegativeNumbers() {
    TestNode first = new TestNode("a", store, clock);
    Collector collector = Collector.idle(store.sharedData(), clock);
    first.calls(50, "ann");
    share(collector, first);
    clock.advance(Duration.ofSeconds(12)); // its summary ends
    collector.look();
    assertThat(collector.overview().nodes()).isEmpty();

    TestNode again = new TestNode("b", store, clock);
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
    TestNode node = new TestNode("a", store, clock);
    Collector one = Collector.idle(store.sharedData(), clock);
    Collector other = Collector.idle(store.sharedData(), clock);
    share(one, node);
    other.look();
    node.calls(10, "ann");
    clock.advance(Duration.ofSeconds(2));
    share(one, node);
    other.look();

    for (int i = 0; i < 37; i++) {
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
    TestNode node = new TestNode("a", store, clock);
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
    TestNode node = new TestNode("a", store, clock);
    Collector whole = Collector.idle(store.sharedData(), clock);
    for (int i = 0; i < 40; i++) { // until 12:01:20
      share(whole, node);
      clock.advance(TWO_SECONDS);
    }
    node.calls(3, "ann");
    share(whole, node);
    Collector part = Collector.idle(store.sharedData(), clock);
    part.look();
    node.calls(4, "ann");
    for (int i = 0; i < 30; i++) { // until 12:02:20
      clock.advance(TWO_SECONDS);
      share(part, node);
      whole.look();
    }

    part.readHistory(10);
    assertThat(Math.round(sum(part.last24Hours("").allowed()) * 60)).isEqualTo(3);
    assertThat(Math.round(sum(part.last24Hours("").denied()) * 60)).isEqualTo(4);
  }

  @Test
  void irregularReadingDoesNotMakeRatesGoUpAndDown() {
    long seed = Long.getLong("sluice.seed", 11);
    Random random = new Random(seed);
    TestNode a = new TestNode("a", store, clock);
    TestNode b = new TestNode("b", store, clock);
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

  // ---- Outages --------------------------------------------------------------------------------

  /** The store of the test, whose shared data does not answer while it is down. */
  private Store reports() {
    SharedData data = store.sharedData();
    SharedData breakable =
        (SharedData)
            Proxy.newProxyInstance(
                SharedData.class.getClassLoader(),
                new Class<?>[] {SharedData.class},
                (proxy, method, arguments) -> {
                  if (down) {
                    return CompletableFuture.failedFuture(
                        new StoreException("timeout", true, "no answer within 5 s", null));
                  }
                  try {
                    return method.invoke(data, arguments);
                  } catch (InvocationTargetException e) {
                    throw e.getCause();
                  }
                });
    return (Store)
        Proxy.newProxyInstance(
            Store.class.getClassLoader(),
            new Class<?>[] {Store.class},
            (proxy, method, arguments) ->
                method.getName().equals("sharedData")
                    ? breakable
                    : method.invoke(store, arguments));
  }

  @Test
  void whatNodesDecideDuringAnOutageIsShownAfterIt() {
    Store reports = reports();
    TestNode a = new TestNode("a", store, reports, clock, TestNode.RULES);
    TestNode b = new TestNode("b", store, reports, clock, TestNode.RULES);
    Collector collector = Collector.idle(reports.sharedData(), clock);
    for (int i = 0; i < 40; i++) {
      share(collector, a, b);
      clock.advance(TWO_SECONDS);
    }
    down = true; // at 12:01:20
    for (int i = 0; i < 120; i++) { // four minutes, in which all summaries end
      a.calls(1, "ann");
      b.calls(1, "bob");
      share(collector, a, b);
      assertThat(collector.trouble()).contains("no answer within 5 s");
      clock.advance(TWO_SECONDS);
    }
    down = false; // at 12:05:20
    collector.look(); // before any node reports
    assertThat(collector.overview().nodes()).isEmpty();
    for (int i = 0; i < 40; i++) {
      clock.advance(TWO_SECONDS);
      share(collector, a, b);
    }

    float[] denied = collector.last15Minutes("api").denied();
    assertThat(sum(denied) * 2).isEqualTo(120 * 2 - 6);
    long busySlots = IntStream.range(0, denied.length).filter(i -> denied[i] > 0.9).count();
    assertThat(busySlots).as("spread over four minutes").isBetween(118L, 122L);
    float[] minutes = collector.last24Hours("api").denied();
    assertThat(Math.round(sum(minutes) * 60)).isEqualTo(120 * 2 - 6);
    long busyMinutes = IntStream.range(0, minutes.length).filter(i -> minutes[i] > 0.3).count();
    assertThat(busyMinutes).isEqualTo(5); // 12:01 to 12:05
  }

  @Test
  void duringAnOutageAConsoleShowsItsOwnProcess() {
    Store reports = reports();
    TestNode own = new TestNode("own", store, reports, clock, TestNode.RULES);
    TestNode other = new TestNode("other", store, reports, clock, TestNode.RULES);
    Collector collector = Collector.idle(reports.sharedData(), Optional.of(own.traffic), clock);
    share(collector, own, other);
    down = true;
    for (int i = 0; i < 10; i++) {
      own.calls(4, "ann");
      other.calls(4, "bob");
      clock.advance(TWO_SECONDS);
      share(collector, own, other);
    }

    Overview overview = collector.overview();
    assertThat(overview.nodes()).extracting(node -> node.node().id()).containsExactly("own");
    assertThat(overview.total().denied()).isEqualTo(37);
    assertThat(overview.perSecond().denied()).isEqualTo(2);
  }

  @Test
  void anOlderSummaryThatTheStoreStillHasCountsNothingTwice() {
    Store reports = reports();
    TestNode own = new TestNode("own", store, reports, clock, TestNode.RULES);
    Collector collector = Collector.idle(reports.sharedData(), Optional.of(own.traffic), clock);
    share(collector, own);
    down = true;
    for (int i = 0; i < 3; i++) { // shorter than summaries are kept
      own.calls(5, "ann");
      clock.advance(TWO_SECONDS);
      share(collector, own);
    }
    down = false;
    collector.look(); // the summary from before the outage
    clock.advance(TWO_SECONDS);
    share(collector, own);
    clock.advance(TWO_SECONDS);
    share(collector, own);

    assertThat(sum(collector.last15Minutes("api").denied()) * 2).isEqualTo(12);
    assertThat(collector.overview().rules().get(0).lately().denied()).isEqualTo(12);
  }

  @Test
  void rollUpsThatCouldNotBeReadAtTheStartAreReadLater() {
    Store reports = reports();
    TestNode node = new TestNode("a", store, reports, clock, TestNode.RULES);
    Collector before = Collector.idle(reports.sharedData(), clock);
    for (int i = 0; i < 90; i++) { // three minutes
      node.calls(1, "ann");
      share(before, node);
      clock.advance(TWO_SECONDS);
    }
    down = true;
    Collector after = Collector.idle(reports.sharedData(), clock);
    after.look();
    down = false;
    after.look();

    assertThat(sum(after.last24Hours("api").denied()))
        .isEqualTo(sum(before.last24Hours("api").denied()))
        .isPositive();
  }

  @Test
  void aNodeThatIsGoneForLongIsForgotten() {
    TestNode node = new TestNode("a", store, clock);
    Collector collector = Collector.idle(store.sharedData(), clock);
    share(collector, node);
    for (int i = 0; i < 460; i++) {
      clock.advance(TWO_SECONDS);
      collector.look();
    }
    node.calls(10, "ann");

    share(collector, node);
    clock.advance(TWO_SECONDS);
    share(collector, node);

    assertThat(sum(collector.last15Minutes("api").denied())).isZero();
    assertThat(collector.overview().total().denied()).isEqualTo(7);
  }

  // ---- Many rules -----------------------------------------------------------------------------

  private static Rules rules(int number, String suffix) {
    return Rules.of(
        IntStream.range(0, number)
            .mapToObj(
                i ->
                    Rule.builder("rule%d%s".formatted(i, suffix))
                        .by("login")
                        .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
                        .build())
            .toList());
  }

  @Test
  void theBusiestRulesAndTheHardestLimitsAreThoseOfTheLastMinutes() {
    TestNode node = new TestNode("a", store, store, clock, rules(3, ""));
    Collector collector = Collector.idle(store.sharedData(), clock);
    for (int i = 0; i < 100; i++) {
      node.call("rule0", "ann");
    }
    share(collector, node);
    assertThat(collector.overview().limits().get(0).denied()).isEqualTo(99);
    for (int i = 0; i < 490; i++) { // more than 16 minutes
      clock.advance(TWO_SECONDS);
      share(collector, node);
    }
    node.call("rule2", "ann");
    node.call("rule2", "ann");
    node.call("rule2", "ann");
    clock.advance(TWO_SECONDS);
    share(collector, node);

    Overview overview = collector.overview();
    assertThat(overview.rules())
        .extracting(Overview.RuleTraffic::rule)
        .containsExactly("rule2", "rule0");
    assertThat(overview.rules().get(0).lately()).isEqualTo(new Tally(1, 2, 0, 0, 0, 0));
    assertThat(overview.rules().get(1).lately()).isEqualTo(Tally.NONE);
    assertThat(overview.rules().get(1).total().denied()).isEqualTo(99);
    assertThat(overview.limits())
        .containsExactly(new Overview.LimitTraffic("rule2", "1 per 1d", 2));
  }

  @Test
  void rulesWithLongNamesAreNeverTakenForNewTraffic() {
    Rules many = rules(900, "x".repeat(90));
    List<String> names = many.all().stream().map(Rule::name).toList();
    TestNode node = new TestNode("a", store, store, clock, many);
    Collector collector = Collector.idle(store.sharedData(), clock);
    for (int i = 0; i < names.size(); i++) {
      for (int times = 0; times < 1 + i % 7; times++) {
        node.call(names.get(i), "ann");
      }
    }
    clock.advance(Duration.ofSeconds(30)); // not young any more
    share(collector, node);
    long before = collector.overview().total().sum();

    for (int i = 0; i < names.size(); i += 3) { // the order of the busiest changes
      for (int times = 0; times < 9; times++) {
        node.call(names.get(i), "ann");
      }
    }
    clock.advance(TWO_SECONDS);
    share(collector, node);
    clock.advance(TWO_SECONDS);
    share(collector, node);

    assertThat(collector.overview().total().sum() - before).isEqualTo(2_700);
    assertThat(sum(collector.last15Minutes("").denied()) * 2).isEqualTo(2_700);
  }

  @Test
  void aRuleThatBecomesBusyWhenThereAreThousandsHasAChart() {
    Instant noon = clock.instant();
    Series series = new Series(TWO_SECONDS, 450);
    series.advance(noon);
    for (int i = 0; i < Series.MOST_RULES; i++) {
      series.add(noon, noon, "old" + i, new Tally(1, 0, 0, 0, 0, 0));
    }
    series.add(noon, noon, "late", new Tally(1, 0, 0, 0, 0, 0));
    assertThat(sum(series.points("late", noon.plusSeconds(2)).allowed())).isZero();
    assertThat(series.points("late", noon.plusSeconds(2)).allowed()).containsOnly(Float.NaN);
    assertThat(series.recent("late", 5, noon.plusSeconds(2))).containsOnly(Double.NaN);

    Instant later = noon.plus(Duration.ofMinutes(16));
    series.advance(later);
    series.add(later, later, "late", new Tally(8, 0, 0, 0, 0, 0));
    series.advance(later.plusSeconds(2));

    assertThat(sum(series.points("late", later.plusSeconds(2)).allowed()) * 2).isEqualTo(8);
    assertThat(sum(series.points("old7", later.plusSeconds(2)).allowed())).isZero();
  }

  // ---- Refusals -------------------------------------------------------------------------------

  @Test
  void refusalsOfANodeThatReportsLaterOrWhoseClockIsBehindAreNotLost() {
    MovableClock behind = MovableClock.at(clock.instant().minusSeconds(30));
    TestNode a = new TestNode("a", store, clock);
    TestNode b = new TestNode("b", store, store, behind, TestNode.RULES);
    Collector collector = Collector.idle(store.sharedData(), clock);
    collector.watch().toCompletableFuture().join();
    a.reporter.share();
    b.reporter.share();
    a.calls(5, "ann");
    b.calls(6, "bob");
    a.reporter.shareRefusals();
    Collector.Refusals first = collector.refusalsAfter("", 200).toCompletableFuture().join();

    b.reporter.shareRefusals();
    Collector.Refusals second =
        collector.refusalsAfter(first.last(), 200).toCompletableFuture().join();
    Collector.Refusals third =
        collector.refusalsAfter(second.last(), 200).toCompletableFuture().join();

    assertThat(first.newestFirst()).hasSize(2).allMatch(each -> each.node().equals("a"));
    assertThat(second.newestFirst()).hasSize(3).allMatch(each -> each.node().equals("b"));
    assertThat(third.newestFirst()).isEmpty();
    assertThat(third.last()).isEqualTo(second.last());
    assertThat(
            collector
                .refusalsAfter("4000000000000-1", 200) // of a log that is gone
                .toCompletableFuture()
                .join()
                .newestFirst())
        .hasSize(5);
  }
}
