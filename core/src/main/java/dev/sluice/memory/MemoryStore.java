package dev.sluice.memory;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
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
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A store inside the JVM: exact to the microsecond of its clock, bounded, thread-safe.
 *
 * <p>Every stage that it returns is already complete.
 */
public final class MemoryStore implements Store {
  /*
   * An account is a row in the vault. A row is used under its monitor. RowMonitors takes several of
   * them; RowSettlement says what a settlement does to a row.
   *
   * Calls with an id and settled receipts are in registers, which forget nothing before its time.
   */
  private static final long DEFAULT_MOST_ACCOUNTS = 1_000_000;
  private static final long LEAST_REMEMBERED = 1_000_000;

  /** How long a settlement is remembered at least, because it may be sent again. */
  private static final long RESEND_MICROS = 10_000_000;

  private final InstantSource clock;
  private final Vault vault;
  private final RowMonitors monitors;
  private final Forms forms = new Forms();
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
    this.monitors = new RowMonitors(vault);
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
  public void take(Plan plan, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    Decision decision;
    try {
      decision = decide(plan);
    } catch (RuntimeException e) {
      then.accept(null, e);
      return;
    }
    then.accept(decision, null);
  }

  @Override
  public Decision decide(Charge charge) {
    long now = now();
    Decision taken = takeAlone(charge, now);
    return taken == null ? judge(Plan.of(charge), null, now) : taken;
  }

  private @Nullable Decision takeAlone(Charge charge, long now) {
    Row row = vault.find(charge.rule().name(), charge.identity());
    if (row == null) {
      return null;
    }
    synchronized (row) {
      return row.retired ? null : Judge.takeAlone(charge, row, now);
    }
  }

  @Override
  public Decision decide(Plan plan) {
    CallName name = CallName.of(plan);
    if (name != null) {
      return judgeNamed(plan, name, name.receiptId());
    }
    long now = now();
    boolean alone = plan.intent() == Intent.TAKE && plan.charges().size() == 1;
    Decision taken = alone ? takeAlone(plan.charges().get(0), now) : null;
    return taken == null ? judge(plan, null, now) : taken;
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
        monitors.with(
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
            : monitors.with(
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
        Form form = forms.of(charge.terms());
        row = makes ? vault.make(rule, identity, form, now) : Row.of(form, now);
      }
      synchronized (row) {
        if (!row.retired) {
          Form form = forms.of(row, charge.terms());
          long[] numbers = Judge.judge(plan, new Judge.Case(charge, row, form, now, null), now);
          if (row.lock != null || row.isUnused()) {
            monitors.tidy(charge.account(), row);
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
    return new Judge.Case(charge, rows[i], forms.of(rows[i], charge.terms()), now, next);
  }

  private static List<Account> accounts(Plan plan) {
    return plan.charges().stream().map(Charge::account).toList();
  }

  // Settlements

  @Override
  @SuppressWarnings("ReferenceEquality") // the entry that this very call made
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    long now = now();
    RowSettlement rowSettlement = new RowSettlement(receipt, settlement, forms, now);
    if (rowSettlement.isLate && !rowSettlement.isAbove) {
      return CompletableFuture.completedFuture(Settled.NOT_DONE);
    }
    List<Account> accounts = receipt.entries().stream().map(Receipt.Entry::account).toList();
    Take take = new Take(receipt.id(), receipt.takenAtMicros(), accounts);
    Done mine = new Done(Math.max(rowSettlement.end, now + RESEND_MICROS));
    try {
      if (settled.update(take, now, known -> known == null ? mine : known) != mine) {
        return CompletableFuture.completedFuture(Settled.NOT_DONE);
      }
    } catch (StoreFullException full) {
      return CompletableFuture.failedFuture(full);
    }
    long[] uncharged = monitors.with(accounts, rowSettlement.isAbove, now, rowSettlement::settle);
    if (receipt.id().length() == CallName.RECEIPT_ID_LENGTH && rowSettlement.isGivenBack()) {
      calls.remove(
          receipt.id().substring(0, CallName.CALL_DIGITS),
          seen -> seen.judgedAt() == receipt.takenAtMicros());
    }
    return CompletableFuture.completedFuture(Settled.of(receipt.entries(), uncharged));
  }

  // Accounts

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    long now = now();
    return CompletableFuture.completedFuture(
        monitors.with(
            List.of(account), false, now, rows -> forget(account, rows[0], !rows[0].isSpent(now))));
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    long now = now();
    return CompletableFuture.completedFuture(
        monitors.with(
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
        monitors.with(
            List.of(account),
            true,
            now,
            rows -> {
              Row.Held lock = rows[0].lockUntil(until, now, reason);
              return new Restriction(
                  account, Vault.instant(lock.since()), Vault.instant(until), reason);
            }));
  }

  @Override
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    LockPage.checkLimit(limit);
    LockPage.Place from = LockPage.Place.after(after);
    List<Restriction> all = vault.locks(now());
    all.removeIf(lock -> rule != null && !rule.equals(lock.account().rule()));
    int total = all.size();
    all.removeIf(lock -> !from.isBefore(lock));
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
