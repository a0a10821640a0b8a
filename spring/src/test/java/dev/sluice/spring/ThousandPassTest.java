package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.testing.Needs;
import java.io.IOException;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;

/** The middleware of the seeds: 1,200 requests, 50 at a time, of which 1,000 pass. */
class ThousandPassTest {
  @ParameterizedTest
  @CsvSource({"SERVLET,memory", "REACTIVE,memory", "SERVLET,redis", "REACTIVE,redis"})
  @Needs("ab")
  void exactlyAThousandOfTwelveHundredPass(WebApplicationType type, String store)
      throws IOException, InterruptedException {
    Class<?> main = type == WebApplicationType.SERVLET ? Shop.Mvc.class : Shop.WebFlux.class;
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        App app =
            App.start(
                type,
                main,
                concat(
                    Shop.on(store.equals("redis") ? redis.uri() : store),
                    "spring.threads.virtual.enabled=true", // where the JDK has them
                    "sluice.rules.Everyone.by=ip",
                    "sluice.rules.Everyone.limits[0].token-bucket.capacity=1000",
                    "sluice.rules.Everyone.limits[0].token-bucket.refill=1000",
                    "sluice.rules.Everyone.limits[0].token-bucket.per=1d",
                    "sluice.routes[3].path=/free",
                    "sluice.routes[3].rule=Everyone"))) {
      String report = Ab.report("http://127.0.0.1:" + app.port() + "/free");

      assertThat(report).containsPattern("Complete requests: +1200\n");
      assertThat(report).containsPattern("Non-2xx responses: +200\n");
    }
  }

  private static String[] concat(String[] first, String... more) {
    String[] all = Arrays.copyOf(first, first.length + more.length);
    System.arraycopy(more, 0, all, first.length, more.length);
    return all;
  }
}
