package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Receipt;
import java.util.ArrayList;
import java.util.List;

/** What a purse paid: the one balance and the receipt, worked out when somebody asks. */
final class Taken extends Decision.Allowed {
  /*
   * Many callers want to know no more than whether a call may pass. The divisions that tell what
   * remains and when all is back are left to those who read it.
   */
  private final Charge charge;
  private final long now;
  private final long fullAtUnits;

  Taken(Charge charge, long now, long fullAtUnits) {
    this.charge = charge;
    this.now = now;
    this.fullAtUnits = fullAtUnits;
  }

  @Override
  public List<Balance> balances() {
    List<Balance> balances = new ArrayList<>(1);
    books().balances(charge, now, 0, balances);
    return balances;
  }

  @Override
  protected Receipt taken() {
    return new Receipt(Judgement.newId(), now, List.of(books().receipt(charge, now)));
  }

  private Books books() {
    return Purse.books(charge.terms(), fullAtUnits);
  }
}
