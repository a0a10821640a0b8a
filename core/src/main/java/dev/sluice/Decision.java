package dev.sluice;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
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
    Balance found = null;
    for (Balance balance : balances()) {
      if (balance.enforced() && (found == null || decidesBefore(balance, found))) {
        found = balance;
      }
    }
    return Optional.ofNullable(found);
  }

  private static boolean decidesBefore(Balance a, Balance b) {
    if (a.retryAfterMicros() != b.retryAfterMicros()) {
      return a.retryAfterMicros() > b.retryAfterMicros();
    }
    // Cross-multiplied, so that 5 of 10 and 50 of 100 are equally tight.
    return Math.multiplyHigh(a.remaining(), b.limit().quota())
            < Math.multiplyHigh(b.remaining(), a.limit().quota())
        || (Math.multiplyHigh(a.remaining(), b.limit().quota())
                == Math.multiplyHigh(b.remaining(), a.limit().quota())
            && Long.compareUnsigned(
                    a.remaining() * b.limit().quota(), b.remaining() * a.limit().quota())
                < 0);
  }

  /** How long to wait until this call would pass; zero if it did, empty if it never will. */
  default Optional<Duration> retryAfter() {
    return deciding().map(Balance::retryAfter).orElse(Optional.of(Duration.ZERO));
  }

  /** Whether an account of the call is locked. */
  default boolean locked() {
    return restrictedUntil().isPresent();
  }

  /** The epoch millisecond at which the last lock on this call ends, for a countdown. */
  default OptionalLong restrictedUntil() {
    long until = 0;
    for (Balance balance : balances()) {
      if (balance.enforced()) {
        until = Math.max(until, balance.lockedUntilMicros());
      }
    }
    return until == 0 ? OptionalLong.empty() : OptionalLong.of((until + 999) / 1_000);
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

  /** The call may pass, and what it cost has been taken. */
  abstract non-sealed class Allowed implements Decision {
    private volatile @Nullable Receipt receipt;

    /** An allowed call whose receipt is made when somebody asks for it. */
    public static Allowed of(List<Balance> balances, Supplier<Receipt> taken) {
      return of(balances, CountedBy.STORE, taken);
    }

    /** An allowed call that was counted by the store or by this node. */
    public static Allowed of(List<Balance> balances, CountedBy countedBy, Supplier<Receipt> taken) {
      return new Allowed() {
        @Override
        public List<Balance> balances() {
          return balances;
        }

        @Override
        public CountedBy countedBy() {
          return countedBy;
        }

        @Override
        protected Receipt taken() {
          return taken.get();
        }
      };
    }

    @Override
    public final boolean allowed() {
      return true;
    }

    @Override
    public CountedBy countedBy() {
      return CountedBy.STORE;
    }

    /** What was taken: give it back or settle it through the limiter. */
    public final Receipt receipt() {
      Receipt known = receipt;
      if (known == null) {
        synchronized (this) {
          known = receipt;
          if (known == null) {
            known = taken();
            receipt = known;
          }
        }
      }
      return known;
    }

    /** Makes the receipt; called once at most. */
    protected abstract Receipt taken();

    @Override
    public final String toString() {
      return "Allowed" + balances();
    }
  }

  /** The call must not pass; nothing was taken. */
  record Denied(List<Balance> balances, CountedBy countedBy) implements Decision {
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
