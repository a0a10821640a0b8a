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
   * A map for each rule, with a hand that moves over all of them, some rows further for every
   * account that is new; so there is no thread and no timer, and finding a row costs a look into
   * the map and a count in the row. What a call has to fetch from memory decides how fast it is:
   * the rules are few and at hand, so a map of their own spares the object that would name rule and
   * identity together. The map of a rule that is no longer asked for runs empty, and stays.
   *
   * The hand moves for up to MOST_AT_ONCE new accounts in one go, a thousandth of the bound at most:
   * most of them pay for no more than a count. It takes the monitors of rows, so whoever moves it, by
   * making a row, holds none.
   *
   * The hand drops rows that are spent (everything has come back, no lock): nobody can notice. They
   * must have been spent a minute ago: what an account held before a clock stepped back still counts,
   * and a busy account with a fast refill is spent between any two calls; to drop it is to make it
   * anew, which moves the hand again.
   *
   * Above the bound it also pushes accounts out. One that came back has up to three chances, each
   * used up when the hand comes by; one that was seen once has none. So a flood of identities that
   * are seen once pushes out itself, and not those who keep coming. A locked account is never pushed
   * out. If the hand finds nobody to push out within MOST_STEPS, the vault is over its bound for as
   * long as it takes to use the chances up.
   *
   * The rows that were locked are listed beside the maps, and leave the list when they are dropped or
   * when it is read.
   *
   * Caffeine keeps the better statistics, but has one more object to fetch from memory for every
   * call.
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

  /** Makes the row of an account that has none. Only without any row's monitor. */
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

  /** Takes a row out, for whoever holds its monitor. */
  void retire(String rule, Identity identity, Row row) {
    row.retired = true;
    locked.remove(row);
    ConcurrentHashMap<Identity, Row> rows = byRule.get(rule);
    if (rows != null && rows.remove(identity, row)) {
      removed.incrementAndGet();
    }
  }

  /** Lists a row that was locked, for whoever holds its monitor. */
  void list(Row row, Account account) {
    row.listed = true;
    locked.put(row, account);
  }

  /** The locks in force, in no order. */
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
              Instant end = Instant.EPOCH.plus(now + row.lockLeft(now), ChronoUnit.MICROS);
              locks.add(new Restriction(account, end, lock.reason()));
            }
          }
        });
    return locks;
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

  /** Moves the hand on by one row, and drops it if it is spent or has to make room. */
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
        // One that is unused is for a call under way.
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
