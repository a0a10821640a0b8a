package dev.sluice.redis;

import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.Library;
import dev.sluice.redis.wire.Link;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.redis.wire.Utf8;
import io.lettuce.core.ScoredValue;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * The function libraries that versions of Sluice have loaded into a Redis, and when each was last
 * used. For operators. Errors of Redis are thrown as {@link StoreFault}. Thread-safe.
 */
public final class RedisLibraries implements AutoCloseable {
  /*
   * Only names that Sluice can have chosen are listed and removed: a library of somebody else may
   * be called sluice_something. In a Cluster each master has its own libraries; their last use is
   * recorded once for all masters (see LibraryUse).
   */
  /** The shortest safe age: nodes record their use once an hour, and one record may be missed. */
  public static final Duration SHORTEST_AGE = Duration.ofHours(2);

  private static final Duration RETRY_PAUSE = Duration.ofMillis(50);
  private static final Pattern NAME = Pattern.compile(Library.PREFIX + "[0-9a-f]{16}");
  private static final String RIGHTS = "+function|list +function|delete +zrange +time";

  private final Topology topology;

  private RedisLibraries(Topology topology) {
    this.topology = topology;
  }

  /**
   * A library.
   *
   * @param name its name in Redis
   * @param masters how many masters have it; 1 if Redis is no Cluster
   * @param unused how long ago a node last recorded its use; empty if none did for a week
   */
  public record Found(String name, int masters, Optional<Duration> unused) {
    private boolean isOlderThan(Duration age) {
      return unused.isEmpty() || unused.get().compareTo(age) > 0;
    }
  }

  /**
   * The libraries that were removed, and those that were kept.
   *
   * @param removed libraries that no node uses any more
   * @param kept all others
   */
  public record Pruned(List<Found> removed, List<Found> kept) {
    /** Copies the lists. */
    public Pruned {
      removed = List.copyOf(removed);
      kept = List.copyOf(kept);
    }
  }

  /** Connects to a Redis; the URI is as for {@link RedisStore#builder}. */
  public static RedisLibraries at(String uri) {
    Topology topology = Topology.connect(Objects.requireNonNull(uri, "uri"), false);
    StoreFault unreached = topology.unreached();
    if (unreached != null) {
      topology.close();
      throw unreached;
    }
    return new RedisLibraries(topology);
  }

  /** The number of masters; 1 if Redis is no Cluster. */
  public int masters() {
    return topology.masters().size();
  }

  /** All libraries of Sluice, sorted by name. */
  public List<Found> list() {
    Map<String, Integer> masters = new TreeMap<>();
    for (List<Map<String, Object>> libraries :
        onEveryMaster(commands -> commands.functionList(Library.PREFIX + "*"))) {
      for (Map<String, Object> library : libraries) {
        String name = String.valueOf(library.get("library_name"));
        if (NAME.matcher(name).matches()) {
          masters.merge(name, 1, Integer::sum);
        }
      }
    }
    Map<String, Duration> unused = unused();
    List<Found> found = new ArrayList<>();
    masters.forEach(
        (name, on) -> found.add(new Found(name, on, Optional.ofNullable(unused.get(name)))));
    return found;
  }

  /** How long ago each library was last used. */
  private Map<String, Duration> unused() {
    List<String> time = answer(() -> topology.commands().time());
    long now = Long.parseLong(time.get(0)); // seconds, then microseconds
    Map<String, Duration> unused = new HashMap<>();
    for (ScoredValue<String> use :
        answer(() -> topology.commands().zrangeWithScores(Keyspace.LIBRARIES, 0, -1))) {
      unused.put(use.getValue(), Duration.ofSeconds(Math.max(0, now - (long) use.getScore())));
    }
    return unused;
  }

  /**
   * Removes the libraries that no node has used for a time. A node that still needs one loads it
   * again.
   *
   * @param age with less than {@link #SHORTEST_AGE}, libraries in use are removed, too
   */
  public Pruned prune(Duration age) {
    List<Found> removed = new ArrayList<>();
    List<Found> kept = new ArrayList<>();
    for (Found library : list()) {
      if (library.isOlderThan(age)) {
        onEveryMaster(commands -> delete(commands, library.name));
        removed.add(library);
      } else {
        kept.add(library);
      }
    }
    return new Pruned(removed, kept);
  }

  private static CompletionStage<String> delete(
      RedisClusterAsyncCommands<String, String> commands, String name) {
    CommandArgs<String, String> args = new CommandArgs<>(Utf8.CODEC).add("DELETE").add(name);
    return commands
        .dispatch(CommandType.FUNCTION, new StatusOutput<>(Utf8.CODEC), args)
        .exceptionally(
            error -> {
              if (Link.isFault(error, "ERR Library not found")) {
                return "gone"; // this master never had it, or another client removed it
              }
              throw StoreFault.of(error);
            });
  }

  private <T> List<T> onEveryMaster(
      Function<RedisClusterAsyncCommands<String, String>, CompletionStage<T>> step) {
    List<T> answers = new ArrayList<>();
    topology.masters().values().forEach(node -> answers.add(answer(() -> node.thenCompose(step))));
    return answers;
  }

  private <T> T answer(Supplier<CompletionStage<T>> question) {
    long end = System.nanoTime() + OperatorCalls.PATIENCE.toNanos();
    while (true) {
      try {
        return RedisRules.await(question.get().toCompletableFuture());
      } catch (StoreFault fault) {
        // The client rejects commands while it connects to a node for the first time.
        if (!fault.kind().equals("disconnected") || System.nanoTime() > end) {
          throw explained(fault);
        }
        LockSupport.parkNanos(RETRY_PAUSE.toNanos());
      }
    }
  }

  private StoreFault explained(StoreFault fault) {
    if (Link.isFault(fault.getCause(), "ERR unknown command")) {
      return new StoreFault(
          fault.kind(),
          false,
          "Redis at %s has no functions (expected: Redis 7 or newer): there is nothing to remove"
              .formatted(topology),
          fault);
    }
    return fault.kind().equals("noperm")
        ? new StoreFault(
            fault.kind(), false, "%s (needed: %s)".formatted(fault.getMessage(), RIGHTS), fault)
        : fault;
  }

  @Override
  public void close() {
    topology.close();
  }
}
