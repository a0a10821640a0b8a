package dev.sluice.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.history.Histories;
import org.junit.jupiter.api.Test;

/** Random histories on the memory store. */
class MemoryHistoriesTest {
  @Test
  void everyHistoryIsAnsweredAsTheModelSays() {
    assertThat(new Histories(clock -> MemoryStore.create(clock, 1_000)).play(100_000)).isPositive();
  }
}
