package dev.sluice.outage;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.StoreFullException;
import dev.sluice.store.Verdict;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Decides calls that Redis does not answer, by the rule's {@code onStoreFailure}. Thread-safe. */
public final class Fallback {
  /*
   * With `local` this node counts alone, in memory, at the limits of the rule divided by the number
   * of nodes. So during an outage all nodes together admit at most one more limit.
   *
   * Locks that this node has seen in an answer of Redis stay in force: when it first sees one, it
   * also sets it in memory.
   */
  private static final long MOST_LOCKS = 100_000;

  /** The wait to report if a cost exceeds the share of this node and the real wait is unknown. */
  private static final long ASK_AGAIN_MICROS = 1_000_000;

  private final String node = UUID.randomUUID().toString();
  private final MemoryStore local = MemoryStore.create();
  private final Cache<Account, Long> locks =
      Caffeine.newBuilder().maximumSize(MOST_LOCKS).executor(Runnable::run).build();
  private final int nodes;
  private final LongSupplier storeMicros;

  /**
   * A fallback.
   *
   * @param nodes how many nodes share the limits
   * @param storeMicros the clock of Redis, as far as this node knows it
   */
  public Fallback(int nodes, LongSupplier storeMicros) {
    this.nodes = nodes;
    this.storeMicros = storeMicros;
  }

  /** The name of this node on receipts for calls that it counted alone. */
  String node() {
    return node;
  }

  /**
   * Decides a plan.
   *
   * @param part whether it is one of several parts of a call, each decided separately
   * @param receiptId the id of the receipt; null to make one
   * @param reason why Redis did not decide
   */
  public Decision decide(Plan plan, boolean part, @Nullable String receiptId, String reason) {
    if (plan.policy() != OnStoreFailure.LOCAL) {
      return new Decision.Unmetered(plan.policy() == OnStoreFailure.ALLOW, reason);
    }
    Decision counted = count(divided(part ? ownPart(plan) : plan), receiptId);
    List<Balance> balances = balances(plan, counted);
    return counted instanceof Decision.Allowed allowed
        ? Decision.Allowed.of(balances, Decision.CountedBy.LOCAL, () -> receipt(allowed.receipt()))
        : new Decision.Denied(balances, Decision.CountedBy.LOCAL);
  }

  private Decision count(Plan plan, @Nullable String receiptId) {
    try {
      return receiptId == null ? local.decide(plan) : local.decide(plan, receiptId);
    } catch (StoreFullException full) {
      // No more ids can be remembered. The call is counted without its id, and again if it is
      // resent.
      Plan nameless =
          new Plan(
              plan.charges(),
              plan.intent(),
              null,
              plan.policy(),
              plan.caller(),
              plan.question(),
              plan.hold());
      return receiptId == null ? local.decide(nameless) : local.decide(nameless, receiptId);
    }
  }

  /** Parts of a call in several slots are decided one by one, so each gets an id of its own. */
  private static Plan ownPart(Plan plan) {
    return plan.id() == null
        ? plan
        : new Plan(
            plan.charges(),
            plan.intent(),
            plan.id() + " of " + plan.charges().get(0).account(),
            plan.policy(),
            plan.caller(),
            plan.question(),
            plan.hold());
  }

  private Receipt receipt(Receipt taken) {
    List<Receipt.Entry> entries = taken.entries().stream().map(Receipt.Entry::locally).toList();
    return new Receipt(
        taken.id(),
        taken.takenAtMicros(),
        taken.openUntilMicros(),
        entries,
        node + "@" + taken.takenAtMicros());
  }

  /** Settles what this node counted alone. */
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    int at = receipt.node().indexOf('@');
    if (at < 0 || !receipt.node().substring(0, at).equals(node)) {
      return CompletableFuture.failedFuture(
          new IllegalArgumentException(
              "receipt: counted by node %s alone (expected: settle it there)"
                  .formatted(receipt.node())));
    }
    long takenAt;
    try {
      takenAt = Long.parseLong(receipt.node().substring(at + 1));
    } catch (NumberFormatException e) {
      takenAt = receipt.takenAtMicros();
    }
    return local.settle(
        new Receipt(receipt.id(), takenAt, receipt.openUntilMicros(), receipt.entries(), ""),
        settlement);
  }

  /** Remembers the locks in an answer of Redis, and forgets those that Redis no longer has. */
  public void note(Decision decision) {
    if (decision instanceof Decision.Allowed allowed
        && allowed.counted() instanceof Verdict verdict
        && !verdict.mentionsLock()
        && locks.estimatedSize() == 0) {
      return; // the common case; making balances would be wasted
    }
    for (Balance balance : decision.balances()) {
      long until = balance.lockedUntilMicros();
      Long known = locks.getIfPresent(balance.account());
      if (until != 0 && (known == null || known != until)) {
        lock(balance.account(), until);
      } else if (until == 0 && known != null) {
        lift(balance.account(), true);
      }
    }
  }

  /** Remembers a lock that ends at a time of the clock of Redis. */
  public void lock(Account account, long untilMicros) {
    locks.put(account, untilMicros);
    long left = untilMicros - storeMicros.getAsLong();
    if (left > 0) {
      local.lock(account, Durations.ofMicros(left), "");
    }
  }

  /** The end of a lock that Redis reported, or 0. */
  public long knownLock(Account account) {
    Long until = locks.getIfPresent(account);
    return until == null ? 0 : until;
  }

  /** Forgets the lock of an account, and what this node counted for it alone. */
  public void reset(Account account) {
    locks.invalidate(account);
    local.reset(account);
  }

  /** Forgets a lock that was lifted. */
  public void lift(Account account, boolean keepUsage) {
    locks.invalidate(account);
    local.lift(account, keepUsage);
  }

  /** The balances of a decision. A cost above the share of this node may fit once Redis is back. */
  private static List<Balance> balances(Plan plan, Decision counted) {
    List<Balance> balances = new ArrayList<>(counted.balances().size());
    int at = 0;
    for (Charge charge : plan.charges()) {
      for (Limit whole : charge.terms().limits()) {
        Balance balance = counted.balances().get(at++);
        boolean fitsTheWhole = Math.max(1, charge.cost()) <= whole.quota();
        balances.add(
            balance.retryAfterMicros() == Balance.NEVER && fitsTheWhole
                ? waiting(balance, Math.max(ASK_AGAIN_MICROS, balance.resetAfterMicros()))
                : balance);
      }
    }
    return balances;
  }

  private static Balance waiting(Balance balance, long micros) {
    return new Balance(
        balance.account(),
        balance.limit(),
        balance.enforced(),
        balance.remaining(),
        micros,
        balance.resetAfterMicros(),
        balance.lockedUntilMicros());
  }

  /** The plan with the share of this node of each limit. */
  private Plan divided(Plan plan) {
    if (nodes == 1) {
      return plan;
    }
    List<Charge> charges = new ArrayList<>(plan.charges().size());
    for (Charge charge : plan.charges()) {
      Terms whole = charge.terms();
      Terms share =
          new Terms(
              whole.limits().stream().map(limit -> share(limit, nodes)).toList(),
              whole.lock(),
              whole.countDenied());
      charges.add(new Charge(charge.rule(), charge.identity(), share, charge.cost()));
    }
    return plan.with(charges);
  }

  /** The share of one node of a limit; at least one call. */
  static Limit share(Limit limit, int nodes) {
    long part = Math.max(1, limit.quota() / nodes);
    if (limit instanceof Limit.FixedWindow window) {
      return Limit.fixedWindow(part, window.cycle());
    }
    if (limit instanceof Limit.SlidingLog log) {
      return Limit.slidingLog(part, log.window());
    }
    if (limit instanceof Limit.SlidingWindow window) {
      return Limit.slidingWindow(part, window.window(), window.precision());
    }
    Limit.TokenBucket bucket = (Limit.TokenBucket) limit;
    Limit.TokenBucket share = bucketShare(part, bucket.refill(), bucket.period(), nodes);
    return bucket.debt() == bucket.capacity() ? share : share.withDebt(bucket.debt() / nodes);
  }

  /** A bucket that refills at the rate divided by the nodes, rounded down where necessary. */
  private static Limit.TokenBucket bucketShare(
      long capacity, long refill, Duration period, int nodes) {
    if (refill % nodes == 0) {
      return Limit.tokenBucket(capacity, refill / nodes, period);
    }
    Duration longest = Durations.LONGEST;
    if (period.compareTo(longest.dividedBy(nodes)) <= 0) {
      return Limit.tokenBucket(capacity, refill, period.multipliedBy(nodes));
    }
    BigInteger inLongest =
        BigInteger.valueOf(refill)
            .multiply(BigInteger.valueOf(Durations.micros(longest)))
            .divide(BigInteger.valueOf(Durations.micros(period)))
            .divide(BigInteger.valueOf(nodes));
    return Limit.tokenBucket(capacity, Math.max(1, inLongest.longValueExact()), longest);
  }
}
