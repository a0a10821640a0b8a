package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Asked to, Spring serves requests on virtual threads where the JDK has them. */
class VirtualThreadsIT {
  private static final boolean HAS_THEM = Runtime.version().feature() >= 21;

  @RestController
  static class Page {
    @GetMapping("/thread")
    @RateLimit(value = "Play", by = "member=#member")
    public String thread(@RequestParam String member) {
      return Thread.currentThread().getClass().getSimpleName();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Page.class)
  static class Mvc {}

  @ParameterizedTest
  @ValueSource(strings = {"memory", "redis"})
  void limitsHoldOnWhateverThreadsThereAre(String store) {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        App app =
            App.start(
                WebApplicationType.SERVLET,
                Mvc.class,
                "spring.threads.virtual.enabled=true",
                "sluice.store=" + (store.equals("redis") ? redis.uri() : store),
                "sluice.deadline=5s",
                "sluice.rules.Play.by=member",
                "sluice.rules.Play.limit=50 per 1d",
                "sluice.rules.Play.onStoreFailure=deny")) {
      List<Integer> answers =
          IntStream.range(0, 200)
              .mapToObj(i -> app.statusOf("/thread?member=ann"))
              .toList()
              .stream()
              .map(answer -> answer.join())
              .toList();

      assertThat(answers.stream().filter(status -> status == 200)).hasSize(50);
      assertThat(answers.stream().filter(status -> status == 429)).hasSize(150);
      assertThat(app.get("/thread?member=bob").body())
          .matches(HAS_THEM ? "VirtualThread" : "Thread|TaskThread");
    }
  }
}
