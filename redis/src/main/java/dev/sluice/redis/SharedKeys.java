package dev.sluice.redis;

import dev.sluice.internal.Daemon;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Random 256-bit keys that all services on one Redis share, to sign receipts: the current key and
 * the previous one. Anyone who can read the keys of Sluice in Redis can read them. Thread-safe.
 *
 * <p>Until Redis is reached, the key belongs to this process alone, and only this process accepts
 * what it signs.
 */
public final class SharedKeys implements AutoCloseable {
  /*
   * The keys are one string without a TTL, "current" or "current previous", each as 64 hex digits.
   * SET NX creates the first one, so services that start together agree. Every service reads it
   * once a second and writes it back if it is missing.
   *
   * If a service signed with a new key before others have seen it, they would refuse its receipts.
   * So for SPREAD a new key only verifies, and the previous one still signs.
   */
  /** The length of a key in bytes. */
  public static final int BYTES = 32;

  private static final Logger LOG = LoggerFactory.getLogger(SharedKeys.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration SPREAD = Duration.ofSeconds(5);
  private static final Pattern TEXT = Pattern.compile("[0-9a-f]{64}( [0-9a-f]{64})?");

  /** Makes a new key the current one; a value that is not ours is replaced. */
  private static final String ROTATE =
      """
      local known = redis.pcall('GET', KEYS[1])
      local current = type(known) == 'string' and string.match(known, '^('..string.rep('[0-9a-f]', 64)..')')
      redis.call('SET', KEYS[1], ARGV[1] .. (current and ' ' .. current or ''))
      return 1
      """;

  private final Topology topology;
  private final ScheduledExecutorService thread = Daemon.scheduled("sluice-keys");
  private final byte[] own = HexFormat.of().parseHex(random(BYTES));
  private volatile List<byte[]> keys = List.of(own);

  // Used by one thread at a time: by open(), then by the scheduled thread.
  private String known = "";
  private long knownSinceNanos;
  private String trouble = "";

  private SharedKeys(String uri) {
    this.topology = Topology.connect(uri, false);
  }

  /**
   * Reads the keys in Redis and follows their changes. If Redis cannot be reached, keeps trying.
   *
   * @param uri as for {@link RedisStore#builder}
   */
  public static SharedKeys open(String uri) {
    SharedKeys opened = new SharedKeys(Objects.requireNonNull(uri, "uri"));
    opened.look();
    ScheduledFuture<?> unused =
        opened.thread.scheduleWithFixedDelay(
            opened::look, INTERVAL.toMillis(), INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
    return opened;
  }

  /** Random bytes as hex digits. */
  static String random(int bytes) {
    byte[] key = new byte[bytes];
    new SecureRandom().nextBytes(key);
    return HexFormat.of().formatHex(key);
  }

  /** All known keys; the first one signs. Returns the same list until the keys change. */
  public List<byte[]> keys() {
    return keys;
  }

  /**
   * Rotates the keys: adds a new key and drops the oldest. Every service knows the new key within
   * two seconds and signs with it a few seconds later. Receipts that the current key signed stay
   * valid.
   */
  public CompletionStage<Void> rotate() {
    try {
      return CompletableFuture.runAsync(
          () -> {
            CompletionStage<Long> done =
                topology
                    .commands()
                    .eval(
                        ROTATE,
                        ScriptOutputType.INTEGER,
                        new String[] {Keyspace.RECEIPT_KEYS},
                        random(BYTES));
            RedisRules.await(done.toCompletableFuture());
            look();
          },
          thread);
    } catch (RejectedExecutionException closed) {
      return CompletableFuture.failedFuture(closed);
    }
  }

  private void look() {
    try {
      adopt(read());
    } catch (RuntimeException | Error e) {
      complain(String.valueOf(e.getMessage()));
    }
  }

  private String read() {
    String offered = known.isEmpty() ? random(BYTES) : known;
    return RedisRules.await(agreed(topology, Keyspace.RECEIPT_KEYS, offered).toCompletableFuture());
  }

  /**
   * The value under a key that all nodes agree on: the existing one, else the offered one or that
   * of a faster node.
   */
  static CompletionStage<String> agreed(Topology topology, String key, String offered) {
    try {
      RedisClusterAsyncCommands<String, String> redis = topology.commands();
      return redis
          .get(key)
          .thenCompose(
              found ->
                  found != null
                      ? CompletableFuture.completedFuture(found)
                      : redis
                          .set(key, offered, SetArgs.Builder.nx())
                          .thenCompose(written -> redis.get(key)))
          .thenApply(String::valueOf);
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private void adopt(String found) {
    if (!TEXT.matcher(found).matches()) {
      complain(Keyspace.RECEIPT_KEYS + " holds something else (expected: keys that Sluice wrote)");
      return;
    }
    if (!found.equals(known)) {
      known = found;
      knownSinceNanos = System.nanoTime();
    }
    List<byte[]> now = new ArrayList<>();
    for (String key : found.split(" ", -1)) {
      now.add(HexFormat.of().parseHex(key));
    }
    if (System.nanoTime() - knownSinceNanos < SPREAD.toNanos()) {
      Collections.reverse(now);
    }
    now.add(own);
    if (!Arrays.deepEquals(now.toArray(), keys.toArray())) {
      keys = List.copyOf(now);
    }
    if (!trouble.isEmpty()) {
      LOG.info("Signing receipts with the shared key in Redis at {}", topology);
      trouble = "";
    }
  }

  private void complain(String found) {
    if (!found.equals(trouble) && !thread.isShutdown()) {
      LOG.warn(
          "Cannot read the receipt keys in Redis at {}: {}; {}",
          topology,
          found,
          known.isEmpty()
              ? "until then, only this process can settle its receipts"
              : "using the keys from before");
      trouble = found;
    }
  }

  @Override
  public void close() {
    thread.shutdownNow();
    topology.close();
  }
}
