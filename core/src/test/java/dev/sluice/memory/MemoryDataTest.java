package dev.sluice.memory;

import dev.sluice.contract.MovableClock;
import dev.sluice.contract.SharedDataContract;
import dev.sluice.store.SharedData;
import java.time.Duration;

class MemoryDataTest implements SharedDataContract {
  private final MovableClock clock = MovableClock.at(java.time.Instant.EPOCH);
  private final MemoryStore store = MemoryStore.create(clock);

  @Override
  public SharedData data() {
    return store.sharedData();
  }

  @Override
  public void pass(Duration time) {
    clock.advance(time);
  }
}
