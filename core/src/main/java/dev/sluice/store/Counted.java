package dev.sluice.store;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Receipt;
import java.util.List;

/**
 * What a store counted for an allowed call. Balances and receipt are made on demand and then kept,
 * because most callers only want to know whether they may pass. Thread-safe.
 */
public interface Counted {
  /** The balance at each limit of each account. */
  List<Balance> balances();

  /** Where the call was counted. */
  Decision.CountedBy countedBy();

  /** What was taken. Always returns the same receipt. */
  Receipt receipt();
}
