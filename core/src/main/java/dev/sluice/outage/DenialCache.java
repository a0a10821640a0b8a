package dev.sluice.outage;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.internal.Answer;
import dev.sluice.store.Charge;
import dev.sluice.store.Counted;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A store that caches denials of another store. Thread-safe. */
public final class DenialCache extends ForwardingStore {
  /*
   * When an account denies a cost until some time, only a refund (a settlement, a reset, a lifted
   * lock) or a changed rule can make that cost fit earlier. So until then the answer is known. The
   * time counts from when the question was sent, not from when the answer came: the cache never
   * denies what the store would allow.
   *
   * The cache answers a call only if it can answer all of it. Every account must be known to deny
   * this cost under these terms, so the reported wait is that of the store. It does not answer
   * calls with an id, whose first decision must be repeated. Nor rules that count denied calls, nor
   * rules in shadow mode: both need the store.
   *
   * Every node announces refunds to all nodes. An announcement can overtake a denial that is still
   * on its way. So the time of each refund is kept for a while, and older denials are not cached.
   * While the node is not subscribed to the announcements, nothing is cached.
   *
   * An announcement can be lost, and a Redis can lose its data. So a denial is cached for LONGEST
   * at most; then the store is asked again.
   *
   * A denial is not cached beyond the end of the lock of its account, because the next call after
   * that may lock it again.
   */
  /** How long a denial is cached at most, by default. */
  public static final Duration LONGEST = Duration.ofMillis(800);

  /** The most characters that the name of an account in an announcement can have. */
  private static final int LONGEST_TEXT = 32 * 1_024;

  private static final long MOST_KNOWN = 100_000;
  private static final Duration REFUND_MEMORY = Duration.ofSeconds(10);

  private final Duration longest;
  private final BooleanSupplier subscribed;
  private final LongSupplier nanoTime;
  private final LongSupplier storeMicros;
  private final Runnable closing;
  private volatile long cachedNanos; // when a denial was last cached
  private final Cache<Account, Known> denials =
      Caffeine.newBuilder().maximumSize(MOST_KNOWN).executor(Runnable::run).build();
  private final Cache<Long, Long> refunds =
      Caffeine.newBuilder()
          .expireAfterWrite(REFUND_MEMORY)
          .maximumSize(MOST_KNOWN)
          .executor(Runnable::run)
          .build();

  /** A denial of a cost under terms, valid from when the store was asked. */
  private record Known(
      Terms terms, long cost, long askedNanos, long untilNanos, List<Balance> balances) {
    boolean denies(Charge charge, long now) {
      return now - untilNanos < 0
          && Math.max(1, charge.cost()) == cost
          && terms.equals(charge.terms());
    }

    /** Adds its balances, with waits shortened by the time that has passed. */
    void addBalances(long now, List<Balance> to) {
      long elapsed = (now - askedNanos) / 1_000;
      for (Balance balance : balances) {
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
  }

  /** Known denials of all accounts of a call, at a time of this node. */
  private static final class Repeated implements Counted {
    private final List<Known> denials;
    private final long now;
    private volatile @Nullable List<Balance> balances;

    Repeated(List<Known> denials, long now) {
      this.denials = denials;
      this.now = now;
    }

    @Override
    public List<Balance> balances() {
      List<Balance> made = balances;
      if (made == null) {
        List<Balance> all = new ArrayList<>();
        denials.forEach(known -> known.addBalances(now, all));
        made = List.copyOf(all);
        balances = made;
      }
      return made;
    }

    @Override
    public Decision.CountedBy countedBy() {
      return Decision.CountedBy.CACHE;
    }

    @Override
    public boolean locked() {
      for (Known known : denials) {
        if (known.balances.get(0).locked()) {
          return true;
        }
      }
      return false;
    }

    @Override
    public @Nullable Limit decidingLimit() {
      List<Balance> first = denials.get(0).balances;
      return denials.size() == 1 && first.size() == 1
          ? first.get(0).limit()
          : Counted.super.decidingLimit();
    }
  }

  /**
   * A cache around a store.
   *
   * @param longest how long a denial is cached at most
   * @param subscribed whether this node receives the refunds of other nodes now
   * @param nanoTime the clock of this node
   * @param storeMicros the clock of the store, as far as this node knows it
   * @param closing runs when the cache is closed
   */
  public DenialCache(
      Store store,
      Duration longest,
      BooleanSupplier subscribed,
      LongSupplier nanoTime,
      LongSupplier storeMicros,
      Runnable closing) {
    super(store);
    this.longest = longest;
    this.subscribed = subscribed;
    this.nanoTime = nanoTime;
    this.storeMicros = storeMicros;
    this.closing = closing;
    this.cachedNanos = nanoTime.getAsLong() - longest.toNanos();
  }

  /** Whether a denial may be cached now. */
  public boolean holdsDenials() {
    return nanoTime.getAsLong() - cachedNanos < longest.toNanos();
  }

  /** Forgets every denial, because refunds may have been missed. */
  public void forgetAll() {
    denials.invalidateAll();
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    Answer<Decision> answer = new Answer<>();
    take(plan, answer);
    return answer;
  }

  @Override
  public void take(Plan plan, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    if (plan.intent() != Intent.TAKE || plan.id() != null || !subscribed.getAsBoolean()) {
      store.take(plan, then);
      return;
    }
    long now = nanoTime.getAsLong();
    List<Known> known = known(plan.charges(), now);
    if (!known.isEmpty()) {
      then.accept(Decision.Denied.of(new Repeated(known, now)), null);
      return;
    }
    store.take(
        plan,
        (decision, error) -> {
          try {
            if (decision instanceof Decision.Denied denied
                && denied.countedBy() == Decision.CountedBy.STORE) {
              remember(plan, denied, now);
            }
          } finally {
            then.accept(decision, error);
          }
        });
  }

  /** The known denials of a call; empty if any of its accounts is not known to deny it. */
  private List<Known> known(List<Charge> charges, long now) {
    List<Known> all = List.of();
    for (int i = 0; i < charges.size(); i++) {
      Charge charge = charges.get(i);
      Known known = isCacheable(charge) ? denials.getIfPresent(charge.account()) : null;
      if (known == null || !known.denies(charge, now)) {
        return List.of();
      }
      if (charges.size() == 1) {
        return List.of(known);
      }
      all = i == 0 ? new ArrayList<>(charges.size()) : all;
      all.add(known);
    }
    return all;
  }

  private static boolean isCacheable(Charge charge) {
    return charge.enforced() && !charge.terms().countDenied();
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
      Long refundedAt = refunds.getIfPresent(hash(charge.account()));
      wait = Math.min(wait, longest.toNanos() / 1_000);
      if (wait > 0 && (refundedAt == null || askedNanos - refundedAt > 0)) {
        long until = askedNanos + wait * 1_000;
        cachedNanos = nanoTime.getAsLong();
        denials.put(
            charge.account(),
            new Known(charge.terms(), Math.max(1, charge.cost()), askedNanos, until, balances));
      }
    }
  }

  /** How long the lock of an account still lasts by its balances; 0 if it is not locked. */
  private long lockLeft(List<Balance> balances) {
    long until = balances.get(0).lockedUntilMicros();
    return Math.max(0, until - storeMicros.getAsLong());
  }

  /** Forgets the denial of an account that may have got a refund. */
  public void refunded(Account account) {
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
            (settled, error) -> receipt.entries().forEach(entry -> refunded(entry.account())));
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    return forgetting(store.reset(account), account);
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return forgetting(store.lock(account, length, reason), account);
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    return forgetting(store.lift(account, keepUsage), account);
  }

  /**
   * Forgets the denial of an account after a change, even a failed one: only its reply may be lost.
   */
  private <T> CompletionStage<T> forgetting(CompletionStage<T> stage, Account account) {
    return stage.whenComplete((done, error) -> refunded(account));
  }

  @Override
  public void close() {
    closing.run();
    super.close();
  }

  /** A hash of an account. A collision only means that a denial is not cached. */
  private static long hash(Account account) {
    return ((long) account.hashCode() << 32) | (account.toString().hashCode() & 0xffff_ffffL);
  }

  /** The text of an account in an announcement of a refund. */
  public static String text(Account account) {
    return (account.colocated() ? "+" : "-") + account;
  }

  /** Parses the account in an announcement of a refund. */
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
