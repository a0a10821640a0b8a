package dev.sluice.rules;

import dev.sluice.memory.MemoryStore;
import dev.sluice.store.Store;
import java.time.InstantSource;

class SeedScenariosTest extends SeedScenarios {
  @Override
  protected Store open(InstantSource clock) {
    return MemoryStore.create(clock);
  }
}
