package dev.sluice.store;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Receipt;
import java.util.List;

/**
 * What a store has counted for an allowed call. Balances and receipt are made when they are asked
 * for, and then kept: most callers only want to know whether they may pass. Thread-safe.
 */
public interface Counted {
  /** What each limit of each account said. */
  List<Balance> balances();

  /** What the decision rests on. */
  Decision.CountedBy countedBy();

  /** What was taken; the same however often it is asked for. */
  Receipt receipt();
}
