package dev.sluice.redis;

import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Random keys of 256 bits that all services of one Redis share, to seal receipts with: the current
 * one and the one before it. Whoever can read Sluice's keys in Redis can read them. Thread-safe.
 *
 * <p>Until Redis was reached there is a key of this process alone; what it seals only this process
 * can open.
 */
public final class SharedKeys implements AutoCloseable {
  /*
   * One string without a TTL, "current" or "current previous", each key as 64 hex digits. SET NX
   * makes the first one, so that services that start at once agree. Every service looks at it once a
   * second; one that finds it gone puts back what it knows.
   *
   * A service that seals with a new key before the others have seen it would write receipts that they
   * refuse. So for SPREAD a new key only opens, and the one before it goes on sealing.
   */
  /** The length of a key. */
  public static final int BYTES = 32;

  private static final Logger LOG = LoggerFactory.getLogger(SharedKeys.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration SPREAD = Duration.ofSeconds(5);
  private static final Pattern TEXT = Pattern.compile("[0-9a-f]{64}( [0-9a-f]{64})?");

  /** Puts a new key before the current one; whatever is not ours is replaced. */
  private static final String ROTATE =
      """
      local known = redis.pcall('GET', KEYS[1])
      local current = type(known) == 'string' and string.match(known, '^('..string.rep('[0-9a-f]', 64)..')')
      redis.call('SET', KEYS[1], ARGV[1] .. (current and ' ' .. current or ''))
      return 1
      """;

  private final Topology topology;
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(SharedKeys::daemon);
  private final byte[] own = HexFormat.of().parseHex(random(BYTES));
  private volatile List<byte[]> keys = List.of(own);

  // Used by one thread at a time: the one that opens, then the one above.
  private String known = "";
  private long knownSinceNanos;
  private String trouble = "";

  private SharedKeys(String uri) {
    this.topology = Topology.connect(uri, false);
  }

  /** The keys of a Redis, from now on. One that cannot be reached is tried again and again. */
  public static SharedKeys open(String uri) {
    SharedKeys opened = new SharedKeys(uri);
    opened.look();
    ScheduledFuture<?> unused =
        opened.thread.scheduleWithFixedDelay(
            opened::look, INTERVAL.toMillis(), INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
    return opened;
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "sluice-keys");
    thread.setDaemon(true);
    return thread;
  }

  /** So many random bytes, as hex digits. */
  static String random(int bytes) {
    byte[] key = new byte[bytes];
    new SecureRandom().nextBytes(key);
    return HexFormat.of().formatHex(key);
  }

  /** Every key that is known here; the first seals. The same list until the keys change. */
  public List<byte[]> keys() {
    return keys;
  }

  /**
   * Takes a new key. Every service knows it within two seconds and seals with it a little later;
   * the current key still opens what it sealed, the one before it no longer does.
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
    return agreed(topology, Keyspace.RECEIPT_KEYS, known.isEmpty() ? random(BYTES) : known);
  }

  /** What all nodes have under a key: if there is nothing, what this one offers or a faster one. */
  static String agreed(Topology topology, String key, String offered) {
    String found = RedisRules.await(topology.commands().get(key).toCompletableFuture());
    if (found == null) {
      RedisRules.await(
          topology.commands().set(key, offered, SetArgs.Builder.nx()).toCompletableFuture());
      found = RedisRules.await(topology.commands().get(key).toCompletableFuture());
    }
    return String.valueOf(found);
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
      LOG.info("Receipts are sealed with the key in Redis at {}", topology);
      trouble = "";
    }
  }

  private void complain(String found) {
    if (!found.equals(trouble) && !thread.isShutdown()) {
      LOG.warn(
          "The receipt keys in Redis at {} cannot be read: {}; {}",
          topology,
          found,
          known.isEmpty()
              ? "until they can, only this process can settle its receipts"
              : "those known before are used");
      trouble = found;
    }
  }

  @Override
  public void close() {
    thread.shutdownNow();
    topology.close();
  }
}
