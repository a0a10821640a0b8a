package dev.sluice.memory;

import dev.sluice.Account;
import dev.sluice.CallName;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Durations;
import dev.sluice.IdReusedException;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.LockPage;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Store;
import dev.sluice.StoreFullException;
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
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
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
   * hand that moves on with every new lock comes by. Calls with an id and settled receipts stand in
   * registers, which forget nothing before its time.
   */
  private static final long DEFAULT_MOST_ACCOUNTS = 1_000_000;
  private static final long LEAST_REMEMBERED = 1_000_000;
  private static final Cell UNCLAIMED = new Cell(null);

  private final InstantSource clock;
  private final Vault vault;
  private final Map<Account, Held> locks = new ConcurrentHashMap<>();
  private final Register<String, Seen> calls;
  private final Register<Take, Settled> settled;
  private final Register<Undone, Settled> undone;
  private final Hand<Map.Entry<Account, Held>> hand = new Hand<>();

  /** A lock as it was when it was noted: an account that is locked after its end has a new one. */
  private record Held(Cell cell, String reason, long until) {}

  /** What a receipt is for. */
  private record Take(String id, long takenAtMicros, List<Account> accounts) {}

  /** What a call with an id took from an account, and gave back. */
  private record Undone(String receiptId, long takenAtMicros, Account account) {}

  /** That a receipt was settled. */
  private record Settled(long until) implements Register.Entry<Settled> {
    @Override
    public @Nullable Settled after() {
      return null;
    }
  }

  private MemoryStore(InstantSource clock, long mostAccounts, long mostRemembered) {
    this.clock = clock;
    this.vault = new Vault(mostAccounts);
    this.calls = new Register<>("calls with an id", mostRemembered);
    this.settled = new Register<>("settled receipts", mostRemembered);
    this.undone = new Register<>("receipts given back", mostRemembered);
  }

  /** A store of one million accounts on the system's clock. */
  public static MemoryStore create() {
    return create(InstantSource.system());
  }

  public static MemoryStore create(InstantSource clock) {
    return create(clock, DEFAULT_MOST_ACCOUNTS);
  }

  /**
   * A store of at most so many accounts. It remembers as many calls with an id and as many settled
   * receipts, and at least 1,000,000 of each; beyond that it refuses more of them.
   */
  public static MemoryStore create(InstantSource clock, long mostAccounts) {
    return create(clock, mostAccounts, Math.max(LEAST_REMEMBERED, mostAccounts));
  }

  static MemoryStore create(InstantSource clock, long mostAccounts, long mostRemembered) {
    if (mostAccounts < 1) {
      throw new IllegalArgumentException(
          "mostAccounts: " + mostAccounts + " (expected: at least 1)");
    }
    return new MemoryStore(clock, mostAccounts, mostRemembered);
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    try {
      return CompletableFuture.completedFuture(decide(plan));
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  @Override
  public Decision decide(Charge charge) {
    Decision paid = pay(charge);
    return paid == null ? judgeUnpaid(Plan.of(charge), null, now()) : paid;
  }

  @Override
  public Decision decide(Plan plan) {
    CallName name = CallName.of(plan);
    if (name != null) {
      return judgeNamed(plan, name, name.receiptId());
    }
    boolean pays = plan.intent() == Intent.TAKE && plan.charges().size() == 1;
    Decision paid = pays ? pay(plan.charges().get(0)) : null;
    return paid == null ? judgeUnpaid(plan, null, now()) : paid;
  }

  /** Judges a plan whose receipt has an id that was chosen for it. */
  public Decision decide(Plan plan, String receiptId) {
    CallName name = CallName.of(plan);
    return name == null ? judgeUnpaid(plan, receiptId, now()) : judgeNamed(plan, name, receiptId);
  }

  /** The way of a call with an id: judged once, and answered again as often as it comes. */
  private Decision judgeNamed(Plan plan, CallName name, String receiptId) {
    long now = now();
    Seen seen =
        calls.update(
            name.call(),
            now,
            known -> {
              if (known != null && !known.name().question().equals(name.question())) {
                throw new IdReusedException(String.valueOf(plan.id()));
              }
              return known != null
                      && known.stands(now)
                      && !forgetUndone(plan, receiptId, known.judgedAt(), now)
                  ? known
                  : Seen.of(plan, name, judgeUnpaid(plan, receiptId, now), now);
            });
    Decision answer = seen.answer();
    return answer != null && seen.name().equals(name)
        ? answer
        : judgeClaimed(plan, true, now, books -> Judgement.standing(plan, seen, books, now));
  }

  /** Whether the call was given back since: then nothing counts for its id, and it is judged. */
  private boolean forgetUndone(Plan plan, String receiptId, long takenAt, long now) {
    boolean found = false;
    for (Charge charge : plan.charges()) {
      Undone given = new Undone(receiptId, takenAt, charge.account());
      if (undone.get(given, now) != null) {
        undone.remove(given);
        found = true;
      }
    }
    if (found) {
      // Taken again in the same microsecond, the call has the same receipt: it is good again.
      settled.remove(new Take(receiptId, now, accounts(plan)));
    }
    return found;
  }

  /** How many accounts are kept now. */
  long size() {
    return vault.size();
  }

  private static List<Account> accounts(Plan plan) {
    return plan.charges().stream().map(Charge::account).toList();
  }

  /**
   * The way of a plan that no purse pays.
   *
   * @param receiptId the id of the receipt; null if one has to be made
   */
  private Decision judgeUnpaid(Plan plan, @Nullable String receiptId, long now) {
    Decision alone =
        plan.charges().size() == 1 ? judgeAlone(plan, receiptId, plan.charges().get(0), now) : null;
    boolean looks = plan.intent() == Intent.PEEK;
    return alone == null
        ? judgeClaimed(plan, looks, now, books -> Judgement.of(plan, receiptId, books, now))
        : alone;
  }

  /** The way of nearly every call: its account has a purse, and that pays. Null if it does not. */
  private @Nullable Decision pay(Charge charge) {
    long now = now();
    Cell cell = vault.findOrMake(charge.rule().name(), charge.identity(), charge.terms(), now);
    if (charge.cost() > 0 && cell.page() instanceof Purse purse) {
      long paid = purse.take(charge.terms(), now, charge.cost());
      if (paid != Purse.REFUSED) {
        return new Taken(charge, now, paid);
      }
    }
    return null;
  }

  /** The way of a single charge, without a lock; null if its account has to be claimed. */
  private @Nullable Decision judgeAlone(
      Plan plan, @Nullable String receiptId, Charge charge, long now) {
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
      Judgement judgement = Judgement.of(plan, receiptId, new Books[] {read}, now);
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

  private Decision judgeClaimed(
      Plan plan, boolean looks, long now, Function<Books[], Judgement> judging) {
    Claims claims = new Claims(accounts(plan), now, looks);
    try {
      Judgement judgement = judging.apply(claims.books.clone());
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
  @SuppressWarnings("ReferenceEquality") // the entry that this very call made
  public CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
    long now = now();
    List<Account> accounts = receipt.entries().stream().map(Receipt.Entry::account).toList();
    long remembered = CALL_MEMORY.toMillis() * 1_000;
    for (Receipt.Entry entry : receipt.entries()) {
      remembered = Math.max(remembered, 2 * entry.terms().memoryMicros(receipt.takenAtMicros()));
    }
    Settled mine = new Settled(now + remembered);
    Take take = new Take(receipt.id(), receipt.takenAtMicros(), accounts);
    try {
      if (settled.update(take, now, known -> known == null ? mine : known) != mine) {
        return CompletableFuture.completedFuture(false);
      }
    } catch (StoreFullException full) {
      return CompletableFuture.failedFuture(full);
    }
    if (actualCost == 0 && receipt.id().length() == CallName.RECEIPT_ID_LENGTH) {
      for (Receipt.Entry entry : receipt.entries()) {
        if (entry.cost() > 0) {
          undone.update(
              new Undone(receipt.id(), receipt.takenAtMicros(), entry.account()),
              now,
              known -> mine);
        }
      }
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
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    LockPage.checkLimit(limit);
    LockPage.Place from = LockPage.Place.after(after);
    long now = now();
    List<Restriction> behind = new ArrayList<>();
    AtomicLong total = new AtomicLong();
    locks.forEach(
        (account, held) -> {
          Books books = held.cell.read();
          if (books == null || books.isLockForgotten(now)) {
            locks.remove(account, held);
          } else if (books.isLocked(now) && (rule == null || rule.equals(account.rule()))) {
            Restriction lock =
                new Restriction(account, instant(now + books.lockLeft(now)), held.reason);
            total.incrementAndGet();
            if (LockPage.Place.of(lock).compareTo(from) > 0) {
              behind.add(lock);
            }
          }
        });
    return CompletableFuture.completedFuture(LockPage.of(behind, total.get(), limit));
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
