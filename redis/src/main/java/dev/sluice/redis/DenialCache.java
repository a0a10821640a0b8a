package dev.sluice.redis;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Store;
import dev.sluice.Terms;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A store around a store that answers denials it knows of by itself. Thread-safe. */
final class DenialCache implements Store {
  /*
   * When an account denies a cost until a moment, nothing but a gift (something given back, a reset, a
   * lifted lock, another limit) can make as much fit earlier. So until then the answer is known. The
   * moment is counted from when the question was sent, not from when the answer came: the cache
   * never denies what the store would allow.
   *
   * Gifts made by any node are announced to all. One that arrives while a denial is on its way must
   * not be undone by it, so the time of each gift is kept for a while and an older denial is not
   * remembered. While announcements cannot be heard, nothing is remembered at all.
   *
   * A denial is remembered no longer than the lock of its account: after that, the store would lock
   * it again. Not remembered are denials of rules that count them, and of calls with an id, whose
   * first decision must come back.
   */
  private static final long MOST_KNOWN = 100_000;
  private static final Duration GIFT_MEMORY = Duration.ofSeconds(10);

  private final Store store;
  private final Consumer<Account> announcing;
  private final BooleanSupplier hearing;
  private final LongSupplier nanoTime;
  private final Runnable closing;
  private final Cache<Account, Known> denials =
      Caffeine.newBuilder().maximumSize(MOST_KNOWN).executor(Runnable::run).build();
  private final Cache<Account, Long> gifts =
      Caffeine.newBuilder()
          .expireAfterWrite(GIFT_MEMORY)
          .maximumSize(MOST_KNOWN)
          .executor(Runnable::run)
          .build();

  /** A denial of a cost under terms, from when it was asked for until it may be over. */
  private record Known(
      Terms terms, long cost, long askedNanos, long untilNanos, List<Balance> balances) {}

  DenialCache(
      Store store,
      Consumer<Account> announcing,
      BooleanSupplier hearing,
      LongSupplier nanoTime,
      Runnable closing) {
    this.store = store;
    this.announcing = announcing;
    this.hearing = hearing;
    this.nanoTime = nanoTime;
    this.closing = closing;
  }

  /** A cache whose gifts are announced on a channel of the same Redis. */
  static DenialCache around(Store store, RedisStore redis) {
    Gifts gifts = redis.gifts();
    DenialCache cache =
        new DenialCache(store, gifts::announce, gifts::hearing, System::nanoTime, gifts::close);
    gifts.listen(cache::given, cache.denials::invalidateAll);
    return cache;
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
          if (decision instanceof Decision.Denied denied) {
            remember(plan, denied, now);
          }
          return decision;
        });
  }

  private @Nullable Decision known(Plan plan, long now) {
    List<Charge> charges = plan.charges();
    for (int i = 0; i < charges.size(); i++) {
      Charge charge = charges.get(i);
      Known known = charge.enforced() ? denials.getIfPresent(charge.account()) : null;
      if (known != null
          && now - known.untilNanos < 0
          && Math.max(1, charge.cost()) >= known.cost
          && known.terms.equals(charge.terms())) {
        return denied(known, charge, now);
      }
    }
    return null;
  }

  /** The denial as it stands now: what was to wait for is that much nearer. */
  private static Decision denied(Known known, Charge charge, long now) {
    long elapsed = (now - known.askedNanos) / 1_000;
    List<Balance> balances = new ArrayList<>(known.balances.size());
    for (Balance balance : known.balances) {
      boolean never = charge.cost() > balance.limit().quota();
      long wait = Math.max(0, balance.retryAfterMicros() - elapsed);
      balances.add(
          new Balance(
              balance.account(),
              balance.limit(),
              true,
              balance.remaining(),
              never ? Balance.NEVER : wait,
              Math.max(0, balance.resetAfterMicros() - elapsed),
              balance.lockedUntilMicros()));
    }
    return new Decision.Denied(balances);
  }

  private void remember(Plan plan, Decision.Denied denied, long askedNanos) {
    for (Charge charge : plan.charges()) {
      if (!charge.enforced() || charge.terms().countDenied()) {
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
      Long given = gifts.getIfPresent(charge.account());
      if (wait > 0 && (given == null || askedNanos - given > 0)) {
        long until = askedNanos + Math.min(wait, Long.MAX_VALUE / 4_000) * 1_000;
        denials.put(
            charge.account(),
            new Known(charge.terms(), Math.max(1, charge.cost()), askedNanos, until, balances));
      }
    }
  }

  /** How long the lock of an account lasts by its balances; 0 if it is not locked. */
  private static long lockLeft(List<Balance> balances) {
    long least = Long.MAX_VALUE;
    for (Balance balance : balances) {
      least = balance.locked() ? Math.min(least, balance.retryAfterMicros()) : 0;
    }
    return least == Long.MAX_VALUE ? 0 : least;
  }

  /** Forgets what is known of an account, because it may have got something. */
  private void given(Account account) {
    gifts.put(account, nanoTime.getAsLong());
    denials.invalidate(account);
  }

  private void give(Account account) {
    given(account);
    announcing.accept(account);
  }

  @Override
  public CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
    return store
        .settle(receipt, actualCost)
        .thenApply(
            settled -> {
              for (Receipt.Entry entry : receipt.entries()) {
                if (settled && entry.cost() > actualCost) {
                  give(entry.account());
                }
              }
              return settled;
            });
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
  public CompletionStage<Boolean> lift(Account account) {
    return giving(store.lift(account), account);
  }

  private <T> CompletionStage<T> giving(CompletionStage<T> stage, Account account) {
    return stage.thenApply(
        done -> {
          give(account);
          return done;
        });
  }

  @Override
  public CompletionStage<List<Restriction>> locks(@Nullable String rule) {
    return store.locks(rule);
  }

  @Override
  public Optional<String> trouble() {
    return store.trouble();
  }

  @Override
  public void close() {
    closing.run();
    store.close();
  }

  /** The text of an account in an announcement. */
  static String text(Account account) {
    return (account.colocated() ? "+" : "-") + account;
  }

  /** The account of an announcement. */
  static Account account(String text) {
    int colon = text.indexOf(':');
    return new Account(
        text.substring(1, colon), Identity.parse(text.substring(colon + 1)), text.charAt(0) == '+');
  }
}
