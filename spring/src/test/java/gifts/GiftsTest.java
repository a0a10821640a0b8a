package gifts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.spring.RateLimitedException;
import dev.sluice.spring.testing.SluiceTesting;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;

@SpringBootTest(properties = {"sluice.rules.Gift.by=member", "sluice.rules.Gift.limit=1 per 1d"})
@Import(SluiceTesting.class)
class GiftsTest {
  @Autowired private SluiceTesting sluice;
  @Autowired private Gifts gifts;

  @BeforeEach
  void freshUsage() {
    sluice.reset();
  }

  @Test
  void oneGiftADay() {
    gifts.claim("ann");
    assertThatThrownBy(() -> gifts.claim("ann")).isInstanceOf(RateLimitedException.class);

    sluice.advance(Duration.ofDays(1));

    assertThat(gifts.claim("ann")).isEqualTo("a gift for ann");
  }
}
