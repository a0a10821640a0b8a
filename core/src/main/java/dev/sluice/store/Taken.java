package dev.sluice.store;

import dev.sluice.Receipt;

/** What a store counted for an allowed call. The receipt is made on demand, too. Thread-safe. */
public interface Taken extends Counted {
  /** What was taken. Always returns the same receipt. */
  Receipt receipt();
}
