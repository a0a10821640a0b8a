package dev.sluice.store;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.internal.Durations;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of a plan as numbers, and the decision made from them.
 *
 * <p>Both stores write the same numbers. First whether the plan is allowed (1 or 0), and the clock
 * of the store.
 *
 * <p>Then for each charge: flags ({@link #TAKEN}, {@link #LOCKED}), the end of the lock of the
 * account or 0, the time of the account, and {@link Receipt.Entry#given}.
 *
 * <p>Then for each limit of the charge: what remains, how long to wait (-1: for ever), how long
 * until the whole quota is back, the number of the receipt's mark, and what could not be charged.
 */
public abstract class Verdict implements Taken {
  /** The charge was counted and can be refunded. */
  public static final int TAKEN = 1;

  /** This call locked the account. */
  public static final int LOCKED = 2;

  /** How many numbers come before the charges. */
  public static final int HEAD = 2;

  /** How many numbers of a charge come before its limits. */
  public static final int OF_CHARGE = 4;

  /** The index, among the numbers of a charge, of {@link Receipt.Entry#given}. */
  public static final int GIVEN = 3;

  /** How many numbers a limit has. */
  public static final int OF_LIMIT = 5;

  /** The index, among the numbers of a limit, of the number of the receipt's mark. */
  public static final int MARK = 3;

  /** The index, among the numbers of a limit, of what could not be charged. */
  public static final int UNCHARGED = 4;

  private volatile @Nullable List<Balance> balances;
  private @Nullable Receipt receipt;

  private Verdict() {}

  abstract List<Charge> charges();

  abstract long[] numbers();

  /** Until when a reservation is open, or 0. */
  abstract long openUntil();

  /** The id of the receipt; null to make one. */
  abstract @Nullable String receiptId();

  /** How many numbers a plan's verdict has. */
  public static int size(Plan plan) {
    int size = HEAD;
    for (Charge charge : plan.charges()) {
      size += OF_CHARGE + OF_LIMIT * charge.terms().limits().size();
    }
    return size;
  }

  /**
   * The decision on a plan.
   *
   * @param receiptId the id of the receipt; null to make one
   */
  public static Decision decision(Plan plan, long[] numbers, @Nullable String receiptId) {
    boolean reserves = plan.intent() == Intent.RESERVE;
    long openUntil = reserves ? numbers[1] + Durations.micros(plan.hold()) : 0;
    Verdict verdict = new Whole(plan.charges(), numbers, openUntil, receiptId);
    return numbers[0] == 1 ? Decision.Allowed.of(verdict) : Decision.Denied.of(verdict);
  }

  /** The decision on a single charge that was taken. */
  public static Decision taken(Charge charge, long[] numbers) {
    return Decision.Allowed.of(new Whole(List.of(charge), numbers, 0, null));
  }

  /**
   * The decision on a single charge with one limit that was taken, while its account is not locked:
   * the common case.
   */
  public static Decision taken(
      Charge charge, long now, long given, long remaining, long resetAfter, long mark) {
    return Decision.Allowed.of(new Plain(charge, now, given, remaining, resetAfter, mark));
  }

  /** Whether the account of any charge is locked, also one of a rule in shadow mode. */
  public final boolean mentionsLock() {
    return anyLock(false);
  }

  @Override
  public final boolean locked() {
    return anyLock(true);
  }

  boolean anyLock(boolean enforced) {
    long[] numbers = numbers();
    int at = HEAD;
    for (Charge charge : charges()) {
      if (numbers[at + 1] != 0 && (charge.enforced() || !enforced)) {
        return true;
      }
      at += OF_CHARGE + OF_LIMIT * charge.terms().limits().size();
    }
    return false;
  }

  @Override
  public final @Nullable Limit decidingLimit() {
    if (charges().size() == 1) {
      Charge only = charges().get(0);
      if (only.enforced() && only.terms().limits().size() == 1) {
        return only.terms().limits().get(0);
      }
    }
    return Taken.super.decidingLimit();
  }

  @Override
  public final List<Balance> balances() {
    List<Balance> known = balances;
    if (known == null) {
      known = balances(charges(), numbers());
      balances = known;
    }
    return known;
  }

  private static List<Balance> balances(List<Charge> charges, long[] numbers) {
    List<Balance> balances = new ArrayList<>((numbers.length - HEAD) / OF_LIMIT);
    int at = HEAD;
    for (Charge charge : charges) {
      Account account = charge.account();
      long lockedUntil = numbers[at + 1];
      at += OF_CHARGE;
      for (Limit limit : charge.terms().limits()) {
        balances.add(
            new Balance(
                account,
                limit,
                charge.enforced(),
                numbers[at],
                numbers[at + 1] < 0 ? Balance.NEVER : numbers[at + 1],
                numbers[at + 2],
                lockedUntil,
                numbers[at + UNCHARGED]));
        at += OF_LIMIT;
      }
    }
    return List.copyOf(balances);
  }

  @Override
  public final Decision.CountedBy countedBy() {
    return Decision.CountedBy.STORE;
  }

  @Override
  public final synchronized Receipt receipt() {
    Receipt known = receipt;
    if (known == null) {
      known = taken();
      receipt = known;
    }
    return known;
  }

  private Receipt taken() {
    List<Charge> charges = charges();
    long[] numbers = numbers();
    List<Receipt.Entry> entries = new ArrayList<>(charges.size());
    int at = HEAD;
    for (Charge charge : charges) {
      long flags = numbers[at];
      long markMicros = numbers[at + 2];
      long given = numbers[at + GIVEN];
      at += OF_CHARGE;
      List<Receipt.Mark> marks = new ArrayList<>(charge.terms().limits().size());
      for (int i = charge.terms().limits().size(); i > 0; i--) {
        marks.add(new Receipt.Mark(markMicros, numbers[at + MARK]));
        at += OF_LIMIT;
      }
      if ((flags & TAKEN) != 0) {
        entries.add(
            new Receipt.Entry(
                charge.account(),
                charge.terms(),
                charge.cost(),
                marks,
                given,
                (flags & LOCKED) != 0,
                false));
      }
    }
    String id = receiptId();
    return new Receipt(id == null ? CallName.madeId() : id, numbers[1], openUntil(), entries, "");
  }

  /** All numbers. */
  private static final class Whole extends Verdict {
    private final List<Charge> charges;
    private final long[] numbers;
    private final long openUntil;
    private final @Nullable String receiptId;

    Whole(List<Charge> charges, long[] numbers, long openUntil, @Nullable String receiptId) {
      this.charges = charges;
      this.numbers = numbers;
      this.openUntil = openUntil;
      this.receiptId = receiptId;
    }

    @Override
    List<Charge> charges() {
      return charges;
    }

    @Override
    long[] numbers() {
      return numbers;
    }

    @Override
    long openUntil() {
      return openUntil;
    }

    @Override
    @Nullable String receiptId() {
      return receiptId;
    }
  }

  /** Only the numbers that differ between calls that were plainly taken, so that few are kept. */
  private static final class Plain extends Verdict {
    private final Charge charge;
    private final long now;
    private final long given;
    private final long remaining;
    private final long resetAfter;
    private final long mark;

    Plain(Charge charge, long now, long given, long remaining, long resetAfter, long mark) {
      this.charge = charge;
      this.now = now;
      this.given = given;
      this.remaining = remaining;
      this.resetAfter = resetAfter;
      this.mark = mark;
    }

    @Override
    List<Charge> charges() {
      return List.of(charge);
    }

    @Override
    long[] numbers() {
      return new long[] {1, now, TAKEN, 0, now, given, remaining, 0, resetAfter, mark, 0};
    }

    @Override
    boolean anyLock(boolean enforced) {
      return false;
    }

    @Override
    long openUntil() {
      return 0;
    }

    @Override
    @Nullable String receiptId() {
      return null;
    }
  }
}
