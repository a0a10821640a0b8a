package dev.sluice.memory;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.github.benmanes.caffeine.cache.Ticker;
import dev.sluice.Account;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Durations;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Store;
import dev.sluice.Terms;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The store inside the JVM: exact to the microsecond of its clock, bounded, thread-safe.
 *
 * <p>Every answer is there when the method returns.
 */
public final class MemoryStore implements Store {
  /*
   * Cells live in the vault. The locks in force are listed beside it, with their reasons; an entry
   * that is out of date does no harm, because the books decide, and goes when the list is read or a
   * hand that moves on with every new lock comes by.
   */
  private static final long DEFAULT_MOST_ACCOUNTS = 1_000_000;
  private static final long MOST_ANSWERS = 100_000;
  private static final Cell UNCLAIMED = new Cell(null);

  private final InstantSource clock;
  private final Vault vault;
  private final Map<Account, Held> locks = new ConcurrentHashMap<>();
  private final Cache<Seen, Decision> answers;
  private final Cache<Seen, Long> settled;
  private final Hand<Map.Entry<Account, Held>> hand = new Hand<>();

  /** A lock as it was when it was noted: an account that is locked after its end has a new one. */
  private record Held(Cell cell, String reason, long until) {}

  /** A call that was seen: its id and the accounts it asked for. */
  private record Seen(String id, List<Account> accounts) {}

  private MemoryStore(InstantSource clock, long mostAccounts) {
    this.clock = clock;
    this.vault = new Vault(mostAccounts);
    Ticker ticker = () -> now() * 1_000;
    this.answers =
        Caffeine.newBuilder()
            .ticker(ticker)
            .executor(Runnable::run)
            .expireAfterWrite(CALL_MEMORY)
            .maximumSize(MOST_ANSWERS)
            .build();
    this.settled =
        Caffeine.newBuilder()
            .ticker(ticker)
            .executor(Runnable::run)
            .expireAfter(Expiry.<Seen, Long>creating((seen, micros) -> Durations.ofMicros(micros)))
            .maximumSize(mostAccounts)
            .build();
  }

  /** A store of one million accounts on the system's clock. */
  public static MemoryStore create() {
    return create(InstantSource.system());
  }

  public static MemoryStore create(InstantSource clock) {
    return create(clock, DEFAULT_MOST_ACCOUNTS);
  }

  public static MemoryStore create(InstantSource clock, long mostAccounts) {
    if (mostAccounts < 1) {
      throw new IllegalArgumentException(
          "mostAccounts: " + mostAccounts + " (expected: at least 1)");
    }
    return new MemoryStore(clock, mostAccounts);
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    return CompletableFuture.completedFuture(decide(plan));
  }

  @Override
  public Decision decide(Charge charge) {
    Decision paid = pay(charge, null);
    return paid == null ? judgeUnpaid(Plan.of(charge)) : paid;
  }

  @Override
  public Decision decide(Plan plan) {
    String id = plan.id();
    return id == null || plan.intent() == Intent.PEEK
        ? judge(plan)
        : answers.get(new Seen(id, accounts(plan)), seen -> judge(plan));
  }

  /** How many accounts are kept now. */
  long size() {
    return vault.size();
  }

  private static List<Account> accounts(Plan plan) {
    return plan.charges().stream().map(Charge::account).toList();
  }

  private Decision judge(Plan plan) {
    if (plan.charges().size() != 1) {
      return judgeClaimed(plan, now());
    }
    Decision paid = plan.intent() == Intent.TAKE ? pay(plan.charges().get(0), plan.id()) : null;
    return paid == null ? judgeUnpaid(plan) : paid;
  }

  /** The way of a single charge that no purse pays. */
  private Decision judgeUnpaid(Plan plan) {
    long now = now();
    Decision alone = judgeAlone(plan, plan.charges().get(0), now);
    return alone == null ? judgeClaimed(plan, now) : alone;
  }

  /** The way of nearly every call: its account has a purse, and that pays. Null if it does not. */
  private @Nullable Decision pay(Charge charge, @Nullable String id) {
    long now = now();
    Cell cell = vault.findOrMake(charge.rule().name(), charge.identity(), charge.terms(), now);
    if (charge.cost() > 0 && cell.page() instanceof Purse purse) {
      long paid = purse.take(charge.terms(), now, charge.cost());
      if (paid != Purse.REFUSED) {
        return new Taken(charge, id, now, paid);
      }
    }
    return null;
  }

  /** The way of a single charge, without a lock; null if its account has to be claimed. */
  private @Nullable Decision judgeAlone(Plan plan, Charge charge, long now) {
    Account account = charge.account();
    boolean looks = plan.intent() == Intent.PEEK;
    while (true) {
      Cell cell = looks ? existing(account) : findOrMake(account, charge.terms(), now);
      Page page = cell.page();
      if (page == null) {
        forget(account, cell);
        continue;
      }
      Books read = page.books();
      if (read == null) {
        continue;
      }
      if (read.hasLog() || hasLog(charge)) {
        return null;
      }
      Judgement judgement = Judgement.of(plan, new Books[] {read}, now);
      Books next = judgement.after()[0];
      if (next == read || cell.replace(read, next)) {
        note(account, cell, next, now);
        return judgement.decision();
      }
      if (page instanceof Purse) {
        return null;
      }
    }
  }

  private Decision judgeClaimed(Plan plan, long now) {
    Claims claims = new Claims(accounts(plan), now, plan.intent() == Intent.PEEK);
    try {
      Judgement judgement = Judgement.of(plan, claims.books.clone(), now);
      System.arraycopy(judgement.after(), 0, claims.books, 0, claims.books.length);
      return judgement.decision();
    } finally {
      claims.release();
    }
  }

  private static boolean hasLog(Charge charge) {
    for (Limit limit : charge.terms().limits()) {
      if (limit instanceof Limit.SlidingLog) {
        return true;
      }
    }
    return false;
  }

  @Override
  public CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
    long now = now();
    List<Account> accounts = receipt.entries().stream().map(Receipt.Entry::account).toList();
    long remembered = CALL_MEMORY.toMillis() * 1_000;
    for (Receipt.Entry entry : receipt.entries()) {
      remembered = Math.max(remembered, 2 * entry.terms().memoryMicros(receipt.takenAtMicros()));
    }
    if (settled
            .asMap()
            .putIfAbsent(
                new Seen(receipt.id() + "@" + receipt.takenAtMicros(), accounts), remembered)
        != null) {
      return CompletableFuture.completedFuture(false);
    }
    Claims claims = new Claims(accounts, now, false);
    try {
      for (int i = 0; i < claims.books.length; i++) {
        Receipt.Entry entry = receipt.entries().get(i);
        claims.books[i] = claims.books[i].settled(entry, receipt.id(), actualCost, now);
      }
    } finally {
      claims.release();
    }
    return CompletableFuture.completedFuture(true);
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    long now = now();
    Cell cell = existing(account);
    Books found = cell.claim();
    if (found != null) {
      cell.retire();
      forget(account, cell);
    }
    return CompletableFuture.completedFuture(found != null && !found.isSpent(now));
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    long now = now();
    long until = now + Durations.micros(length);
    Claims claims = new Claims(List.of(account), now, false);
    claims.books[0] = claims.books[0].lockedUntil(now, until);
    locks.put(account, new Held(claims.cells.get(0), reason, until));
    claims.release();
    return CompletableFuture.completedFuture(new Restriction(account, instant(until), reason));
  }

  @Override
  public CompletionStage<Boolean> lift(Account account) {
    long now = now();
    Claims claims = new Claims(List.of(account), now, true);
    boolean was = claims.books[0].isLocked(now);
    claims.books[0] = claims.books[0].locked(null);
    locks.remove(account);
    claims.release();
    return CompletableFuture.completedFuture(was);
  }

  @Override
  public CompletionStage<List<Restriction>> locks(@Nullable String rule) {
    long now = now();
    List<Restriction> found = new ArrayList<>();
    locks.forEach(
        (account, held) -> {
          Books books = held.cell.read();
          if (books == null || books.isLockForgotten(now)) {
            locks.remove(account, held);
          } else if (books.isLocked(now) && (rule == null || rule.equals(account.rule()))) {
            found.add(new Restriction(account, instant(now + books.lockLeft(now)), held.reason));
          }
        });
    found.sort(Comparator.comparing(Restriction::account));
    return CompletableFuture.completedFuture(found);
  }

  @Override
  public void close() {}

  /** Lists an account that is locked, so that it is not pushed out. */
  private void note(Account account, Cell cell, Books books, long now) {
    if (!books.isLocked(now)) {
      return;
    }
    Held known = locks.get(account);
    if (known == null || known.until <= now) {
      long until = now + books.lockLeft(now);
      locks.put(account, new Held(cell, String.valueOf(books.terms()), until));
      hand.step(locks.entrySet(), entry -> forgetLock(entry, now));
    }
  }

  private void forgetLock(Map.Entry<Account, Held> entry, long now) {
    Cell cell = entry.getValue().cell;
    Books books = cell.glance();
    if (cell.isDead() || (books != null && books.isLockForgotten(now))) {
      locks.remove(entry.getKey(), entry.getValue());
    }
  }

  private Cell findOrMake(Account account, @Nullable Terms terms, long now) {
    return vault.findOrMake(account.rule(), account.identity(), terms, now);
  }

  /** The cell of an account, one that nobody else sees if it has none. */
  private Cell existing(Account account) {
    Cell found = vault.find(account.rule(), account.identity());
    return found == null ? new Cell(null) : found;
  }

  /** Takes a cell that is no longer in use off the maps, so that the account gets a new one. */
  private void forget(Account account, Cell cell) {
    vault.remove(account.rule(), account.identity(), cell);
    locks.computeIfPresent(account, (key, held) -> held.cell == cell ? null : held);
  }

  private long now() {
    Instant instant = clock.instant();
    return Math.max(0, instant.getEpochSecond() * 1_000_000 + instant.getNano() / 1_000);
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }

  /** Several cells claimed at once, in the order of their accounts; released in one go. */
  private final class Claims {
    private final List<Account> accounts;
    private final List<Cell> cells;
    private final Books[] books;
    private final long now;

    Claims(List<Account> accounts, long now, boolean looks) {
      this.accounts = accounts;
      this.now = now;
      this.cells = new ArrayList<>(Collections.nCopies(accounts.size(), UNCLAIMED));
      this.books = new Books[accounts.size()];
      Integer[] order = new Integer[accounts.size()];
      Arrays.setAll(order, i -> i);
      Arrays.sort(order, Comparator.comparing(accounts::get));
      for (int i : order) {
        Books claimed = null;
        while (claimed == null) {
          Account account = accounts.get(i);
          Cell cell = looks ? existing(account) : findOrMake(account, null, now);
          claimed = cell.claim();
          if (claimed == null) {
            forget(account, cell);
          }
          cells.set(i, cell);
        }
        books[i] = claimed;
      }
    }

    void release() {
      for (int i = 0; i < books.length; i++) {
        cells.get(i).release(books[i]);
        note(accounts.get(i), cells.get(i), books[i], now);
      }
    }
  }

  /** Moves over a map a few entries at a time, again and again. */
  private static final class Hand<E> {
    private static final int STEPS = 4;

    private final ReentrantLock moving = new ReentrantLock();
    private Iterator<E> at = Collections.emptyIterator();

    void step(Set<E> entries, Consumer<E> action) {
      if (!moving.tryLock()) {
        return;
      }
      try {
        if (!at.hasNext()) {
          at = entries.iterator();
        }
        for (int i = 0; i < STEPS && at.hasNext(); i++) {
          action.accept(at.next());
        }
      } finally {
        moving.unlock();
      }
    }
  }
}
