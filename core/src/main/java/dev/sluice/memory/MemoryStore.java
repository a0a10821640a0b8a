package dev.sluice.memory;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Lock;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.store.CallName;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import dev.sluice.store.StoreFullException;
import dev.sluice.store.Verdict;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A store inside the JVM: exact to the microsecond of its clock, bounded, thread-safe.
 *
 * <p>Every stage that it returns is already complete.
 */
public final class MemoryStore implements Store {
  /*
   * An account is a row in the vault. A row is used under its monitor; several monitors are taken
   * in the order of their accounts. If a row was removed before its monitor was taken, it is looked
   * up again.
   *
   * Calls with an id and settled receipts are in registers, which forget nothing before its time.
   */
  private static final long DEFAULT_MOST_ACCOUNTS = 1_000_000;
  private static final long LEAST_REMEMBERED = 1_000_000;
  private static final int MOST_FORMS = 10_000;

  /** How long a settlement is remembered at least, because it may be sent again. */
  private static final long RESEND_MICROS = 10_000_000;

  private final InstantSource clock;
  private final Vault vault;
  private final Map<Terms, Form> forms = new ConcurrentHashMap<>();
  private volatile Form lastForm = Form.NONE;
  private final Register<String, Seen> calls;
  private final Register<Take, Done> settled;
  private final MemoryData data;

  /** The identity of a receipt. */
  private record Take(String id, long takenAtMicros, List<Account> accounts) {}

  /** A receipt that was settled. */
  private record Done(long until) implements Register.Entry<Done> {
    @Override
    public @Nullable Done after() {
      return null;
    }
  }

  private MemoryStore(InstantSource clock, long mostAccounts, long mostRemembered) {
    this.clock = clock;
    this.vault = new Vault(mostAccounts);
    this.calls = new Register<>("calls with an id", mostRemembered);
    this.settled = new Register<>("settled receipts", mostRemembered);
    this.data = new MemoryData(clock);
  }

  /** A store of one million accounts on the system's clock. */
  public static MemoryStore create() {
    return create(InstantSource.system());
  }

  /** A store of one million accounts on a clock. */
  public static MemoryStore create(InstantSource clock) {
    return create(clock, DEFAULT_MOST_ACCOUNTS);
  }

  /**
   * A store of at most {@code mostAccounts} accounts. It remembers as many calls with an id and as
   * many settled receipts, and at least 1,000,000 of each. Beyond that it throws a {@link
   * StoreFullException}.
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

  /** The number of accounts in memory. */
  long size() {
    return vault.size();
  }

  // Decisions

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
    long now = now();
    Row row = vault.find(charge.rule().name(), charge.identity());
    if (row != null) {
      long[] numbers;
      synchronized (row) {
        numbers = row.retired ? null : Judge.takeAlone(charge, row, now);
      }
      if (numbers != null) {
        return Verdict.taken(charge, numbers);
      }
    }
    return judge(Plan.of(charge), null, now);
  }

  @Override
  public Decision decide(Plan plan) {
    CallName name = CallName.of(plan);
    return name == null ? judge(plan, null, now()) : judgeNamed(plan, name, name.receiptId());
  }

  /** Decides a plan with a given receipt id. */
  public Decision decide(Plan plan, String receiptId) {
    CallName name = CallName.of(plan);
    return name == null ? judge(plan, receiptId, now()) : judgeNamed(plan, name, receiptId);
  }

  /** Decides a call with an id once, and repeats the decision when it is sent again. */
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
              if (known != null && known.stands(now)) {
                return known;
              }
              // If it was refunded and taken again in the same microsecond, the receipt is the
              // same: make it valid again.
              settled.remove(new Take(receiptId, now, accounts(plan)), done -> true);
              return Seen.of(plan, name, judge(plan, receiptId, now), now);
            });
    Decision answer = seen.answer();
    if (answer != null && seen.name().equals(name)) {
      return answer;
    }
    long[] numbers =
        with(
            accounts(plan),
            false,
            now,
            rows -> Judge.stand(plan, seen.allowed(), cases(plan, rows, now), now));
    return Verdict.decision(plan, numbers, receiptId);
  }

  private Decision judge(Plan plan, @Nullable String receiptId, long now) {
    boolean makes = plan.intent() != Intent.PEEK;
    long[] numbers =
        plan.charges().size() == 1
            ? judgeOne(plan, plan.charges().get(0), makes, now)
            : with(
                accounts(plan), makes, now, rows -> Judge.judge(plan, cases(plan, rows, now), now));
    return Verdict.decision(plan, numbers, receiptId);
  }

  /** Decides a plan with a single charge, the common case. */
  private long[] judgeOne(Plan plan, Charge charge, boolean makes, long now) {
    String rule = charge.rule().name();
    Identity identity = charge.identity();
    while (true) {
      Row row = vault.find(rule, identity);
      if (row == null) {
        Form form = form(charge.terms());
        row = makes ? vault.make(rule, identity, form, now) : Row.of(form, now);
      }
      synchronized (row) {
        if (!row.retired) {
          long[] numbers = plan.intent() == Intent.TAKE ? Judge.takeAlone(charge, row, now) : null;
          if (numbers == null) {
            Form form = form(row, charge.terms());
            numbers = Judge.judge(plan, new Judge.Case(charge, row, form, now, null), now);
          }
          if (row.lock != null || row.isUnused()) {
            tidy(charge.account(), row);
          }
          return numbers;
        }
      }
    }
  }

  private Judge.Case cases(Plan plan, Row[] rows, long now) {
    int last = rows.length - 1;
    Judge.Case first = oneCase(plan, last, rows, now, null);
    for (int i = last - 1; i >= 0; i--) {
      first = oneCase(plan, i, rows, now, first);
    }
    return first;
  }

  private Judge.Case oneCase(Plan plan, int i, Row[] rows, long now, Judge.@Nullable Case next) {
    Charge charge = plan.charges().get(i);
    return new Judge.Case(charge, rows[i], form(rows[i], charge.terms()), now, next);
  }

  private static List<Account> accounts(Plan plan) {
    return plan.charges().stream().map(Charge::account).toList();
  }

  /** The form of some terms; usually that of the row. */
  private Form form(Row row, Terms terms) {
    return row.form.isOf(terms) ? row.form : form(terms);
  }

  private Form form(Terms terms) {
    Form known = lastForm;
    if (!known.isOf(terms)) {
      known = forms.getOrDefault(terms, Form.NONE);
      if (!known.isOf(terms)) {
        if (forms.size() >= MOST_FORMS) {
          forms.clear();
        }
        known = new Form(terms);
        forms.put(terms, known);
      }
      lastForm = known;
    }
    return known;
  }

  /** The form of the terms of a receipt, which may come from another process. */
  private Form takenForm(Row row, Terms terms) {
    return terms.equals(row.form.terms()) ? row.form : form(terms);
  }

  // Rows

  /**
   * Runs an action on the rows of accounts, holding their monitors.
   *
   * @param makes whether accounts without a row get one; otherwise the action gets temporary rows
   */
  private <T> T with(List<Account> accounts, boolean makes, long now, Function<Row[], T> action) {
    Integer[] order = new Integer[accounts.size()];
    Arrays.setAll(order, i -> i);
    Arrays.sort(order, Comparator.comparing(accounts::get));
    while (true) {
      Row[] rows = new Row[order.length];
      for (int i = 0; i < rows.length; i++) {
        Account account = accounts.get(i);
        Row row = vault.find(account.rule(), account.identity());
        if (row == null) {
          row =
              makes
                  ? vault.make(account.rule(), account.identity(), Form.NONE, now)
                  : Row.of(Form.NONE, now);
        }
        rows[i] = row;
      }
      T done = holding(accounts, rows, order, 0, action);
      if (done != null) {
        return done;
      }
    }
  }

  /** Takes one monitor after the other; null if a row was removed meanwhile. */
  private <T> @Nullable T holding(
      List<Account> accounts, Row[] rows, Integer[] order, int at, Function<Row[], T> action) {
    if (at == order.length) {
      return action.apply(rows);
    }
    int place = order[at];
    Row row = rows[place];
    synchronized (row) {
      if (row.retired) {
        return null;
      }
      T done = holding(accounts, rows, order, at + 1, action);
      tidy(accounts.get(place), row);
      return done;
    }
  }

  /** Lists a new lock, and drops an unused row. Holds the monitor of the row. */
  private void tidy(Account account, Row row) {
    if (row.isUnused()) {
      vault.retire(account.rule(), account.identity(), row);
    } else if (row.lock != null && !row.listed) {
      vault.list(row, account);
    }
  }

  // Settlements

  @Override
  @SuppressWarnings("ReferenceEquality") // the entry that this very call made
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    long now = now();
    boolean late = now >= end(receipt);
    if (late && !isAbove(receipt, settlement)) {
      return CompletableFuture.completedFuture(Settled.NOT_DONE);
    }
    List<Account> accounts = receipt.entries().stream().map(Receipt.Entry::account).toList();
    Take take = new Take(receipt.id(), receipt.takenAtMicros(), accounts);
    Done mine = new Done(Math.max(end(receipt), now + RESEND_MICROS));
    try {
      if (settled.update(take, now, known -> known == null ? mine : known) != mine) {
        return CompletableFuture.completedFuture(Settled.NOT_DONE);
      }
    } catch (StoreFullException full) {
      return CompletableFuture.failedFuture(full);
    }
    long[] uncharged =
        with(
            accounts,
            isAbove(receipt, settlement),
            now,
            rows -> {
              long[] each = new long[rows.length];
              for (int i = 0; i < rows.length; i++) {
                Receipt.Entry entry = receipt.entries().get(i);
                each[i] = settle(rows[i], receipt, entry, settlement, late, now);
              }
              return each;
            });
    if (receipt.id().length() == CallName.RECEIPT_ID_LENGTH && isGivenBack(receipt, settlement)) {
      calls.remove(
          receipt.id().substring(0, CallName.CALL_DIGITS),
          seen -> seen.judgedAt() == receipt.takenAtMicros());
    }
    return CompletableFuture.completedFuture(Settled.of(receipt.entries(), uncharged));
  }

  /** When nothing is left to refund. */
  private static long end(Receipt receipt) {
    long end = receipt.openUntilMicros();
    for (Receipt.Entry entry : receipt.entries()) {
      long horizon = entry.terms().horizonMicros(receipt.takenAtMicros());
      end = Math.max(end, receipt.takenAtMicros() + horizon);
    }
    return end;
  }

  private static boolean isAbove(Receipt receipt, Settlement settlement) {
    return receipt.entries().stream().anyMatch(entry -> settlement.costOf(entry) > entry.cost());
  }

  private static boolean isGivenBack(Receipt receipt, Settlement settlement) {
    return receipt.entries().stream().allMatch(entry -> settlement.costOf(entry) == 0)
        && receipt.entries().stream().anyMatch(entry -> entry.cost() > 0);
  }

  /** Settles one account; returns what could not be charged. */
  private long settle(
      Row row,
      Receipt receipt,
      Receipt.Entry entry,
      Settlement settlement,
      boolean late,
      long now) {
    long actual = settlement.costOf(entry);
    row.forgetClosed(now);
    boolean forgiven = !late && settlement.forgives(entry.account());
    if (!late) {
      if (entry.locked() && (actual == 0 || forgiven)) {
        row.unlock(receipt.takenAtMicros(), now);
      }
      if (forgiven) {
        row.forgetUsage(now);
        row.close(entry.cost(), now, receipt.openUntilMicros());
        return 0;
      }
      confirm(row, receipt, entry, entry.cost() - actual, now);
    }
    return actual > entry.cost() ? record(row, entry.terms(), actual - entry.cost(), now) : 0;
  }

  /** Closes a reservation and refunds what is left of it, or of a take. */
  private void confirm(Row row, Receipt receipt, Receipt.Entry entry, long back, long now) {
    boolean wasOpen = receipt.openUntilMicros() > now;
    Lock rule = entry.terms().lock();
    Form taken = takenForm(row, entry.terms());
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

  private long record(Row row, Terms terms, long cost, long now) {
    Row state = row.at(takenForm(row, terms), now);
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

  // Accounts

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    long now = now();
    return CompletableFuture.completedFuture(
        with(
            List.of(account), false, now, rows -> forget(account, rows[0], !rows[0].isSpent(now))));
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    long now = now();
    return CompletableFuture.completedFuture(
        with(
            List.of(account),
            false,
            now,
            rows -> {
              boolean was = rows[0].isLocked(now);
              if (was && !keepUsage) {
                return forget(account, rows[0], true);
              }
              rows[0].endLock(now);
              return was;
            }));
  }

  /** Removes a row. The next row of the account refuses the receipts of this one. */
  private boolean forget(Account account, Row row, boolean was) {
    vault.retire(account.rule(), account.identity(), row);
    return was;
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    long now = now();
    long until = now + Durations.micros(length);
    return CompletableFuture.completedFuture(
        with(
            List.of(account),
            true,
            now,
            rows -> {
              rows[0].lockUntil(until, now, reason);
              Instant end = Instant.EPOCH.plus(until, ChronoUnit.MICROS);
              return new Restriction(account, end, reason);
            }));
  }

  @Override
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    LockPage.checkLimit(limit);
    LockPage.Place from = LockPage.Place.after(after);
    List<Restriction> all = vault.locks(now());
    all.removeIf(lock -> rule != null && !rule.equals(lock.account().rule()));
    int total = all.size();
    all.removeIf(lock -> LockPage.Place.of(lock).compareTo(from) <= 0);
    return CompletableFuture.completedFuture(LockPage.of(all, total, limit));
  }

  @Override
  public SharedData sharedData() {
    return data;
  }

  @Override
  public void close() {}

  private long now() {
    Instant instant = clock.instant();
    return Math.max(0, instant.getEpochSecond() * 1_000_000 + instant.getNano() / 1_000);
  }
}
