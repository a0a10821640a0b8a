package dev.sluice.outage;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.store.Charge;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A store around a store that answers denials it knows of by itself. Thread-safe. */
public final class DenialCache extends ForwardingStore {
  /*
   * When an account denies a cost until a moment, nothing but a refund (something given back, a
   * reset, a lifted lock) or a changed rule can make as much fit earlier. So until then the answer is
   * known. The moment is counted from when the question was sent, not from when the answer came: the
   * cache never denies what the store would allow.
   *
   * The cache answers only a call that it answers in full: every account of the call is known to
   * deny this very cost under these very terms, so the wait that the caller is told is the store's.
   * Not a call with an id, whose first decision must come back; not one with a rule that counts
   * denied calls, or a rule in shadow mode, which would have to be asked.
   *
   * Refunds made by any node are announced to all. One that arrives while a denial is on its way must
   * not be undone by it, so the time of each is kept for a while and an older denial is not
   * remembered. While announcements cannot be heard, nothing is remembered at all. And since an
   * announcement can be lost, and a Redis can lose its data, a denial is remembered for LONGEST at
   * most: whatever happens, the store is asked again after that.
   *
   * A denial is remembered no longer than the lock of its account: after that, the store would lock
   * it again.
   */
  /** How long a denial is remembered at most, unless told otherwise. */
  public static final Duration LONGEST = Duration.ofMillis(800);

  /** Longer than the name of any account. */
  private static final int LONGEST_TEXT = 32 * 1_024;

  private static final long MOST_KNOWN = 100_000;
  private static final Duration REFUND_MEMORY = Duration.ofSeconds(10);

  private final Duration longest;
  private final BooleanSupplier hearing;
  private final LongSupplier nanoTime;
  private final LongSupplier storeMicros;
  private final Runnable closing;
  private final Cache<Account, Known> denials =
      Caffeine.newBuilder().maximumSize(MOST_KNOWN).executor(Runnable::run).build();
  private final Cache<Long, Long> refunds =
      Caffeine.newBuilder()
          .expireAfterWrite(REFUND_MEMORY)
          .maximumSize(MOST_KNOWN)
          .executor(Runnable::run)
          .build();

  /** A denial of a cost under terms, from when it was asked for until it may be over. */
  private record Known(
      Terms terms, long cost, long askedNanos, long untilNanos, List<Balance> balances) {}

  /**
   * A cache.
   *
   * @param longest how long a denial is remembered at most
   * @param hearing whether refunds by other nodes are heard of
   * @param storeMicros the store's clock, as far as this node knows it
   */
  public DenialCache(
      Store store,
      Duration longest,
      BooleanSupplier hearing,
      LongSupplier nanoTime,
      LongSupplier storeMicros,
      Runnable closing) {
    super(store);
    this.longest = longest;
    this.hearing = hearing;
    this.nanoTime = nanoTime;
    this.storeMicros = storeMicros;
    this.closing = closing;
  }

  /** Forgets every denial: refunds may have been missed. */
  public void forgetAll() {
    denials.invalidateAll();
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    if (plan.intent() != Intent.TAKE || plan.id() != null || !hearing.getAsBoolean()) {
      return store.take(plan);
    }
    long now = nanoTime.getAsLong();
    Decision known = known(plan, now);
    if (known != null) {
      return CompletableFuture.completedFuture(known);
    }
    CompletionStage<Decision> asked = store.take(plan);
    return asked.thenApply(
        decision -> {
          if (decision instanceof Decision.Denied denied
              && denied.countedBy() == Decision.CountedBy.STORE) {
            remember(plan, denied, now);
          }
          return decision;
        });
  }

  /** The denial of a call all of whose accounts are known to deny it, or null. */
  private @Nullable Decision known(Plan plan, long now) {
    List<Charge> charges = plan.charges();
    List<Balance> balances = List.of();
    for (int i = 0; i < charges.size(); i++) {
      Charge charge = charges.get(i);
      Known known = isCacheable(charge) ? denials.getIfPresent(charge.account()) : null;
      if (known == null
          || now - known.untilNanos >= 0
          || Math.max(1, charge.cost()) != known.cost
          || !known.terms.equals(charge.terms())) {
        return null;
      }
      if (i == 0) {
        balances = new ArrayList<>(known.balances.size());
      }
      addBalances(known, now, balances);
    }
    return new Decision.Denied(balances, Decision.CountedBy.CACHE);
  }

  private static boolean isCacheable(Charge charge) {
    return charge.enforced() && !charge.terms().countDenied();
  }

  /** The balances of a denial as they stand now: what was to wait for is that much nearer. */
  private static void addBalances(Known known, long now, List<Balance> to) {
    long elapsed = (now - known.askedNanos) / 1_000;
    for (Balance balance : known.balances) {
      to.add(
          new Balance(
              balance.account(),
              balance.limit(),
              true,
              balance.remaining(),
              Math.max(0, balance.retryAfterMicros() - elapsed),
              Math.max(0, balance.resetAfterMicros() - elapsed),
              balance.lockedUntilMicros()));
    }
  }

  private void remember(Plan plan, Decision.Denied denied, long askedNanos) {
    for (Charge charge : plan.charges()) {
      if (!isCacheable(charge)) {
        continue;
      }
      List<Balance> balances =
          denied.balances().stream()
              .filter(balance -> balance.account().equals(charge.account()))
              .toList();
      long wait = 0;
      for (Balance balance : balances) {
        long each = balance.retryAfterMicros();
        wait = each == Balance.NEVER ? Balance.NEVER : Math.max(wait, each);
      }
      if (wait == 0 || wait == Balance.NEVER) {
        continue;
      }
      if (charge.terms().lock() != null) {
        wait = Math.min(wait, lockLeft(balances));
      }
      Long given = refunds.getIfPresent(hash(charge.account()));
      wait = Math.min(wait, longest.toNanos() / 1_000);
      if (wait > 0 && (given == null || askedNanos - given > 0)) {
        long until = askedNanos + wait * 1_000;
        denials.put(
            charge.account(),
            new Known(charge.terms(), Math.max(1, charge.cost()), askedNanos, until, balances));
      }
    }
  }

  /** How long the lock of an account lasts by its balances; 0 if it is not locked. */
  private long lockLeft(List<Balance> balances) {
    long until = balances.get(0).lockedUntilMicros();
    return Math.max(0, until - storeMicros.getAsLong());
  }

  /** Forgets what is known of an account, because it may have got something. */
  public void given(Account account) {
    refunds.put(hash(account), nanoTime.getAsLong());
    denials.invalidate(account);
  }

  @Override
  public CompletionStage<Decision> look(Plan plan) {
    return store.look(plan);
  }

  @Override
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    return store
        .settle(receipt, settlement)
        .whenComplete(
            (settled, error) -> receipt.entries().forEach(entry -> given(entry.account())));
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    return giving(store.reset(account), account);
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return giving(store.lock(account, length, reason), account);
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    return giving(store.lift(account, keepUsage), account);
  }

  /** Forgets what is known of an account once it has changed, or may have: a reply can be lost. */
  private <T> CompletionStage<T> giving(CompletionStage<T> stage, Account account) {
    return stage.whenComplete((done, error) -> given(account));
  }

  @Override
  public void close() {
    closing.run();
    super.close();
  }

  /** Stands for an account; if two share one, a denial is not remembered that could have been. */
  private static long hash(Account account) {
    return ((long) account.hashCode() << 32) | (account.toString().hashCode() & 0xffff_ffffL);
  }

  /** The text of an account in an announcement. */
  public static String text(Account account) {
    return (account.colocated() ? "+" : "-") + account;
  }

  /** The account of an announcement. */
  public static Account account(String text) {
    int colon = text.indexOf(':');
    if (colon < 1 || text.length() > LONGEST_TEXT) {
      throw new IllegalArgumentException("not the name of an account");
    }
    Rule.checkName(text.substring(1, colon));
    return new Account(
        text.substring(1, colon), Identity.parse(text.substring(colon + 1)), text.charAt(0) == '+');
  }
}
