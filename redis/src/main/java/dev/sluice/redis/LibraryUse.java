package dev.sluice.redis;

import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.Library;
import io.lettuce.core.ScriptOutputType;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Records once an hour which library this node uses; {@link RedisLibraries} reads it. */
final class LibraryUse {
  /*
   * One sorted set for all nodes, also in a Cluster, because a node uses its library on every
   * master. Member = the name of the library, score = when a node last used it, in seconds of the
   * clock of Redis. A failed write does no harm: a library that was removed is loaded again.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LibraryUse.class);
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(5);
  private static final Duration PAUSE = Duration.ofHours(1);
  private static final Duration RETRY_PAUSE = Duration.ofMinutes(1);
  private static final Duration MEMORY = Duration.ofDays(7);
  private static final int MOST = 100;

  /** A value of another type is replaced. */
  private static final String NOTE =
      """
      local seconds = redis.call('TIME')[1]
      if type(redis.pcall('ZADD', KEYS[1], seconds, ARGV[1])) ~= 'number' then
        redis.call('DEL', KEYS[1])
        redis.call('ZADD', KEYS[1], seconds, ARGV[1])
      end
      redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[2])
      redis.call('PEXPIRE', KEYS[1], ARGV[3])
      return 1
      """;

  private final Topology topology;
  private final BooleanSupplier usesFunctions;
  private final Duration pause;

  private LibraryUse(Topology topology, BooleanSupplier usesFunctions, Duration pause) {
    this.topology = topology;
    this.usesFunctions = usesFunctions;
    this.pause = pause;
  }

  /**
   * Starts recording.
   *
   * @param usesFunctions whether this node uses the library
   */
  static void start(Topology topology, BooleanSupplier usesFunctions) {
    start(topology, usesFunctions, FIRST_PAUSE, PAUSE);
  }

  static void start(
      Topology topology, BooleanSupplier usesFunctions, Duration firstPause, Duration pause) {
    topology.soon(firstPause, new LibraryUse(topology, usesFunctions, pause)::note);
  }

  private void note() {
    if (!usesFunctions.getAsBoolean()) {
      topology.soon(pause, this::note);
      return;
    }
    CompletionStage<?> unused =
        written()
            .whenComplete(
                (done, error) -> {
                  if (error != null) {
                    LOG.debug("Could not write {}", Keyspace.LIBRARIES, error);
                  }
                  topology.soon(error == null ? pause : RETRY_PAUSE, this::note);
                });
  }

  private CompletionStage<Long> written() {
    try {
      return topology
          .commands()
          .eval(
              NOTE,
              ScriptOutputType.INTEGER,
              new String[] {Keyspace.LIBRARIES},
              Library.NAME,
              Integer.toString(MOST),
              Long.toString(MEMORY.toMillis()));
    } catch (RuntimeException away) {
      return CompletableFuture.failedFuture(away);
    }
  }
}
