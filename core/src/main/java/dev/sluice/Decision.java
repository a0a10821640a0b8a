package dev.sluice;

import dev.sluice.internal.Durations;
import dev.sluice.store.Counted;
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

  /** What each limit of each account had to say; empty if no account was asked. */
  List<Balance> balances();

  /** What the decision rests on. */
  CountedBy countedBy();

  /** Where a decision was counted. */
  enum CountedBy {
    /** The store itself. */
    STORE,
    /** A replica of the store, which knew that the caller is locked out. */
    REPLICA,
    /** This node, which remembered a denial of the store. */
    CACHE,
    /** This node alone, at its share of the limits, because the store did not answer. */
    LOCAL,
    /** Nobody: the store did not answer, and the rule allows or denies such calls. */
    NOBODY
  }

  /** The balance to tell the caller about: the one to wait longest for, else the tightest. */
  default Optional<Balance> deciding() {
    return Balance.deciding(balances());
  }

  /**
   * How long to wait until this call would pass; zero if it did. Empty if it never will, because it
   * costs more than a limit allows, or if nobody knows, because the store did not answer.
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
   * When the last lock on this call ends, for a countdown: in whole milliseconds, rounded up, so
   * that whoever waits until then finds no lock.
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

  /** The rules in shadow mode that would have refused this call. */
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
    return List.of(); // as nearly always, for the price of a look
  }

  /** The call may pass, and what it cost has been taken. Immutable. */
  final class Allowed implements Decision {
    private final Counted counted;

    private Allowed(Counted counted) {
      this.counted = Objects.requireNonNull(counted, "counted");
    }

    /** An allowed call; for stores. */
    public static Allowed of(Counted counted) {
      return new Allowed(counted);
    }

    /**
     * An allowed call of known balances; for stores.
     *
     * @param receipt makes the receipt; called once at most
     */
    public static Allowed of(
        List<Balance> balances, CountedBy countedBy, Supplier<Receipt> receipt) {
      return new Allowed(new KnownBalances(balances, countedBy, receipt));
    }

    @Override
    public boolean allowed() {
      return true;
    }

    @Override
    public List<Balance> balances() {
      return counted.balances();
    }

    @Override
    public CountedBy countedBy() {
      return counted.countedBy();
    }

    /** What was taken: refund it or settle it through the limiter. */
    public Receipt receipt() {
      return counted.receipt();
    }

    /** What the store has counted; for stores around a store. */
    public Counted counted() {
      return counted;
    }

    /** Whether both found the same balances. Receipts, which name calls, are not compared. */
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

  /** The call must not pass; nothing was taken. */
  record Denied(List<Balance> balances, CountedBy countedBy) implements Decision {
    public Denied {
      balances = List.copyOf(balances);
      Objects.requireNonNull(countedBy, "countedBy");
    }

    /** A call that the store itself denied. */
    public Denied(List<Balance> balances) {
      this(balances, CountedBy.STORE);
    }

    @Override
    public boolean allowed() {
      return false;
    }
  }

  /**
   * Nobody counted this call: the store did not answer, and the rule says what becomes of such
   * calls.
   *
   * @param reason what went wrong
   */
  record Unmetered(boolean allowed, String reason) implements Decision {
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
