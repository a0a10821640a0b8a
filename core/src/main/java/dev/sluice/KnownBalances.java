package dev.sluice;

import dev.sluice.store.Counted;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** An allowed call with known balances; its receipt is made on demand. */
final class KnownBalances implements Counted {
  private final List<Balance> balances;
  private final Decision.CountedBy countedBy;
  private final Supplier<Receipt> maker;
  private @Nullable Receipt receipt;

  KnownBalances(List<Balance> balances, Decision.CountedBy countedBy, Supplier<Receipt> maker) {
    this.balances = List.copyOf(balances);
    this.countedBy = Objects.requireNonNull(countedBy, "countedBy");
    this.maker = Objects.requireNonNull(maker, "receipt");
  }

  @Override
  public List<Balance> balances() {
    return balances;
  }

  @Override
  public Decision.CountedBy countedBy() {
    return countedBy;
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
