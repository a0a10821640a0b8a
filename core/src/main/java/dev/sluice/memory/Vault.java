package dev.sluice.memory;

import dev.sluice.Account;
import dev.sluice.Identity;
import dev.sluice.Restriction;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The rows of all accounts, bounded. Thread-safe. */
final class Vault {
  /*
   * One map per rule, and one clock hand that moves over all of them, a few rows further for every
   * new account. So there is no thread and no timer, and finding a row costs one map look-up and a
   * counter in the row. Cache misses decide how fast a call is: the rules are few and stay in the
   * cache, so a map per rule saves the object that would join rule and identity. The map of a rule
   * that is no longer used runs empty, and stays.
   *
   * The hand moves for up to MOST_AT_ONCE new accounts at once, a thousandth of the bound at most:
   * most new accounts only pay for a counter. It takes the monitors of rows, so a thread that makes
   * a row must hold no monitor.
   *
   * The hand drops rows that are spent (full quota, no lock), which nobody can notice. They must
   * have been spent a minute ago. First, what an account held before a clock stepped back still
   * counts. Second, a busy account with a fast refill is spent between any two calls; dropping it
   * would only make it anew and move the hand again.
   *
   * Above the bound the hand also evicts accounts. An account that came back has up to three
   * chances, and each pass of the hand uses up one. An account seen once has none. So a flood of
   * identities that are seen once evicts itself, not the regular callers. A locked account is never
   * evicted. If the hand finds nothing to evict within MOST_STEPS, the vault exceeds its bound
   * until the chances are used up.
   *
   * Locked rows are also in a list. They leave it when they are dropped or when the list is read.
   *
   * Caffeine keeps better statistics, but needs one more object in memory for every call.
   */
  private static final int STEPS = 4; // for each new account
  private static final int MOST_STEPS = 64; // for each new account above the bound
  private static final long MOST_AT_ONCE = 128;
  private static final long FEW_ACCOUNTS = 1_000;
  private static final long SLACK_MICROS = 60_000_000; // a clock may step back by that much

  private final ConcurrentHashMap<String, ConcurrentHashMap<Identity, Row>> byRule =
      new ConcurrentHashMap<>();
  private final ConcurrentHashMap<Row, Account> locked = new ConcurrentHashMap<>();
  private final AtomicLong made = new AtomicLong();
  private final AtomicLong removed = new AtomicLong();
  private final long mostAccounts;
  private final long atOnce; // a power of two
  private final long fewAccounts; // up to here nothing is gained by dropping any
  private final ReentrantLock moving = new ReentrantLock();
  private Iterator<String> rules = Collections.emptyIterator();
  private String ruleAtHand = "";
  private Iterator<Map.Entry<Identity, Row>> hand = Collections.emptyIterator();

  Vault(long mostAccounts) {
    this.mostAccounts = mostAccounts;
    this.atOnce = Long.highestOneBit(Math.max(1, Math.min(MOST_AT_ONCE, mostAccounts / 1_000)));
    this.fewAccounts = Math.min(FEW_ACCOUNTS, mostAccounts / 2);
  }

  /** The row of an account, or null. */
  @Nullable Row find(String rule, Identity identity) {
    ConcurrentHashMap<Identity, Row> rows = byRule.get(rule);
    Row found = rows == null ? null : rows.get(identity);
    if (found != null) {
      found.touch();
    }
    return found;
  }

  /** Makes the row of an account that has none. The caller must hold no monitor of a row. */
  Row make(String rule, Identity identity, Form form, long now) {
    Row fresh = Row.of(form, now);
    Row raced = rows(rule).putIfAbsent(identity, fresh);
    if (raced != null) {
      return raced;
    }
    if ((made.incrementAndGet() & (atOnce - 1)) == 0) {
      move(now);
    }
    return fresh;
  }

  /** How many rows there are. */
  long size() {
    return made.get() - removed.get();
  }

  /** Removes a row. The caller must hold its monitor. */
  void retire(String rule, Identity identity, Row row) {
    row.retired = true;
    locked.remove(row);
    ConcurrentHashMap<Identity, Row> rows = byRule.get(rule);
    if (rows != null && rows.remove(identity, row)) {
      removed.incrementAndGet();
    }
  }

  /** Adds a locked row to the list of locks. The caller must hold its monitor. */
  void list(Row row, Account account) {
    row.listed = true;
    locked.put(row, account);
  }

  /** The locks in force, unsorted. */
  List<Restriction> locks(long now) {
    List<Restriction> locks = new ArrayList<>();
    locked.forEach(
        (row, account) -> {
          synchronized (row) {
            Row.Held lock = row.lock;
            if (lock == null || row.isLockForgotten(now)) {
              row.listed = false;
              locked.remove(row);
            } else if (row.isLocked(now)) {
              Instant end = instant(now + row.lockLeft(now));
              locks.add(new Restriction(account, instant(lock.since()), end, lock.reason()));
            }
          }
        });
    return locks;
  }

  static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }

  private ConcurrentHashMap<Identity, Row> rows(String rule) {
    return byRule.computeIfAbsent(rule, absent -> new ConcurrentHashMap<>());
  }

  private void move(long now) {
    if (!moving.tryLock()) {
      return;
    }
    try {
      boolean over = size() > mostAccounts;
      long steps = over ? MOST_STEPS * atOnce : size() > fewAccounts ? STEPS * atOnce : 0;
      for (long i = 0; i < steps && (!over || size() > mostAccounts); i++) {
        step(now, over);
      }
    } finally {
      moving.unlock();
    }
  }

  /** Moves the hand by one row, and drops the row if it is spent or must make room. */
  private void step(long now, boolean over) {
    if (!hand.hasNext()) {
      if (!rules.hasNext()) {
        rules = byRule.keySet().iterator();
      }
      ruleAtHand = rules.next();
      hand = rows(ruleAtHand).entrySet().iterator();
    }
    if (hand.hasNext()) {
      Map.Entry<Identity, Row> entry = hand.next();
      Row row = entry.getValue();
      synchronized (row) {
        // An unused row belongs to a call that is under way.
        if (!row.retired
            && !row.isUnused()
            && (row.isSpent(now - SLACK_MICROS)
                || (over && row.isOutOfChances() && !row.isLocked(now)))) {
          retire(ruleAtHand, entry.getKey(), row);
        }
      }
    }
  }
}
