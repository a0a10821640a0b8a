package dev.sluice.spring.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.spring.RateLimit;
import dev.sluice.spring.RateLimitedException;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

@SpringBootTest(
    webEnvironment = SpringBootTest.WebEnvironment.NONE,
    properties = {
      "sluice.rules.Daily.by=member",
      "sluice.rules.Daily.limit=1 per 1d",
      "sluice.store=redis://127.0.0.1:1"
    })
@Import(SluiceTesting.class)
@ExtendWith(OutputCaptureExtension.class)
class SluiceTestingTest {
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {
    @Bean
    Gift gift() {
      return new Gift();
    }
  }

  static class Gift {
    @RateLimit(value = "Daily", by = "member=#member")
    String claim(String member) {
      return "gift";
    }
  }

  @Autowired private SluiceTesting sluice;
  @Autowired private Gift gift;

  @BeforeEach
  void freshUsage() {
    sluice.reset();
  }

  @Test
  void clockCanBeMoved() {
    gift.claim("ann");
    assertThatThrownBy(() -> gift.claim("ann")).isInstanceOf(RateLimitedException.class);

    sluice.advance(Duration.ofDays(1));

    assertThat(gift.claim("ann")).isEqualTo("gift");
  }

  @Test
  void startLineSaysThatTheStoreIsInMemory(CapturedOutput output) {
    assertThat(output.getAll()).contains("Sluice is on. Store: memory (of SluiceTesting). 1 rule");
  }

  @Test
  void storeCanBeReset() {
    gift.claim("ann");

    sluice.reset();

    assertThat(gift.claim("ann")).isEqualTo("gift");
  }
}
