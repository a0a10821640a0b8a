package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.store.Store;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a store costs its process and its Redis while nobody calls. */
@ExtendWith(RedisServers.class)
class QuietIT {
  private static final Duration IDLE = Duration.ofSeconds(10);
  private static final Pattern CALLS = Pattern.compile("cmdstat_([^:]+):calls=(\\d+)");

  /** What Redis nodes say to each other. */
  private static final String REPLICATION = "replconf";

  private static final Identity ANN = Identity.of("member", "ann");
  private static final Rules RULES =
      Rules.of(
          Rule.builder("r").by("member").limit(Limit.fixedWindow(3, Duration.ofDays(1))).build());

  /**
   * What was counted.
   *
   * @param threads the names of those that were started
   * @param connections as Redis lists them, without that of the observer
   * @param commands by name, how often Redis ran them, also within scripts
   */
  private record Cost(List<String> threads, long connections, Map<String, Long> commands) {
    double commandsPerSecond() {
      return commands.values().stream().mapToLong(Long::longValue).sum()
          / (double) IDLE.toSeconds();
    }

    void print(String what) {
      System.out.printf(
          "An idle store, %s: %d threads %s, %d connections, %.1f commands a second %s%n",
          what, threads.size(), threads, connections, commandsPerSecond(), commands);
    }
  }

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet();
  }

  /** The names of new threads, and of the one that the JVM starts for the timeouts of all. */
  private static List<String> startedSince(Set<Thread> before) {
    return threads().stream()
        .filter(thread -> !before.contains(thread) || isOfTheJvm(thread.getName()))
        .map(Thread::getName)
        .sorted()
        .toList();
  }

  private static boolean isOfTheJvm(String name) {
    return name.startsWith("CompletableFutureDelay");
  }

  private static long connections(List<RedisProcess> nodes) {
    long connections = 0;
    for (RedisProcess node : nodes) {
      connections +=
          node.command("CLIENT", "LIST")
              .lines()
              .filter(line -> !line.contains("cmd=client") && !line.contains("flags=S"))
              .count();
    }
    return connections;
  }

  private static Map<String, Long> commands(List<RedisProcess> nodes) {
    Map<String, Long> calls = new TreeMap<>();
    for (RedisProcess node : nodes) {
      Matcher found = CALLS.matcher(node.command("INFO", "commandstats"));
      while (found.find()) {
        calls.merge(found.group(1), Long.parseLong(found.group(2)), Long::sum);
      }
    }
    calls.remove(REPLICATION);
    return calls;
  }

  /** Counts for some seconds. The cost of being idle is a cost over time, so time has to pass. */
  private static Cost whileIdle(Set<Thread> before, List<RedisProcess> nodes) {
    Map<String, Long> first = commands(nodes);
    try {
      TimeUnit.MILLISECONDS.sleep(IDLE.toMillis());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    Map<String, Long> more = commands(nodes);
    first.forEach((name, calls) -> more.merge(name, -calls, Long::sum));
    more.merge("info", -(long) nodes.size(), Long::sum); // the one before counts in this one
    more.values().removeIf(calls -> calls == 0);
    return new Cost(startedSince(before), connections(nodes), more);
  }

  /** A store writes once, some seconds after its start, which library of functions it uses. */
  private static void awaitStarted(RedisProcess server) {
    RedisCluster.await(
        () -> server.command("EXISTS", Keyspace.LIBRARIES).equals("1") || isWithoutFunctions());
  }

  private static boolean isWithoutFunctions() {
    return newest() == RedisProcess.Binary.ARTIFACT;
  }

  /** Decides until a denial is in the cache, too. */
  private static void use(Limiter limiter) {
    while (limiter.decide("r", ANN).countedBy() != Decision.CountedBy.CACHE) {
      // until it is used up, and that is known
    }
  }

  @Test
  void idleStoreIsQuiet() {
    try (RedisProcess server = RedisProcess.start(newest())) {
      Set<Thread> before = threads();
      try (Limiter limiter = Limiter.owning(RedisStore.connect(server.uri()), RULES)) {
        use(limiter);
        awaitStarted(server);

        Cost cost = whileIdle(before, List.of(server));

        cost.print("after decide");
        assertThat(cost.threads()).hasSizeLessThanOrEqualTo(6);
        assertThat(cost.connections()).isLessThanOrEqualTo(2);
        assertThat(cost.commandsPerSecond()).isLessThanOrEqualTo(0.5);

        Decision unused = limiter.decideAsync(Call.of("r", ANN)).toCompletableFuture().join();
        RedisCluster.await(() -> startedSince(before).contains("sluice-answers-lookout"));
        List<String> threads = startedSince(before);
        System.out.printf("After decideAsync: %d threads %s%n", threads.size(), threads);
        assertThat(threads).filteredOn(name -> !isOfTheJvm(name)).hasSizeLessThanOrEqualTo(6);
      }
    }
  }

  @Test
  void idleNodeOfAConsoleSharesAThreadForItAndAConnection() {
    try (RedisProcess server = RedisProcess.start(newest())) {
      Set<Thread> before = threads();
      Store store = RedisStore.builder(server.uri()).reports(true).overrides(true).build();
      try (Limiter limiter = Limiter.owning(store, RULES)) {
        use(limiter);
        awaitStarted(server);

        Cost cost = whileIdle(before, List.of(server));

        cost.print("with reports and overrides, after decide");
        assertThat(cost.threads())
            .filteredOn(name -> !isOfTheJvm(name))
            .hasSizeLessThanOrEqualTo(8);
        assertThat(cost.connections()).isLessThanOrEqualTo(3);
      }
    }
  }

  @Test
  void idleStoreIsQuietOnACluster() {
    RedisCluster cluster = RedisServers.cluster(newest());
    List<RedisProcess> masters = cluster.masters();
    long others = connections(masters);
    Set<Thread> before = threads();
    try (Limiter limiter = Limiter.owning(RedisStore.connect(cluster.uri()), RULES)) {
      use(limiter);
      awaitStarted(cluster.ownerOf(SlotHash.getSlot(Keyspace.LIBRARIES)));

      Cost cost = whileIdle(before, masters);

      cost.print("on a Cluster of three masters");
      assertThat(cost.connections() - others).isLessThanOrEqualTo(3L * masters.size());
      assertThat(cost.commandsPerSecond()).isLessThanOrEqualTo(0.5);
    }
  }
}
