package dev.sluice.redis.wire;

import dev.sluice.Account;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.Durations;
import dev.sluice.store.CallName;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Settles a receipt, or its entries in one slot. */
public final class SettleOperation extends Operation<Settled> {
  private final Receipt receipt;
  private final Settlement settlement;
  private final long openUntil;
  private final long goodUntil;
  private final boolean undoes;
  private final String calls;
  private final Map<Account, Long> locks = new HashMap<>();

  private SettleOperation(
      Keyspace keyspace,
      Receipt receipt,
      Settlement settlement,
      long openUntil,
      long goodUntil,
      boolean undoes,
      String calls) {
    super(keyspace);
    this.receipt = receipt;
    this.settlement = settlement;
    this.openUntil = openUntil;
    this.goodUntil = goodUntil;
    this.undoes = undoes;
    this.calls = calls;
  }

  /**
   * Settles a receipt for a caller.
   *
   * @param entries the entries in one slot
   * @param calls the prefix of calls with an id in that slot
   */
  public static SettleOperation of(
      Keyspace keyspace,
      Receipt receipt,
      List<Receipt.Entry> entries,
      Settlement settlement,
      String calls) {
    return new SettleOperation(
        keyspace,
        receipt.with(entries),
        settlement,
        receipt.openUntilMicros(),
        goodUntil(receipt),
        false,
        calls);
  }

  /**
   * Refunds what one slot took for a call that another slot denied. No caller has a receipt for it,
   * so the refund is remembered only while it may be sent again.
   */
  public static SettleOperation undo(
      JudgeOperation part, Receipt receipt, List<Receipt.Entry> entries) {
    return new SettleOperation(
        part.keyspace,
        receipt.with(entries),
        Settlement.GIVEN_BACK,
        openUntil(part, receipt),
        goodUntil(receipt),
        true,
        part.keyspace.callsBeside(part.plan.charges().get(0).account()));
  }

  /**
   * Refunds what one slot took by a rule in shadow mode that another slot denied, although the call
   * is allowed. It happens once, even if the answer to an id is repeated.
   */
  public static SettleOperation undoShadow(
      JudgeOperation part, Receipt receipt, List<Receipt.Entry> entries) {
    return new SettleOperation(
        part.keyspace,
        receipt.with(entries),
        Settlement.GIVEN_BACK,
        openUntil(part, receipt),
        goodUntil(receipt),
        false,
        "");
  }

  private static long openUntil(JudgeOperation part, Receipt receipt) {
    return part.held ? receipt.takenAtMicros() + Durations.micros(HOLD) : receipt.openUntilMicros();
  }

  /** When nothing is left to refund and no reservation is open. */
  private static long goodUntil(Receipt receipt) {
    long horizon = 0;
    for (Receipt.Entry entry : receipt.entries()) {
      horizon = Math.max(horizon, entry.terms().horizonMicros(receipt.takenAtMicros()));
    }
    return Math.max(receipt.takenAtMicros() + horizon, receipt.openUntilMicros());
  }

  @Override
  void nameKeysBeside(Consumer<String> to) {
    to.accept(Keyspace.doneKey(keyspace.key(receipt.entries().get(0).account())));
    if (receipt.id().length() == CallName.RECEIPT_ID_LENGTH && !calls.isEmpty()) {
      to.accept(calls + receipt.id().substring(0, CallName.CALL_DIGITS));
    }
    for (Receipt.Entry entry : receipt.entries()) {
      long most = Math.max(entry.cost(), settlement.costOf(entry));
      nameLogs(entry.account(), entry.terms(), most, to);
    }
  }

  @Override
  int weight() {
    return 2 * receipt.entries().size();
  }

  @Override
  void write(Arguments to) {
    to.add("S");
    to.add(receipt.id());
    to.add(receipt.takenAtMicros());
    to.add(receipt.takenAtMicros() + (calls.equals(Keyspace.CALLS) ? 0 : Durations.micros(HOLD)));
    to.add(openUntil);
    to.add(goodUntil);
    to.add(undoes ? 1 : 0);
    to.add(calls);
    to.add(receipt.entries().size());
    for (Receipt.Entry entry : receipt.entries()) {
      to.add(to.encoded(entry.terms()));
      to.add(entry.cost());
      to.add(settlement.costOf(entry));
      to.add(entry.locked() ? 1 : 0);
      to.add(settlement.forgives(entry.account()) ? 1 : 0);
      to.add(entry.given());
      for (Receipt.Mark mark : entry.marks()) {
        to.add(mark.micros());
        to.add(mark.number());
      }
    }
    place(receipt.entries(), to);
  }

  @Override
  Settled read(Reply reply) {
    if (reply.next() == 0) {
      return Settled.NOT_DONE;
    }
    long[] uncharged = new long[receipt.entries().size()];
    for (int i = 0; i < uncharged.length; i++) {
      uncharged[i] = reply.next();
      long lockedUntil = reply.next();
      if (lockedUntil != 0) {
        locks.put(receipt.entries().get(i).account(), lockedUntil);
      }
    }
    return Settled.of(receipt.entries(), uncharged);
  }

  /** The ends of the locks of its accounts, after it is answered. */
  public Map<Account, Long> locks() {
    return locks;
  }
}
