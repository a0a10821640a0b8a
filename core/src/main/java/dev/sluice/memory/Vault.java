package dev.sluice.memory;

import dev.sluice.Identity;
import dev.sluice.Terms;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The cells of all accounts, bounded. Thread-safe. */
final class Vault {
  /*
   * A map for each rule, with a hand that moves over all of them, some cells further for every
   * account that is new; so there is no thread and no timer, and finding a cell costs a look into
   * the map and a count in the cell. What a call has to fetch from memory decides how fast it is:
   * the rules are few and at hand, so a map of their own spares the object that would name rule and
   * identity together. The map of a rule that is no longer asked for runs empty, and stays.
   *
   * The hand moves for up to MOST_AT_ONCE new accounts in one go, a thousandth of the bound at most:
   * most of them pay for no more than a count.
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
  private static final int STEPS = 4; // for each new account
  private static final int MOST_STEPS = 64; // for each new account above the bound
  private static final long MOST_AT_ONCE = 128;
  private static final long FEW_ACCOUNTS = 1_000;
  private static final long SLACK_MICROS = 60_000_000; // a clock may step back by that much

  private final ConcurrentHashMap<String, ConcurrentHashMap<Identity, Cell>> byRule =
      new ConcurrentHashMap<>();
  private final AtomicLong made = new AtomicLong();
  private final AtomicLong removed = new AtomicLong();
  private final long mostAccounts;
  private final long atOnce; // a power of two
  private final long fewAccounts; // up to here nothing is gained by dropping any
  private final ReentrantLock moving = new ReentrantLock();
  private Iterator<String> rules = Collections.emptyIterator();
  private String ruleAtHand = "";
  private Iterator<Map.Entry<Identity, Cell>> hand = Collections.emptyIterator();

  Vault(long mostAccounts) {
    this.mostAccounts = mostAccounts;
    this.atOnce = Long.highestOneBit(Math.max(1, Math.min(MOST_AT_ONCE, mostAccounts / 1_000)));
    this.fewAccounts = Math.min(FEW_ACCOUNTS, mostAccounts / 2);
  }

  /** The cell of an account, or null. */
  @Nullable Cell find(String rule, Identity identity) {
    ConcurrentHashMap<Identity, Cell> cells = byRule.get(rule);
    Cell found = cells == null ? null : cells.get(identity);
    if (found != null) {
      found.touch();
    }
    return found;
  }

  /** The cell of an account, a new one if it has none. */
  Cell findOrMake(String rule, Identity identity, @Nullable Terms terms, long now) {
    Cell found = find(rule, identity);
    return found == null ? make(rule, identity, terms, now) : found;
  }

  private Cell make(String rule, Identity identity, @Nullable Terms terms, long now) {
    Cell fresh = new Cell(terms);
    Cell raced = cells(rule).putIfAbsent(identity, fresh);
    if (raced != null) {
      return raced;
    }
    if ((made.incrementAndGet() & (atOnce - 1)) == 0) {
      move(now);
    }
    return fresh;
  }

  /** How many cells there are. */
  long size() {
    return made.get() - removed.get();
  }

  /** Takes a retired cell out. */
  void remove(String rule, Identity identity, Cell cell) {
    if (cells(rule).remove(identity, cell)) {
      removed.incrementAndGet();
    }
  }

  private ConcurrentHashMap<Identity, Cell> cells(String rule) {
    return byRule.computeIfAbsent(rule, absent -> new ConcurrentHashMap<>());
  }

  private void move(long now) {
    if (!moving.tryLock()) {
      return;
    }
    try {
      if (size() > mostAccounts) {
        for (int i = 0; i < MOST_STEPS * atOnce && size() > mostAccounts; i++) {
          drop(
              cell -> cell.isOutOfChances() && cell.retireIf(books -> isPushable(books, now)), now);
        }
      } else if (size() > fewAccounts) {
        for (int i = 0; i < STEPS * atOnce; i++) {
          drop(cell -> false, now);
        }
      }
    } finally {
      moving.unlock();
    }
  }

  /** Moves the hand on by one cell, and drops it if it is spent or the other fact holds. */
  private void drop(Predicate<Cell> orIf, long now) {
    if (!hand.hasNext()) {
      if (!rules.hasNext()) {
        rules = byRule.keySet().iterator();
      }
      ruleAtHand = rules.next();
      hand = cells(ruleAtHand).entrySet().iterator();
    }
    if (hand.hasNext()) {
      Map.Entry<Identity, Cell> entry = hand.next();
      Cell cell = entry.getValue();
      boolean spent =
          !cell.isBusyAt(now - SLACK_MICROS) && cell.retireIf(books -> isDroppable(books, now));
      if (spent || orIf.test(cell)) {
        remove(ruleAtHand, entry.getKey(), cell);
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
