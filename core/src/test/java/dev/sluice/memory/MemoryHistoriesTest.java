package dev.sluice.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.history.Histories;
import org.junit.jupiter.api.Test;

/** Random histories on the memory store. */
class MemoryHistoriesTest {
  private final Histories histories = new Histories(clock -> MemoryStore.create(clock, 1_000));

  @Test
  void everyHistoryIsAnsweredAsTheModelSays() {
    assertThat(histories.play(100_000)).isPositive();
  }

  @Test
  void wildClockGivesNothingExtraAndBlocksNobody() {
    assertThat(histories.playOnWildClocks(20_000)).isPositive();
  }
}
