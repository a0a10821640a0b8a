package dev.sluice;

import dev.sluice.internal.Durations;
import dev.sluice.store.Counted;
import dev.sluice.store.Taken;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The answer to a call. */
public sealed interface Decision {
  /** Whether the call may pass. */
  boolean allowed();

  /** The balance at each limit of each account; empty if no account was asked. */
  List<Balance> balances();

  /** Where the call was counted. */
  CountedBy countedBy();

  /** Where a call was counted. */
  enum CountedBy {
    /** The store itself. */
    STORE,
    /** A replica of the store, which had a lock on the caller. */
    REPLICA,
    /** The denial cache of this node. */
    CACHE,
    /** This node alone, at its share of the limits, because the store did not answer. */
    LOCAL,
    /** Nowhere: the store did not answer, and the rule allows or denies such calls. */
    NOBODY
  }

  /** The balance to report to the caller: the one with the longest wait, else the tightest. */
  default Optional<Balance> deciding() {
    return Balance.deciding(balances());
  }

  /**
   * How long to wait until this call would pass; zero if it did. Empty if it never will because it
   * costs more than a limit, or if the time is unknown because the store did not answer.
   */
  default Optional<Duration> retryAfter() {
    return deciding()
        .map(Balance::retryAfter)
        .orElse(allowed() ? Optional.of(Duration.ZERO) : Optional.empty());
  }

  /** Whether an account of the call is locked. */
  default boolean locked() {
    return restrictedUntil().isPresent();
  }

  /**
   * When the last lock on this call ends, for a countdown. In whole milliseconds, rounded up: a
   * caller that waits until then finds no lock.
   */
  default Optional<Instant> restrictedUntil() {
    long until = 0;
    for (Balance balance : balances()) {
      if (balance.enforced()) {
        until = Math.max(until, balance.lockedUntilMicros());
      }
    }
    return until == 0
        ? Optional.empty()
        : Optional.of(Instant.ofEpochMilli(Durations.ceilMillis(until)));
  }

  /** The rules in shadow mode that would have denied this call. */
  default List<String> shadowDenials() {
    for (Balance balance : balances()) {
      if (!balance.enforced()) {
        return balances().stream()
            .filter(each -> !each.enforced() && !each.fits())
            .map(each -> each.account().rule())
            .distinct()
            .toList();
      }
    }
    return List.of(); // the common case, without an allocation
  }

  /** The call may pass, and its cost was taken. Immutable. */
  final class Allowed implements Decision {
    private final Taken taken;

    private Allowed(Taken taken) {
      this.taken = Objects.requireNonNull(taken, "taken");
    }

    /** An allowed call; for stores. */
    public static Allowed of(Taken taken) {
      return new Allowed(taken);
    }

    /**
     * An allowed call with known balances; for stores.
     *
     * @param receipt makes the receipt; called at most once
     */
    public static Allowed of(
        List<Balance> balances, CountedBy countedBy, Supplier<Receipt> receipt) {
      return new Allowed(new KnownBalances.WithReceipt(balances, countedBy, receipt));
    }

    @Override
    public boolean allowed() {
      return true;
    }

    @Override
    public List<Balance> balances() {
      return taken.balances();
    }

    @Override
    public CountedBy countedBy() {
      return taken.countedBy();
    }

    @Override
    public boolean locked() {
      return taken.locked();
    }

    /** What was taken. Pass it to the limiter to refund or settle the call. */
    public Receipt receipt() {
      return taken.receipt();
    }

    /** What the store counted; for stores that wrap a store. */
    public Taken counted() {
      return taken;
    }

    /** Whether both have the same balances. Receipts differ for every call and are not compared. */
    @Override
    public boolean equals(@Nullable Object object) {
      return object instanceof Allowed other
          && countedBy() == other.countedBy()
          && balances().equals(other.balances());
    }

    @Override
    public int hashCode() {
      return balances().hashCode();
    }

    @Override
    public String toString() {
      return "Allowed[balances=" + balances() + ", countedBy=" + countedBy() + "]";
    }
  }

  /** The call must not pass; nothing was taken. Immutable. */
  final class Denied implements Decision {
    private final Counted counted;

    private Denied(Counted counted) {
      this.counted = Objects.requireNonNull(counted, "counted");
    }

    /** A denied call with known balances. */
    public Denied(List<Balance> balances, CountedBy countedBy) {
      this(new KnownBalances(balances, countedBy));
    }

    /** A call that the store itself denied. */
    public Denied(List<Balance> balances) {
      this(balances, CountedBy.STORE);
    }

    /** A denied call; for stores. */
    public static Denied of(Counted counted) {
      return new Denied(counted);
    }

    @Override
    public boolean allowed() {
      return false;
    }

    @Override
    public List<Balance> balances() {
      return counted.balances();
    }

    @Override
    public CountedBy countedBy() {
      return counted.countedBy();
    }

    @Override
    public boolean locked() {
      return counted.locked();
    }

    /** What the store counted. */
    public Counted counted() {
      return counted;
    }

    /** Whether both have the same balances. */
    @Override
    public boolean equals(@Nullable Object object) {
      return object instanceof Denied other
          && countedBy() == other.countedBy()
          && balances().equals(other.balances());
    }

    @Override
    public int hashCode() {
      return balances().hashCode();
    }

    @Override
    public String toString() {
      return "Denied[balances=" + balances() + ", countedBy=" + countedBy() + "]";
    }
  }

  /**
   * The call was not counted: the store did not answer, and the rule allows or denies such calls.
   *
   * @param allowed whether the call may pass
   * @param reason why the store did not answer
   */
  record Unmetered(boolean allowed, String reason) implements Decision {
    /** Requires a reason. */
    public Unmetered {
      Objects.requireNonNull(reason, "reason");
    }

    @Override
    public List<Balance> balances() {
      return List.of();
    }

    @Override
    public CountedBy countedBy() {
      return CountedBy.NOBODY;
    }
  }
}
