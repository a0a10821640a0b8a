package dev.sluice.outage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** One node's share of a limit. */
class FallbackTest {
  private static Limit share(Limit limit, int nodes) {
    return Fallback.share(limit, nodes);
  }

  @Test
  void shareOfABucketDividesItsRate() {
    assertThat(share(Limit.tokenBucket(100, 60, Duration.ofMinutes(1)), 4))
        .isEqualTo(Limit.tokenBucket(25, 15, Duration.ofMinutes(1)));
    assertThat(share(Limit.tokenBucket(100, 10, Duration.ofMinutes(1)), 4))
        .isEqualTo(Limit.tokenBucket(25, 10, Duration.ofMinutes(4)));
  }

  @Test
  void shareOfASlowBucketOnManyNodesIsALimitToo() {
    Limit yearly = Limit.tokenBucket(3, 1, Duration.ofDays(365));

    assertThat(share(yearly, 10)).isEqualTo(Limit.tokenBucket(1, 1, Duration.ofDays(3_650)));
    assertThat(share(yearly, 1_000)).isEqualTo(Limit.tokenBucket(1, 1, Duration.ofDays(3_660)));
    assertThat(share(Limit.tokenBucket(7, 7, Duration.ofDays(3_660)), 2))
        .isEqualTo(Limit.tokenBucket(3, 3, Duration.ofDays(3_660)));
  }

  @Test
  void shareOfAWindowIsAtLeastOneCall() {
    assertThat(share(Limit.fixedWindow(10, Duration.ofDays(1)), 3).quota()).isEqualTo(3);
    assertThat(share(Limit.slidingLog(10, Duration.ofDays(1)), 30).quota()).isEqualTo(1);
    assertThat(share(Limit.slidingWindow(10, Duration.ofDays(1)), 4).quota()).isEqualTo(2);
  }
}
