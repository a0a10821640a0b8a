package dev.sluice;

import dev.sluice.store.Counted;
import dev.sluice.store.Taken;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What was counted for a call, with balances that are known already. */
class KnownBalances implements Counted {
  private final List<Balance> balances;
  private final Decision.CountedBy countedBy;

  KnownBalances(List<Balance> balances, Decision.CountedBy countedBy) {
    this.balances = List.copyOf(balances);
    this.countedBy = Objects.requireNonNull(countedBy, "countedBy");
  }

  @Override
  public List<Balance> balances() {
    return balances;
  }

  @Override
  public Decision.CountedBy countedBy() {
    return countedBy;
  }

  /** Of an allowed call; its receipt is made on demand. */
  static final class WithReceipt extends KnownBalances implements Taken {
    private final Supplier<Receipt> maker;
    private @Nullable Receipt receipt;

    WithReceipt(List<Balance> balances, Decision.CountedBy countedBy, Supplier<Receipt> maker) {
      super(balances, countedBy);
      this.maker = Objects.requireNonNull(maker, "receipt");
    }

    @Override
    public synchronized Receipt receipt() {
      Receipt known = receipt;
      if (known == null) {
        known = maker.get();
        receipt = known;
      }
      return known;
    }
  }
}
