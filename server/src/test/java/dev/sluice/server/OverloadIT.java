package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** More requests than the service may have in work. */
class OverloadIT {
  private static final int MOST_IN_FLIGHT = 8;
  private static final int REQUESTS = 50;

  /** Redis is stopped while the requests arrive, so that none is done before all have come. */
  @Test
  void whatIsInWorkIsAnsweredAndTheRestIs503() throws Exception {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest());
        Sluice sluice =
            Sluice.start(Sluice.patient(MOST_IN_FLIGHT), Sluice.sample(), open(redis))) {
      assertThat(sluice.get("/v1/gate/NewCrawlerRule").status()).isEqualTo(200);
      List<Integer> statuses = Collections.synchronizedList(new ArrayList<>());
      CountDownLatch refused = new CountDownLatch(REQUESTS - MOST_IN_FLIGHT);
      List<CompletableFuture<?>> requests = new ArrayList<>();
      redis.pause();
      for (int i = 0; i < REQUESTS; i++) {
        requests.add(
            sluice
                .sendAsync(sluice.request("GET", "/v1/gate/NewCrawlerRule"))
                .thenAccept(
                    answer -> {
                      statuses.add(answer.status());
                      refused.countDown();
                    }));
      }
      boolean allRefused = refused.await(60, TimeUnit.SECONDS);
      List<Integer> whileStopped = List.copyOf(statuses);
      redis.resume();
      CompletableFuture.allOf(requests.toArray(new CompletableFuture<?>[0]))
          .get(60, TimeUnit.SECONDS);

      assertThat(allRefused).isTrue();
      assertThat(whileStopped).hasSize(REQUESTS - MOST_IN_FLIGHT).containsOnly(503);
      assertThat(statuses.subList(whileStopped.size(), REQUESTS)).containsOnly(200);
      assertThat(sluice.get("/metrics").response().body())
          .contains("sluice_overloads_total " + (REQUESTS - MOST_IN_FLIGHT) + ".0")
          .contains(
              "sluice_shadow_decisions_total{counted_by=\"store\",locked=\"false\",outcome=\"allowed\",rule=\"NewCrawlerRule\"} "
                  + (MOST_IN_FLIGHT + 1)
                  + ".0");
    }
  }

  @Test
  void aRefusalSaysThatTheServiceIsOverloaded() {
    try (Sluice sluice = Sluice.start(Sluice.patient(0))) {
      Sluice.Answer answer = sluice.get("/v1/gate/Everyone");

      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.errors()).containsExactly("the service is overloaded; try again later");
    }
  }

  private static Store open(RedisProcess redis) {
    return Stores.open(redis.uri(), Duration.ofMinutes(2), 1, true, false, true, fault -> {});
  }
}
