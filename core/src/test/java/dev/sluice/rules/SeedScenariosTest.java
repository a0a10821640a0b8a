package dev.sluice.rules;

import dev.sluice.Store;
import dev.sluice.memory.MemoryStore;
import java.time.InstantSource;

class SeedScenariosTest extends SeedScenarios {
  @Override
  protected Store open(InstantSource clock) {
    return MemoryStore.create(clock);
  }
}
