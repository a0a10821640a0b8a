package dev.sluice.redis;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.rules.RuleFiles;
import dev.sluice.rules.source.PolledRules;
import io.lettuce.core.SetArgs;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rules that are stored in Redis and shared by all nodes. Published rules are in force on every
 * node within a second and survive restarts. Thread-safe.
 *
 * <p>While Redis does not answer or holds no valid rule file, the last good rules stay in force,
 * and {@link #failure()} says why. If the rules are deleted, running nodes write them back.
 */
public final class RedisRules implements RuleSource {
  /*
   * The rule file is one string, which each node reads twice a second. A message would be faster,
   * but a lost message would leave a node behind for ever. The key has no TTL: rules stay until
   * others are published.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RedisRules.class);
  private static final Duration INTERVAL = Duration.ofMillis(500);
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final Topology topology;
  private final PolledRules polled;
  private volatile @Nullable Failure absence;
  private @Nullable String text;
  private Rules rules = Rules.NONE;

  private RedisRules(String uri) {
    this.topology = Topology.connect(uri, false);
    this.polled = PolledRules.every(INTERVAL, this::fetch, Rules.NONE);
  }

  /**
   * Reads the rules in Redis and follows their changes. There are no rules until some are
   * published; {@link #failure()} says so.
   *
   * @param uri as for {@link RedisStore#builder}
   */
  public static RedisRules watch(String uri) {
    return new RedisRules(Objects.requireNonNull(uri, "uri"));
  }

  /**
   * Publishes the text of a rule file to all nodes.
   *
   * @throws IllegalArgumentException if it is invalid; then nothing changes
   */
  public void publish(String text) {
    parse(text);
    await(topology.commands().set(Keyspace.RULES, text).toCompletableFuture());
  }

  /** Called by one thread at a time. */
  private Rules fetch() {
    try {
      read();
      absence = null;
    } catch (NoRules e) {
      String message = String.valueOf(e.getMessage());
      Failure before = absence;
      if (before == null || !before.message().equals(message)) {
        LOG.error("{}; the rules from before stay in force", message);
      }
      absence = new Failure(before == null ? Instant.now() : before.since(), message);
    }
    return rules;
  }

  /** Reads the text in Redis, up to the size of a rule file, and parses it if it is new. */
  private void read() {
    String found;
    try {
      found =
          await(
              topology
                  .commands()
                  .getrange(Keyspace.RULES, 0, RuleFiles.LARGEST_BYTES)
                  .toCompletableFuture());
    } catch (StoreFault fault) {
      throw fault.kind().equals("wrongtype")
          ? new NoRules(" is not a string (expected: the text of a rule file)")
          : fault;
    }
    if (found.isEmpty()) {
      putBack(text);
    } else if (!found.equals(text)) {
      rules = parse(found);
      text = found;
    }
  }

  private static Rules parse(String text) {
    if (text.getBytes(StandardCharsets.UTF_8).length > RuleFiles.LARGEST_BYTES) {
      throw new NoRules(
          " has too many bytes (expected: at most %,d)".formatted(RuleFiles.LARGEST_BYTES));
    }
    return RuleFiles.parse(Keyspace.RULES, text);
  }

  /** Writes the last good text back if there is none, so that new nodes find it. */
  private void putBack(@Nullable String last) {
    if (last == null) {
      throw new NoRules(": no rules are published there (expected: the text of a rule file)");
    }
    String done =
        await(
            topology
                .commands()
                .set(Keyspace.RULES, last, SetArgs.Builder.nx())
                .toCompletableFuture());
    throw new NoRules(
        done != null
            ? " was deleted; this node has put its last good rules back"
            : " was empty or deleted (expected: the text of a rule file)");
  }

  /** The value under the key is no valid rule file. */
  private static final class NoRules extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    NoRules(String reason) {
      super(Keyspace.RULES + reason);
    }
  }

  /**
   * Waits for the answer to a command of an operator; throws a {@link StoreFault} if there is none.
   */
  static <T extends @Nullable Object> T await(CompletableFuture<T> answer) {
    try {
      return answer.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw StoreFault.of(e.getCause() == null ? e : e.getCause());
    } catch (TimeoutException e) {
      throw StoreFault.of(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw StoreFault.of(e);
    }
  }

  @Override
  public Rules rules() {
    return polled.rules();
  }

  @Override
  public Optional<Failure> failure() {
    return polled.failure().or(() -> Optional.ofNullable(absence));
  }

  @Override
  public void require(Consumer<Rules> check) {
    polled.require(check);
  }

  @Override
  public void close() {
    polled.close();
    topology.close();
  }
}
