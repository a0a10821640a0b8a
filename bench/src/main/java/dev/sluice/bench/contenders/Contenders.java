package dev.sluice.bench.contenders;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.bench.load.ClosedLoop;
import dev.sluice.bench.load.Contender;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.RedisStoreBuilder;
import dev.sluice.store.Store;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.distributed.AsyncBucketProxy;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.distributed.proxy.AsyncProxyManager;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.distributed.proxy.optimization.NopeOptimizationListener;
import io.github.bucket4j.distributed.proxy.optimization.Optimization;
import io.github.bucket4j.distributed.proxy.optimization.Optimizations;
import io.github.bucket4j.distributed.proxy.optimization.skiponzero.SkipSyncOnZeroOptimization;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.resource.EpollProvider;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.redisson.Redisson;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.TransportMode;
import org.springframework.cloud.gateway.filter.ratelimit.RateLimiter;
import org.springframework.cloud.gateway.filter.ratelimit.RedisRateLimiter;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.ReactiveStringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.core.script.RedisScript;

/** All contenders, each with the default settings of its client. */
public final class Contenders {
  private Contenders() {}

  /** The limit of each contender, in its own terms. */
  public record Allowance(long capacity, long refill, Duration period) {}

  /** No limiter but a baseline: one small command through the same client. */
  public static Contender incr(String uri) {
    RedisClient client = RedisClient.create(uri);
    StatefulRedisConnection<String, String> connection = client.connect();
    return new Plain(
        "INCR",
        identity -> connection.async().incr("n:" + identity).thenApply(count -> true),
        identity -> connection.sync().incr("n:" + identity) > 0,
        () -> client.shutdown(0, 1, TimeUnit.SECONDS));
  }

  /** Sluice by a rule that counts by {@code login}. */
  public static Contender sluice(String name, String uri, Rule rule) {
    return sluice(name, store(uri).build(), rule, Contenders::login);
  }

  /** Sluice on a store, which is closed with it. */
  public static Contender sluice(
      String name, Store store, Rule rule, Function<String, Identity> identity) {
    Limiter limiter = Limiter.owning(store, Rules.of(rule));
    return new Plain(
        name,
        key ->
            limiter
                .decideAsync(Call.of(rule.name(), identity.apply(key)))
                .thenApply(Contenders::metered),
        key -> metered(limiter.decide(rule.name(), identity.apply(key))),
        limiter::close);
  }

  /** A store with a longer deadline, so that on a busy machine Sluice does not skip Redis. */
  public static RedisStoreBuilder store(String uri) {
    return RedisStore.builder(uri).deadline(Duration.ofSeconds(20));
  }

  public static Identity login(String name) {
    return Identity.of("login", name);
  }

  /** Sluice with a cost for each call. */
  public static Contender costing(String name, String uri, Rule rule, LongSupplier cost) {
    Limiter limiter = Limiter.owning(store(uri).build(), Rules.of(rule));
    return new Plain(
        name,
        key ->
            limiter
                .decideAsync(Call.of(rule.name(), login(key)).costing(cost.getAsLong()))
                .thenApply(Contenders::metered),
        limiter::close);
  }

  /** Sluice with a refund after each call, so that the usage of its accounts stays the same. */
  public static Contender borrowing(String name, String uri, Rule rule) {
    Limiter limiter = Limiter.owning(store(uri).cacheDenials(false).build(), Rules.of(rule));
    return new Plain(
        name,
        key ->
            limiter
                .decideAsync(Call.of(rule.name(), login(key)))
                .thenCompose(
                    decision ->
                        decision instanceof Decision.Allowed allowed
                            ? limiter.refundAsync(allowed.receipt())
                            : CompletableFuture.completedFuture(metered(decision))),
        limiter::close);
  }

  private static boolean metered(Decision decision) {
    if (decision instanceof Decision.Unmetered unmetered) {
      throw new IllegalStateException(unmetered.reason());
    }
    if (decision.countedBy() == Decision.CountedBy.LOCAL) {
      throw new IllegalStateException("counted by this node, not by the store");
    }
    return decision.allowed();
  }

  /** As its manual shows: a proxy for each call, over one connection. */
  public static Contender bucket4j(String uri, Allowance allowance) {
    RedisClient client = RedisClient.create(uri);
    ProxyManager<String> waiting = buckets(client);
    AsyncProxyManager<String> buckets = waiting.asAsync();
    BucketConfiguration configuration = configuration(allowance);
    return new Plain(
        "Bucket4j",
        identity ->
            buckets
                .builder()
                .build("b:" + identity, () -> CompletableFuture.completedFuture(configuration))
                .tryConsume(1),
        identity -> waiting.builder().build("b:" + identity, () -> configuration).tryConsume(1),
        () -> client.shutdown(0, 1, TimeUnit.SECONDS));
  }

  /** Bucket4j with its batching of calls on one key. */
  public static Contender batchingBucket4j(String uri, Allowance allowance) {
    return optimized("Bucket4j batching", uri, allowance, Optimizations.batching());
  }

  /** Bucket4j with its local memory of empty buckets, which are denied without Redis. */
  public static Contender skippingBucket4j(String uri, Allowance allowance) {
    return optimized(
        "Bucket4j skipping",
        uri,
        allowance,
        new SkipSyncOnZeroOptimization(
            NopeOptimizationListener.INSTANCE, TimeMeter.SYSTEM_MILLISECONDS));
  }

  /** Its optimization keeps state in the proxy, so the proxies are reused. */
  private static Contender optimized(
      String name, String uri, Allowance allowance, Optimization optimization) {
    RedisClient client = RedisClient.create(uri);
    AsyncProxyManager<String> buckets = buckets(client).asAsync();
    BucketConfiguration configuration = configuration(allowance);
    String prefix = name.replace(' ', '-') + ":";
    ConcurrentHashMap<String, AsyncBucketProxy> kept = new ConcurrentHashMap<>();
    return new Plain(
        name,
        identity ->
            kept.computeIfAbsent(
                    identity,
                    key ->
                        buckets
                            .builder()
                            .withOptimization(optimization)
                            .build(
                                prefix + key,
                                () -> CompletableFuture.completedFuture(configuration)))
                .tryConsume(1),
        () -> client.shutdown(0, 1, TimeUnit.SECONDS));
  }

  private static ProxyManager<String> buckets(RedisClient client) {
    StatefulRedisConnection<String, byte[]> connection =
        client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE));
    return Bucket4jLettuce.casBasedBuilder(connection)
        .expirationAfterWrite(
            ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(
                Duration.ofSeconds(1)))
        .build();
  }

  private static BucketConfiguration configuration(Allowance allowance) {
    return BucketConfiguration.builder()
        .addLimit(
            limit ->
                limit.capacity(allowance.capacity).refillGreedy(allowance.refill, allowance.period))
        .build();
  }

  public static Contender redisson(String uri, Allowance allowance) {
    Config config = new Config();
    config.useSingleServer().setAddress(uri);
    if (EpollProvider.isAvailable()) {
      config.setTransportMode(TransportMode.EPOLL); // what the other clients take by themselves
    }
    return new OnRedisson(Redisson.create(config), RedisClient.create(uri), allowance);
  }

  /** Spring Cloud Gateway's limiter has whole tokens a second: one, and the same capacity. */
  public static Contender gateway(String uri, Allowance allowance) {
    int port = Integer.parseInt(uri.substring(uri.lastIndexOf(':') + 1));
    LettuceConnectionFactory factory = new LettuceConnectionFactory("127.0.0.1", port);
    factory.afterPropertiesSet();
    factory.start();
    DefaultRedisScript<List<Long>> script = new DefaultRedisScript<>();
    script.setLocation(new ClassPathResource("META-INF/scripts/request_rate_limiter.lua"));
    @SuppressWarnings({"unchecked", "rawtypes"})
    Class<List<Long>> list = (Class) List.class;
    script.setResultType(list);
    GenericApplicationContext context = new GenericApplicationContext();
    context.registerBean(
        ReactiveStringRedisTemplate.class, () -> new ReactiveStringRedisTemplate(factory));
    context.registerBean(RedisRateLimiter.REDIS_SCRIPT_NAME, RedisScript.class, () -> script);
    context.refresh();
    RedisRateLimiter limiter = new RedisRateLimiter(1, allowance.capacity);
    limiter.setApplicationContext(context);
    return new Plain(
        "Gateway",
        identity ->
            limiter.isAllowed("bench", identity).map(RateLimiter.Response::isAllowed).toFuture(),
        identity ->
            limiter
                .isAllowed("bench", identity)
                .map(RateLimiter.Response::isAllowed)
                .blockOptional()
                .orElse(false),
        () -> {
          context.close();
          factory.destroy();
        });
  }

  /** The same contender, always asynchronous, even with one call in flight. */
  public static Contender asynchronous(Contender contender) {
    return new Changed(contender, inFlight -> contender::decide);
  }

  /** The same contender, of which every call must be denied. */
  public static Contender denied(Contender contender) {
    return new Changed(
        contender, inFlight -> key -> contender.decide(key).thenApply(passed -> !passed));
  }

  /** The same contender, after something that is not measured. */
  public static Contender after(Runnable before, Contender contender) {
    return new Changed(
        contender,
        inFlight -> {
          before.run();
          return contender.asked(inFlight);
        });
  }

  /**
   * A contender that is asked in another way.
   *
   * @param asking the way, by the number of calls in flight
   */
  private record Changed(
      Contender contender, IntFunction<Function<String, CompletionStage<Boolean>>> asking)
      implements Contender {
    @Override
    public String name() {
      return contender.name();
    }

    @Override
    public void prepare(String... identities) {
      contender.prepare(identities);
    }

    @Override
    public CompletionStage<Boolean> decide(String identity) {
      return contender.decide(identity);
    }

    @Override
    public boolean await(String identity) {
      return contender.await(identity);
    }

    @Override
    public Function<String, CompletionStage<Boolean>> asked(int inFlight) {
      return asking.apply(inFlight);
    }

    @Override
    public void close() {
      contender.close();
    }
  }

  /** A contender that needs no preparation. */
  private record Plain(
      String name,
      Function<String, CompletionStage<Boolean>> asking,
      Predicate<String> waiting,
      Runnable closing)
      implements Contender {
    /** A contender without a blocking method. */
    Plain(String name, Function<String, CompletionStage<Boolean>> asking, Runnable closing) {
      this(name, asking, key -> asking.apply(key).toCompletableFuture().join(), closing);
    }

    @Override
    public CompletionStage<Boolean> decide(String identity) {
      return asking.apply(identity);
    }

    @Override
    public boolean await(String identity) {
      return waiting.test(identity);
    }

    @Override
    public void close() {
      closing.run();
    }
  }

  /**
   * Redisson needs the rate of each limiter set once, which is not measured. It stores every permit
   * until its period ends, so the period is longer than the measurement.
   */
  private record OnRedisson(RedissonClient client, RedisClient copying, Allowance allowance)
      implements Contender {
    @Override
    public String name() {
      return "Redisson";
    }

    /**
     * Sets the rate of the first limiter and copies it for the others, which is ten times faster.
     */
    @Override
    public void prepare(String... identities) {
      String first = "r:" + identities[0];
      client
          .getRateLimiter(first)
          .trySetRate(RateType.OVERALL, allowance.capacity, Duration.ofHours(1));
      try (StatefulRedisConnection<String, String> connection = copying.connect()) {
        String[] others = Arrays.copyOfRange(identities, 1, identities.length);
        ClosedLoop.each(name -> connection.async().copy(first, "r:" + name), others, 512);
      }
    }

    @Override
    public CompletionStage<Boolean> decide(String identity) {
      return client.getRateLimiter("r:" + identity).tryAcquireAsync();
    }

    @Override
    public boolean await(String identity) {
      return client.getRateLimiter("r:" + identity).tryAcquire();
    }

    @Override
    public void close() {
      client.shutdown(0, 1, TimeUnit.SECONDS);
      copying.shutdown(0, 1, TimeUnit.SECONDS);
    }
  }
}
