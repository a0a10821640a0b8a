package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Account;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.outage.DenialCache;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess.Binary;
import dev.sluice.redis.testing.RedisServers;
import dev.sluice.redis.wire.Keyspace;
import io.lettuce.core.RedisClient;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Refunds are published by the script that makes them. */
@ExtendWith(RedisServers.class)
class AnnouncementsIT {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Identity ANN = Identity.of("member", "a:b c", "ip", "::1");

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void resetsLocksLiftsAndRefundsArePublishedByTheScriptItself(Binary binary) {
    announces(RedisServers.single(binary).uri(), RedisServers.single(binary).uri());
  }

  @ParameterizedTest
  @MethodSource("dev.sluice.redis.testing.RedisProcess#binaries")
  void theyArriveAtEveryNodeOfACluster(Binary binary) {
    RedisCluster cluster = RedisServers.cluster(binary);
    cluster.masters().forEach(node -> announces(cluster.uri(), node.uri()));
  }

  private static void announces(String uri, String listened) {
    RedisClient client = RedisClient.create(listened);
    Queue<String> heard = new ConcurrentLinkedQueue<>();
    Rule plain = Rule.builder("plain").limit(Limit.tokenBucket(5, 5, HOUR)).by("member+ip").build();
    Rule colocated =
        Rule.builder("colocated")
            .limit(Limit.slidingLog(5, HOUR))
            .by("member+ip")
            .colocate()
            .build();
    try (LettuceStore store = RedisStore.builder(uri).buildBare(); // only the scripts announce
        Limiter limiter = Limiter.owning(store, Rules.of(plain, colocated));
        StatefulRedisPubSubConnection<String, String> listener = client.connectPubSub()) {
      listener.addListener(
          new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
              heard.add(message);
            }
          });
      listener.sync().subscribe(Keyspace.REFUNDS);
      for (Rule rule : List.of(plain, colocated)) {
        Account account = new Account(rule.name(), ANN, rule.colocate());
        Decision two = limiter.decide(Call.of(rule.name(), ANN).costing(2));
        var receipt = ((Decision.Allowed) two).receipt();
        List<Consumer<Limiter>> refunds =
            List.of(
                node -> node.settle(receipt, 1),
                node -> node.lock(rule.name(), ANN, HOUR, "by hand"),
                node -> node.lift(rule.name(), ANN),
                node -> node.reset(rule.name(), ANN));
        for (Consumer<Limiter> refund : refunds) {
          heard.clear();
          refund.accept(limiter);
          RedisCluster.await(() -> !heard.isEmpty());
          assertThat(heard).containsExactly(DenialCache.text(account));
          assertThat(DenialCache.account(heard.peek())).isEqualTo(account);
        }
        heard.clear();
        limiter.settle(receipt, 1);
        limiter.decide(rule.name(), ANN);
        limiter.reset("plain", ANN);
        RedisCluster.await(() -> !heard.isEmpty());
        assertThat(heard)
            .as("settled again, nothing comes back")
            .containsExactly(DenialCache.text(new Account("plain", ANN)));
      }
    } finally {
      client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
    }
  }
}
