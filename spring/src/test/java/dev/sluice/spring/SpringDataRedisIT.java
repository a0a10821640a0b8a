package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.metrics.Metrics;
import dev.sluice.redis.testing.RedisCluster;
import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.redis.testing.RedisSentinels;
import dev.sluice.spring.boot.StoreSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** {@code sluice.store=spring}: the Redis that the application has named already. */
@ExtendWith(OutputCaptureExtension.class)
class SpringDataRedisIT {
  /** What a password may hold and a URI may not. */
  private static final String PASSWORD = "p@s:s/w,ö%+";

  static class Work {
    @RateLimit(value = "Play", by = "member=#member")
    String play(String member) {
      return member;
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Main {
    @Bean
    Work work() {
      return new Work();
    }
  }

  private static App start(String... redis) {
    List<String> settings = new ArrayList<>(Arrays.asList(redis));
    settings.add("sluice.store=spring");
    settings.add("sluice.deadline=5s");
    settings.add("sluice.rules.Play.by=member");
    settings.add("sluice.rules.Play.limit=2 per 1d");
    // A store that is not reached says so: refused is something else than counted.
    settings.add("sluice.rules.Play.onStoreFailure=deny");
    return App.start(WebApplicationType.NONE, Main.class, settings.toArray(new String[0]));
  }

  /** Two pass, and the third is refused because two were counted. */
  private static void checkCounts(App app) {
    Work work = app.bean(Work.class);

    assertThat(work.play("ann")).isEqualTo("ann");
    assertThat(work.play("ann")).isEqualTo("ann");
    assertThatThrownBy(() -> work.play("ann"))
        .isInstanceOfSatisfying(
            RateLimitedException.class,
            refused -> assertThat(Metrics.outcome(refused.decision())).isEqualTo("denied"));
  }

  @Test
  void userPasswordAndDatabase(CapturedOutput output) {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest())) {
      redis.command("ACL", "SETUSER", "sh@p", "on", ">" + PASSWORD, "~*", "&*", "+@all");
      try (App app =
          start(
              "spring.data.redis.host=127.0.0.1",
              "spring.data.redis.port=" + redis.port(),
              "spring.data.redis.username=sh@p",
              "spring.data.redis.password=" + PASSWORD,
              "spring.data.redis.database=3")) {
        checkCounts(app);
      }
      assertThat(redis.command("INFO", "keyspace")).contains("db3:").doesNotContain("db0:");
      assertThat(output.getOut())
          .contains("Store: redis://***@127.0.0.1:" + redis.port() + "/3.")
          .doesNotContain("p%40s")
          .doesNotContain(PASSWORD);
    }
  }

  @Test
  void passwordAlone() {
    try (RedisProcess redis =
            RedisProcess.start(RedisProcess.newest(), "--requirepass", "hush@hush");
        App app =
            start(
                "spring.data.redis.host=127.0.0.1",
                "spring.data.redis.port=" + redis.port(),
                "spring.data.redis.password=hush@hush")) {
      checkCounts(app);
    }
  }

  @Test
  void urlReplacesHostAndPort() {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        App app =
            start(
                "spring.data.redis.host=nowhere.invalid",
                "spring.data.redis.url=" + redis.uri() + "/5")) {
      checkCounts(app);
      assertThat(redis.command("INFO", "keyspace")).contains("db5:");
    }
  }

  @Test
  void clusterNodes() {
    try (RedisCluster cluster = RedisCluster.start(RedisProcess.newest());
        App app = start("spring.data.redis.cluster.nodes=" + nodes(cluster.uri()))) {
      checkCounts(app);
    }
  }

  @Test
  void sentinelNodesAndMaster() {
    try (RedisSentinels sentinels = RedisSentinels.start(RedisProcess.newest());
        App app =
            start(
                "spring.data.redis.sentinel.master=sluice",
                "spring.data.redis.sentinel.nodes=" + nodes(sentinels.uri()),
                "spring.data.redis.database=3")) {
      checkCounts(app);
      assertThat(sentinels.master().command("INFO", "keyspace")).contains("db3:");
    }
  }

  private static String nodes(String uri) {
    return uri.replaceFirst("^.*//", "").replaceFirst("#.*$", "");
  }

  @Test
  void encryptionIsFollowedInEveryTopology() {
    assertThat(uri("host=redis", "ssl.enabled=true")).isEqualTo("rediss://redis:6379");
    assertThat(uri("cluster.nodes=a:1,b:2", "password=x", "ssl.enabled=true"))
        .isEqualTo("rediss-cluster://:x@a:1,b:2");
    assertThat(uri("sentinel.nodes=a:1,b:2", "sentinel.master=m", "ssl.enabled=true"))
        .isEqualTo("rediss-sentinel://a:1,b:2#m");
  }

  @Test
  void whatCannotBeFollowedIsRefused() {
    assertThatThrownBy(() -> uri("ssl.bundle=mine"))
        .hasMessageContaining("spring.data.redis.ssl.bundle is set, which Sluice does not support");
    assertThatThrownBy(
            () -> uri("sentinel.nodes=a:1", "sentinel.master=m", "sentinel.password=hush"))
        .hasMessageContaining("spring.data.redis.sentinel.password is set")
        .hasMessageNotContaining("hush");
  }

  private static String uri(String... settings) {
    MapConfigurationPropertySource source = new MapConfigurationPropertySource();
    for (String setting : settings) {
      String[] parts = setting.split("=", 2);
      source.put("spring.data.redis." + parts[0], parts[1]);
    }
    return new Binder(source).bindOrCreate("spring.data.redis", StoreSettings.Redis.class).uri();
  }
}
