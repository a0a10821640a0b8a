package dev.sluice.store;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Limit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a store counted for a call. Balances are made on demand and then kept, because most callers
 * only want to know whether they may pass. Thread-safe.
 */
public interface Counted {
  /** The balance at each limit of each account. */
  List<Balance> balances();

  /** Where the call was counted. */
  Decision.CountedBy countedBy();

  /** Whether an account of the call is locked; rules in shadow mode do not count. */
  default boolean locked() {
    for (Balance balance : balances()) {
      if (balance.enforced() && balance.locked()) {
        return true;
      }
    }
    return false;
  }

  /**
   * The limit of the {@linkplain Balance#deciding deciding balance}, or null if there is none. For
   * counting denials: in the common case no balance is made.
   */
  default @Nullable Limit decidingLimit() {
    return Balance.deciding(balances()).map(Balance::limit).orElse(null);
  }
}
