package dev.sluice.traffic;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Bounds;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.SharedData;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What a node keeps and shares does not grow with its clients. */
class TrafficSizeTest {
  private static final int CLIENTS = 1_000_000;
  private static final int RULES = 1_000;

  /** As docs/console.md states it. */
  private static final long MOST_HEAP = 16L << 20;

  private static final long MOST_SHARED = 512L << 10;
  private static final long MOST_CONSOLE_HEAP = 64L << 20;

  private static final Rules MANY =
      Rules.of(
          IntStream.range(0, RULES)
              .mapToObj(
                  i ->
                      Rule.builder("aRuleWithALongName%04d".formatted(i))
                          .by("apiKey", "login")
                          .limit(Limit.fixedWindow(1, Duration.ofDays(1)))
                          .limit(Limit.tokenBucket(1_000, 1, Duration.ofSeconds(1)))
                          .build())
              .toList());
  private static final List<String> NAMES = MANY.all().stream().map(Rule::name).toList();

  @Test
  void aMillionClientsTakeNoMoreThanTheBoundsOfTheDocs() throws Exception {
    long before = usedHeap();
    Traffic traffic = new Traffic("node", InstantSource.system());
    traffic.watched(true);

    see(traffic);

    long grown = usedHeap() - before;
    long all = traffic.counts().values().stream().mapToLong(Long::longValue).sum();
    MemoryStore store = MemoryStore.create();
    Reporter reporter = Reporter.idle(traffic, store, InstantSource.system());
    reporter.share();
    long nodes = shared(store.sharedData(), Reporter.NODES);
    long clients = shared(store.sharedData(), Reporter.CLIENTS);
    reporter.close();
    System.out.printf(
        "%,d clients of %,d rules: heap %,d KiB, summary %,d bytes, clients %,d bytes%n",
        CLIENTS, RULES, grown >> 10, nodes, clients);
    assertThat(all).as("every call is counted").isEqualTo(CLIENTS + CLIENTS / 10);
    assertThat(traffic.busiest().size()).isBetween(1, Clients.SHARED);
    assertThat(grown).isLessThan(MOST_HEAP);
    assertThat(nodes + clients).isLessThan(MOST_SHARED);
    assertThat(Files.readString(Path.of("../docs/console.md")))
        .contains((MOST_HEAP >> 20) + " MiB")
        .contains((MOST_SHARED >> 10) + " KiB");
  }

  /** Callers choose how long their names are. */
  @Test
  void clientsWithTheLongestNamesTakeNoMoreEither() {
    long before = usedHeap();
    Traffic traffic = new Traffic("node", InstantSource.system());
    MemoryStore store = MemoryStore.create(InstantSource.system(), 1);
    Rule rule =
        Rule.builder("r")
            .by("a+b", "a", "b")
            .limit(Limit.tokenBucket(1, 1, Duration.ofHours(1)))
            .build();
    Limiter limiter =
        Limiter.builder(store, RuleSource.fixed(Rules.of(rule))).listener(traffic).build();

    for (int i = 0; i < 40_000; i++) {
      if (i % 8_000 == 0) {
        traffic.turn();
      }
      String name = i % 6_000 + "x".repeat(Bounds.LONGEST_FACET_VALUE - 8);
      limiter.decide("r", Identity.of("a", name, "b", name));
    }

    long grown = usedHeap() - before;
    System.out.printf("Clients with the longest names: heap %,d KiB%n", grown >> 10);
    assertThat(traffic.busiest()).isNotEmpty();
    assertThat(grown).isLessThan(MOST_HEAP);
  }

  /** A console merges as many nodes as may report, each with the most rules and limits. */
  @Test
  void aConsoleOfTheMostNodesTakesNoMoreThanTheBoundOfTheDocs() throws Exception {
    Traffic traffic = new Traffic("node", InstantSource.system());
    see(traffic);
    MemoryStore store = MemoryStore.create();
    Reporter reporter = Reporter.idle(traffic, store, InstantSource.system());
    reporter.share();
    SharedData data = store.sharedData();
    String summary = data.members(Reporter.NODES).toCompletableFuture().join().get("node");
    reporter.close();
    Instant start = Instant.now();
    announce(data, summary, start, start.plusSeconds(1));
    long before = usedHeap();
    Collector collector = Collector.idle(data, InstantSource.system());

    for (int look = 1; look <= 3; look++) {
      announce(data, summary, start, start.plusSeconds(2L * look));
      collector.look();
    }

    long grown = usedHeap() - before;
    System.out.printf(
        "A console of %,d nodes with %,d rules each: heap %,d KiB%n",
        SharedData.MOST_MEMBERS, RULES, grown >> 10);
    assertThat(collector.overview().nodes().size())
        .isGreaterThanOrEqualTo(SharedData.MOST_MEMBERS - 1);
    assertThat(grown).isLessThan(MOST_CONSOLE_HEAP);
    assertThat(Files.readString(Path.of("../docs/console.md")))
        .contains((MOST_CONSOLE_HEAP >> 20) + " MiB");
  }

  /** The same summary for the most nodes, as if each had made it now. */
  private static void announce(SharedData data, String summary, Instant since, Instant at) {
    String times = "times %d %d".formatted(since.toEpochMilli(), at.toEpochMilli());
    for (int node = 0; node < SharedData.MOST_MEMBERS - 1; node++) {
      String text = summary.replaceFirst("times \\d+ \\d+", times);
      data.announce(Reporter.NODES, "node" + node, text, Duration.ofHours(1))
          .toCompletableFuture()
          .join();
    }
  }

  /** One client in ten calls again, and is refused. The samples of the last calls stay. */
  private static void see(Traffic traffic) {
    MemoryStore store = MemoryStore.create(InstantSource.system(), 10_000);
    Limiter limiter = Limiter.builder(store, RuleSource.fixed(MANY)).listener(traffic).build();
    for (int i = 0; i < CLIENTS; i++) {
      if (i % 100_000 == 0) {
        traffic.turn();
      }
      Identity identity = Identity.of("apiKey", "key-" + i, "login", "somebody%40example.com" + i);
      limiter.decide(NAMES.get(i % RULES), identity);
      if (i / RULES % 10 == 0) {
        limiter.decide(NAMES.get(i % RULES), identity);
      }
    }
  }

  private static long shared(SharedData data, String group) {
    return data.members(group).toCompletableFuture().join().values().stream()
        .mapToLong(String::length)
        .sum();
  }

  private static long usedHeap() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
