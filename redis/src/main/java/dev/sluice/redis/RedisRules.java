package dev.sluice.redis;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.rules.PolledRules;
import dev.sluice.rules.RuleFiles;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Rules that are kept in Redis and shared by all nodes: published once, live on every node within a
 * second, kept over restarts. Thread-safe.
 *
 * <p>While Redis is silent or holds what is no rule file, the last good rules go on.
 */
public final class RedisRules implements RuleSource {
  /*
   * The text of a rule file under one key, and each node looks at it twice a second. A look is one
   * small GET; an announcement would be faster, but a lost one would leave a node behind for ever.
   * It is the only key of Sluice without a TTL.
   */
  private static final Duration INTERVAL = Duration.ofMillis(500);
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final Topology topology;
  private final PolledRules polled;
  private @Nullable String text;
  private Rules rules = Rules.NONE;

  private RedisRules(String uri) {
    this.topology = Topology.connect(uri, false);
    this.polled = PolledRules.every(INTERVAL, this::fetch, Rules.NONE);
  }

  /** The rules of a Redis, from now on; none until some are published there. */
  public static RedisRules watch(String uri) {
    return new RedisRules(uri);
  }

  /**
   * Puts the text of a rule file in force on every node.
   *
   * @throws dev.sluice.rules.RuleErrors if it is not a good one; then nothing changes
   */
  public void publish(String text) {
    RuleFiles.parse(Keyspace.RULES, text);
    await(topology.commands().set(Keyspace.RULES, text).toCompletableFuture());
  }

  /** Called by one thread at a time; parses only what is new. */
  private Rules fetch() {
    String found = await(topology.commands().get(Keyspace.RULES).toCompletableFuture());
    if (found != null && !found.equals(text)) {
      rules = RuleFiles.parse(Keyspace.RULES, found);
      text = found;
    }
    return rules;
  }

  private static <T> T await(CompletableFuture<T> answer) {
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
    return polled.failure();
  }

  @Override
  public void close() {
    polled.close();
    topology.close();
  }
}
