package dev.sluice.memory;

import dev.sluice.Account;
import dev.sluice.Terms;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The cells of all accounts, bounded. Thread-safe. */
final class Vault {
  /*
   * A map with a hand that moves over it, some cells further whenever an account is new; so there is
   * no thread and no timer, and finding a cell costs a look into the map and a count in the cell.
   *
   * The hand drops accounts whose books are spent (everything has come back, no lock): nobody can
   * notice. They must have been spent a minute ago: what an account held before a clock stepped back
   * still counts, and a busy account with a fast refill is spent between any two calls; to drop it is
   * to make it anew, which moves the hand again.
   *
   * Above the bound it also pushes accounts out. One that came back has up to three chances, each
   * used up when the hand comes by; one that was seen once has none. So a flood of identities that
   * are seen once pushes out itself, and not those who keep coming. A locked account is never pushed
   * out. If the hand finds nobody to push out within MOST_STEPS, the vault is over its bound for as
   * long as it takes to use the chances up.
   *
   * Caffeine keeps the better statistics, but has one more object to fetch from memory for every
   * call.
   *
   * The hand never waits for a claimed cell, since whoever moves it may hold claims.
   */
  private static final int STEPS = 4;
  private static final int MOST_STEPS = 64;
  private static final long FEW_ACCOUNTS = 1_000;
  private static final long SLACK_MICROS = 60_000_000; // a clock may step back by that much

  private final ConcurrentHashMap<Account, Cell> cells = new ConcurrentHashMap<>();
  private final long mostAccounts;
  private final long fewAccounts; // up to here nothing is gained by dropping any
  private final ReentrantLock moving = new ReentrantLock();
  private Iterator<Map.Entry<Account, Cell>> hand = Collections.emptyIterator();

  Vault(long mostAccounts) {
    this.mostAccounts = mostAccounts;
    this.fewAccounts = Math.min(FEW_ACCOUNTS, mostAccounts / 2);
  }

  /** The cell of an account, or null. */
  @Nullable Cell find(Account account) {
    Cell found = cells.get(account);
    if (found != null) {
      found.touch();
    }
    return found;
  }

  /** The cell of an account, a new one if it has none. */
  Cell findOrMake(Account account, @Nullable Terms terms, long now) {
    Cell found = find(account);
    return found == null ? make(account, terms, now) : found;
  }

  private Cell make(Account account, @Nullable Terms terms, long now) {
    Cell fresh = new Cell(terms);
    Cell raced = cells.putIfAbsent(account, fresh);
    if (raced != null) {
      return raced;
    }
    if (moving.tryLock()) {
      try {
        move(now);
      } finally {
        moving.unlock();
      }
    }
    return fresh;
  }

  /** How many cells there are. */
  long size() {
    return cells.mappingCount();
  }

  /** Takes a retired cell out. */
  void remove(Account account, Cell cell) {
    cells.remove(account, cell);
  }

  private void move(long now) {
    if (cells.mappingCount() > mostAccounts) {
      for (int i = 0; i < MOST_STEPS && cells.mappingCount() > mostAccounts; i++) {
        drop(cell -> cell.isOutOfChances() && cell.retireIf(books -> isPushable(books, now)), now);
      }
    } else if (cells.mappingCount() > fewAccounts) {
      for (int i = 0; i < STEPS; i++) {
        drop(cell -> false, now);
      }
    }
  }

  /** Moves the hand on by one cell, and drops it if it is spent or the other fact holds. */
  private void drop(Predicate<Cell> orIf, long now) {
    if (!hand.hasNext()) {
      hand = cells.entrySet().iterator();
    }
    if (hand.hasNext()) {
      Map.Entry<Account, Cell> entry = hand.next();
      Cell cell = entry.getValue();
      if (cell.retireIf(books -> isDroppable(books, now)) || orIf.test(cell)) {
        cells.remove(entry.getKey(), cell);
      }
    }
  }

  /** Whether nobody would notice. New books, which are for a call under way, stay. */
  private static boolean isDroppable(Books books, long now) {
    return books != Books.EMPTY && books.isSpent(now - SLACK_MICROS);
  }

  private static boolean isPushable(Books books, long now) {
    return books != Books.EMPTY && !books.isLocked(now);
  }
}
