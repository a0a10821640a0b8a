package dev.sluice.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.spring.testing.SluiceTesting;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class SeedsOnMemoryTest extends SeedScenarios {
  @Override
  RunningShop open() {
    return new RunningShop("memory");
  }

  @Test
  void lockEndsAfterHalfAnHour() {
    try (RunningShop shop = new RunningShop("memory", SluiceTesting.class)) {
      assertThat(shop.statuses(4, "POST", "/code?login=ann&code=1"))
          .containsExactly(401, 401, 401, 429);

      shop.bean(SluiceTesting.class).advance(Duration.ofMinutes(30));

      assertThat(shop.statuses(1, "POST", "/code?login=ann&code=1")).containsExactly(401);
    }
  }
}
