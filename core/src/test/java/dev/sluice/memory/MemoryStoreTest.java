package dev.sluice.memory;

import dev.sluice.Store;
import dev.sluice.contract.MovableClock;
import dev.sluice.contract.StoreContract;

/** The memory store keeps the contract, within its bounds. */
class MemoryStoreTest extends StoreContract {
  @Override
  protected Store open(MovableClock clock) {
    return MemoryStore.create(clock);
  }
}
