package dev.sluice.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.bench.load.OtherLoad.Ticks;
import java.util.BitSet;
import org.junit.jupiter.api.Test;

class OtherLoadTest {
  private static final String STAT =
      """
      cpu  900 0 0 900 0 0 0 0 0 0
      cpu0 %d 1 2 %d 10 3 4 %d 77 0
      cpu1 %d 0 0 %d 0 0 0 0 0 0
      cpu2 900 0 0 0 0 0 0 0 0 0
      intr 1 2 3
      """;

  private static BitSet firstTwo() {
    return OtherLoad.allowed("Name:\tjava\nCpus_allowed_list:\t0-1,7\n");
  }

  @Test
  void readsTheProcessorsThatWeMayUse() {
    assertThat(firstTwo()).hasToString("{0, 1, 7}");
  }

  @Test
  void whatIsBusyAndNotOursIsOfOthers() {
    Ticks start = Ticks.of(STAT.formatted(100, 500, 0, 100, 500), firstTwo(), 40);
    Ticks end = Ticks.of(STAT.formatted(150, 540, 10, 180, 520), firstTwo(), 100);

    // Of 200 ticks 60 were idle and 60 ours.
    assertThat(end.othersSince(start)).isEqualTo(0.4);
  }

  @Test
  void nothingIsOfOthersIfWeUsedAll() {
    Ticks start = Ticks.of(STAT.formatted(100, 500, 0, 100, 500), firstTwo(), 40);
    Ticks end = Ticks.of(STAT.formatted(150, 500, 0, 150, 500), firstTwo(), 141);

    assertThat(end.othersSince(start)).isZero();
  }
}
