package dev.sluice.memory;

import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Lock;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** The decision on a plan and the books it leaves: a pure function but for sliding logs. */
record Judgement(Decision decision, Books[] after) {

  /**
   * Judges a plan over the books of its charges, in the same order.
   *
   * @param receiptId the id of the receipt; null if one has to be made
   */
  static Judgement of(Plan plan, @Nullable String receiptId, Books[] before, long now) {
    List<Charge> charges = plan.charges();
    Books[] books = new Books[before.length];
    boolean denied = false;
    for (int i = 0; i < books.length; i++) {
      Charge charge = charges.get(i);
      books[i] = before[i].at(charge.terms(), now);
      denied |= charge.enforced() && !fits(charge, books[i], now);
    }
    if (plan.intent() == Intent.PEEK) {
      return new Judgement(looked(plan, books, now, denied), before);
    }
    return denied && plan.intent() == Intent.TAKE
        ? denied(plan, books, now)
        : allowed(plan, receiptId, books, now);
  }

  /**
   * The first verdict on a call with an id, told by the balances of now. Nothing is counted, and
   * nothing can be given back.
   */
  static Judgement standing(Plan plan, Seen seen, Books[] before, long now) {
    List<Balance> balances = new ArrayList<>();
    for (int i = 0; i < before.length; i++) {
      Charge charge = plan.charges().get(i);
      long asked = seen.allowed() ? 0 : asked(charge);
      before[i].at(charge.terms(), now).balances(charge, now, asked, balances);
    }
    Receipt nothing = new Receipt(seen.name().receiptId(), now, List.of());
    return new Judgement(
        seen.allowed()
            ? Decision.Allowed.of(balances, () -> nothing)
            : new Decision.Denied(balances),
        before);
  }

  /** A call of cost 0 asks whether there is room for one. */
  private static long asked(Charge charge) {
    return Math.max(1, charge.cost());
  }

  private static boolean fits(Charge charge, Books books, long now) {
    return books.fits(now, asked(charge));
  }

  private static Decision looked(Plan plan, Books[] books, long now, boolean denied) {
    List<Balance> balances = new ArrayList<>();
    for (int i = 0; i < books.length; i++) {
      Charge charge = plan.charges().get(i);
      books[i].balances(charge, now, asked(charge), balances);
    }
    return denied
        ? new Decision.Denied(balances)
        : Decision.Allowed.of(balances, () -> new Receipt(newId(), now, List.of()));
  }

  private static Judgement denied(Plan plan, Books[] books, long now) {
    List<Balance> balances = new ArrayList<>();
    for (int i = 0; i < books.length; i++) {
      Charge charge = plan.charges().get(i);
      if (charge.enforced()) {
        books[i] = refused(charge, books[i], now);
      }
      books[i].balances(charge, now, asked(charge), balances);
    }
    return new Judgement(new Decision.Denied(balances), books);
  }

  /** What a refusal leaves: a lock on who overdrew, and the knock where knocks count. */
  private static Books refused(Charge charge, Books books, long now) {
    Lock lock = charge.terms().lock();
    boolean overdraws = books.overdraws(now, asked(charge));
    Books left = books;
    if (lock != null && overdraws && !books.isLocked(now)) {
      left = left.locking(lock, now);
    }
    boolean counts = charge.terms().countDenied() && charge.cost() > 0 && !books.isLocked(now);
    boolean possible = overdraws || books.fits(now, asked(charge));
    return counts && possible
        ? left.plus(now, charge.cost(), Books.Manner.KNOCKING, newId())
        : left;
  }

  private static Judgement allowed(Plan plan, @Nullable String receiptId, Books[] books, long now) {
    List<Charge> charges = plan.charges();
    List<Balance> balances = new ArrayList<>(2);
    String id = receiptId == null && hasLog(books) ? newId() : receiptId;
    boolean recording = plan.intent() == Intent.RECORD;
    boolean[] refused = recording ? new boolean[books.length] : shadowRefusals(plan, books, now);
    long[] effective = new long[books.length];
    for (int i = 0; i < books.length; i++) {
      Charge charge = charges.get(i);
      effective[i] = books[i].effective(now);
      if (refused[i]) {
        books[i] = refused(charge, books[i], now);
        books[i].balances(charge, now, asked(charge), balances);
        continue;
      }
      if (charge.cost() > 0) {
        Books.Manner manner = recording ? Books.Manner.RECORDING : Books.Manner.FITTING;
        books[i] = books[i].plus(now, charge.cost(), manner, id == null ? "" : id);
      }
      books[i].balances(charge, now, 0, balances);
    }
    return new Judgement(
        Decision.Allowed.of(balances, () -> taken(plan, books, refused, now, effective, id)),
        books);
  }

  /** Charges of rules in shadow mode that would have refused the call: each rule as a whole. */
  private static boolean[] shadowRefusals(Plan plan, Books[] books, long now) {
    List<Charge> charges = plan.charges();
    boolean[] refused = new boolean[books.length];
    for (int i = 0; i < books.length; i++) {
      Charge charge = charges.get(i);
      if (!charge.enforced() && !fits(charge, books[i], now)) {
        for (int j = 0; j < books.length; j++) {
          refused[j] |= charges.get(j).rule().name().equals(charge.rule().name());
        }
      }
    }
    return refused;
  }

  private static boolean hasLog(Books[] books) {
    for (Books each : books) {
      if (each.hasLog()) {
        return true;
      }
    }
    return false;
  }

  static String newId() {
    return Long.toString(ThreadLocalRandom.current().nextLong(Long.MAX_VALUE), Character.MAX_RADIX);
  }

  /** What can be given back; nothing of a record, which may have pushed out what was taken. */
  private static Receipt taken(
      Plan plan,
      Books[] books,
      boolean[] refused,
      long now,
      long[] effective,
      @Nullable String id) {
    List<Receipt.Entry> entries = new ArrayList<>(books.length);
    boolean took = plan.intent() == Intent.TAKE;
    for (int i = 0; took && i < books.length; i++) {
      if (!refused[i]) {
        entries.add(books[i].receipt(plan.charges().get(i), effective[i]));
      }
    }
    return new Receipt(id == null ? newId() : id, now, entries);
  }
}
