package dev.sluice.memory;

import dev.sluice.Intent;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.store.Verdict;

/**
 * What a settlement does to the rows of its accounts. The caller must hold the monitor of each row
 * that it settles.
 */
final class RowSettlement {
  private final Receipt receipt;
  private final Settlement settlement;
  private final Forms forms;
  private final long now;

  /** When nothing is left to refund. */
  final long end;

  /** Whether nothing is left to refund any more. More can still be charged. */
  final boolean isLate;

  /** Whether an account is charged more than was taken. */
  final boolean isAbove;

  RowSettlement(Receipt receipt, Settlement settlement, Forms forms, long now) {
    this.receipt = receipt;
    this.settlement = settlement;
    this.forms = forms;
    this.now = now;
    this.end = end(receipt);
    this.isLate = now >= end;
    this.isAbove =
        receipt.entries().stream().anyMatch(entry -> settlement.costOf(entry) > entry.cost());
  }

  private static long end(Receipt receipt) {
    long end = receipt.openUntilMicros();
    for (Receipt.Entry entry : receipt.entries()) {
      long horizon = entry.terms().horizonMicros(receipt.takenAtMicros());
      end = Math.max(end, receipt.takenAtMicros() + horizon);
    }
    return end;
  }

  /** Whether everything that was taken is refunded. */
  boolean isGivenBack() {
    return receipt.entries().stream().allMatch(entry -> settlement.costOf(entry) == 0)
        && receipt.entries().stream().anyMatch(entry -> entry.cost() > 0);
  }

  /** Settles the rows of all entries; returns what could not be charged to each. */
  long[] settle(Row[] rows) {
    long[] uncharged = new long[rows.length];
    for (int i = 0; i < rows.length; i++) {
      uncharged[i] = settle(rows[i], receipt.entries().get(i));
    }
    return uncharged;
  }

  private long settle(Row row, Receipt.Entry entry) {
    long actual = settlement.costOf(entry);
    row.forgetClosed(now);
    boolean forgiven = !isLate && settlement.forgives(entry.account());
    if (!isLate) {
      if (entry.locked() && (actual == 0 || forgiven)) {
        row.unlock(receipt.takenAtMicros(), now);
      }
      if (forgiven) {
        row.forgetUsage(now);
        row.close(entry.cost(), now, receipt.openUntilMicros());
        return 0;
      }
      confirm(row, entry, entry.cost() - actual);
    }
    return actual > entry.cost() ? record(row, entry.terms(), actual - entry.cost()) : 0;
  }

  /** Closes a reservation and refunds what is left of it, or of a take. */
  private void confirm(Row row, Receipt.Entry entry, long back) {
    boolean wasOpen = receipt.openUntilMicros() > now;
    Lock rule = entry.terms().lock();
    Form taken = forms.taken(row, entry.terms());
    boolean mayLock =
        wasOpen
            && rule != null
            && rule.on() == Lock.On.LIMIT
            && taken.reads(row.form)
            && !row.isLocked(now);
    if (mayLock) {
      row.become(row.at(taken, now));
    }
    boolean hadRoom = mayLock && row.fitsWithoutOpen(now, 1);
    row.close(entry.cost(), now, receipt.openUntilMicros());
    if (back > 0) {
      row.giveBack(taken, entry, back, now);
    }
    if (hadRoom && rule != null && !row.fitsWithoutOpen(now, 1)) {
      row.lock(rule, now);
    }
  }

  private long record(Row row, Terms terms, long cost) {
    Row state = row.at(forms.taken(row, terms), now);
    if (state != row) {
      row.become(state);
    }
    int limits = terms.limits().size();
    long[] numbers = new long[Verdict.OF_CHARGE + Verdict.OF_LIMIT * limits];
    Judge.count(row, terms, Intent.RECORD, cost, now, numbers, 0);
    long uncharged = 0;
    for (int at = Verdict.OF_CHARGE; at < numbers.length; at += Verdict.OF_LIMIT) {
      uncharged = Math.max(uncharged, numbers[at + Verdict.UNCHARGED]);
    }
    return uncharged;
  }
}
