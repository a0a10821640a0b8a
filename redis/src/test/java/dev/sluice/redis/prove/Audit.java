package dev.sluice.redis.prove;

import dev.sluice.Account;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.history.RecordedCalls;
import dev.sluice.history.RecordedCalls.Peak;
import dev.sluice.history.RecordedCalls.Seen;
import dev.sluice.internal.Durations;
import dev.sluice.redis.prove.Entry.Outcome;
import dev.sluice.store.Charge;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The check of what was recorded against what each kind of limit promises. */
final class Audit {
  /*
   * A call that Redis took at a moment that its receipt names is known exactly. In a Cluster a call
   * over several slots is taken at several moments, and its receipt names one: of such a call only
   * the time between question and answer is known.
   *
   * A call that was decided by policy may still have been counted, at once or when a stopped Redis
   * wakes up. It is not held against any bound, for its caller was denied. It may explain denials.
   */
  private static final long LATEST_MICROS = 15_000_000; // longer than any fault holds a call back
  private static final InstantSource ANY_TIME = InstantSource.fixed(Instant.EPOCH);

  private final boolean cluster;
  private final Map<Account, Ledger> ledgers = new HashMap<>();
  private final Map<Workload.Ask, List<Charge>> plans = new HashMap<>();
  private final Map<Outcome, Long> outcomes = new EnumMap<>(Outcome.class);
  private final List<Violation> violations = new ArrayList<>();
  private long exact;
  private long explained;
  private long atTheBound;
  private final Map<String, Worst> worst = new TreeMap<>();

  /** A broken promise, and when. */
  record Violation(String what, long atMicros) {}

  /** The account that came closest to a bound, or went furthest beyond it. */
  record Worst(Account account, Limit limit, Peak peak) {
    Worst worse(Worst other) {
      long less = peak.margin() - other.peak.margin();
      return less < 0 || (less == 0 && peak.sum() >= other.peak.sum()) ? this : other;
    }
  }

  /** What one account saw. */
  private static final class Ledger {
    final List<Limit> limits;
    final @Nullable Lock lock;
    final List<Seen> admitted = new ArrayList<>();
    final List<Seen> unclear = new ArrayList<>();
    final TreeSet<Long> lockEnds = new TreeSet<>();
    final Map<Limit, RecordedCalls> possible = new HashMap<>();

    /** Whether calls pay this account together with others that are in other slots. */
    final boolean acrossSlots;

    Ledger(Charge charge, boolean acrossSlots) {
      this.limits = charge.terms().limits();
      this.lock = charge.terms().lock();
      this.acrossSlots = acrossSlots;
    }

    /** Everything that may have been counted. */
    RecordedCalls possible(Limit limit) {
      return possible.computeIfAbsent(
          limit,
          it -> {
            List<Seen> all = new ArrayList<>(admitted);
            all.addAll(unclear);
            return new RecordedCalls(it, all);
          });
    }
  }

  private Audit(boolean cluster) {
    this.cluster = cluster;
  }

  /**
   * Checks a history.
   *
   * @param cluster whether accounts of different identities lie in different slots
   */
  static Audit of(List<Entry> entries, boolean cluster) {
    Audit audit = new Audit(cluster);
    entries.forEach(audit::enter);
    audit.ledgers.forEach(audit::checkBounds);
    audit.ledgers.forEach(audit::checkLocks);
    entries.forEach(audit::checkDenial);
    return audit;
  }

  private List<Charge> charges(Workload.Ask ask) {
    return plans.computeIfAbsent(ask, it -> Workload.RULES.plan(it.call(), ANY_TIME).charges());
  }

  private boolean isAcrossSlots(List<Charge> charges) {
    return cluster && charges.size() > 1 && !charges.get(0).rule().colocate();
  }

  private void enter(Entry entry) {
    outcomes.merge(entry.outcome(), 1L, Long::sum);
    List<Charge> charges = charges(entry.ask());
    boolean acrossSlots = isAcrossSlots(charges);
    for (Charge charge : charges) {
      Ledger ledger =
          ledgers.computeIfAbsent(charge.account(), it -> new Ledger(charge, acrossSlots));
      switch (entry.outcome()) {
        case ADMITTED -> ledger.admitted.add(admitted(entry, acrossSlots));
        case DENIED -> {
          if (entry.lockedUntil() != 0) {
            ledger.lockEnds.add(entry.lockedUntil());
          }
        }
        case POLICY, ERROR -> ledger.unclear.add(unclear(entry));
      }
    }
    if (entry.outcome() == Outcome.ADMITTED) {
      exact += acrossSlots ? 0 : 1;
      if (entry.at() < entry.sent() || entry.at() > entry.received()) {
        violate(
            entry.at(),
            "%s: taken at %d, but sent at %d and answered at %d"
                .formatted(entry.ask(), entry.at(), entry.sent(), entry.received()));
      }
    }
    if (entry.outcome() == Outcome.ERROR) {
      violate(entry.sent(), "%s: an error instead of an answer".formatted(entry.ask()));
    }
  }

  private static Seen admitted(Entry entry, boolean acrossSlots) {
    return acrossSlots
        ? new Seen(entry.sent(), entry.received(), entry.ask().cost())
        : new Seen(entry.at(), entry.at(), entry.ask().cost());
  }

  private static Seen unclear(Entry entry) {
    return new Seen(entry.sent(), entry.received() + LATEST_MICROS, entry.ask().cost());
  }

  private void checkBounds(Account account, Ledger ledger) {
    boolean reached = false;
    for (Limit limit : ledger.limits) {
      Peak peak = new RecordedCalls(limit, ledger.admitted).peak();
      reached |= peak.margin() == 0;
      worst.merge(limit.getClass().getSimpleName(), new Worst(account, limit, peak), Worst::worse);
      if (peak.margin() < 0) {
        violate(
            peak.to(),
            "%s: %d admitted within %,d us, at most %d may be (%s)"
                .formatted(account, peak.sum(), peak.to() - peak.from(), peak.bound(), limit));
      }
    }
    atTheBound += reached ? 1 : 0;
  }

  /** A lock has one end, and nothing passes while it holds. */
  private void checkLocks(Account account, Ledger ledger) {
    if (ledger.lock == null) {
      return;
    }
    long length = Durations.micros(ledger.lock.durations().get(0));
    for (long end : ledger.lockEnds) {
      Long before = ledger.lockEnds.lower(end);
      if (before != null && end - before < length) {
        violate(before, "%s: locks until %d and until %d overlap".formatted(account, before, end));
      }
    }
    for (Seen seen : ledger.admitted) {
      Long end = ledger.lockEnds.higher(seen.to());
      if (end != null && seen.from() > end - length) {
        violate(
            seen.from(),
            "%s: admitted at %d, but locked until %d".formatted(account, seen.from(), end));
      }
    }
  }

  /** Without a lock, a denial must be due to a limit that may have had no room. */
  private void checkDenial(Entry entry) {
    if (entry.outcome() != Outcome.DENIED || entry.lockedUntil() != 0) {
      return;
    }
    List<Charge> charges = charges(entry.ask());
    if (isAcrossSlots(charges)) {
      return; // what another call is about to give back may be in the way for an instant
    }
    Seen denied = new Seen(entry.sent(), entry.received(), entry.ask().cost());
    for (Charge charge : charges) {
      Ledger ledger = ledger(charge.account());
      for (Limit limit : ledger.limits) {
        if (ledger.possible(limit).explain(denied)) {
          explained++;
          return;
        }
      }
    }
    violate(entry.received(), "%s: denied although there was room".formatted(entry.ask()));
  }

  private Ledger ledger(Account account) {
    Ledger ledger = ledgers.get(account);
    if (ledger == null) {
      throw new IllegalStateException("no ledger of " + account);
    }
    return ledger;
  }

  /**
   * Compares an account that has forgotten nothing with what its callers saw.
   *
   * @param counted what Redis counted in all
   */
  void checkCounted(Account account, Limit limit, long counted) {
    Ledger ledger = ledger(account);
    long told = ledger.admitted.stream().mapToLong(Seen::cost).sum();
    long unclear = ledger.unclear.stream().mapToLong(Seen::cost).sum();
    // Over several slots, what could not be given back when a node failed stays counted.
    if (counted < told || (counted > told + unclear && !ledger.acrossSlots)) {
      violate(
          0,
          "%s: %d admitted and %d unclear, but Redis counted %d (%s)"
              .formatted(account, told, unclear, counted, limit));
    }
  }

  /** Every key must go away by itself. */
  void checkForgotten(List<String> keysWithoutTtl) {
    keysWithoutTtl.forEach(key -> violate(0, "key %s has no TTL".formatted(key)));
  }

  private void violate(long atMicros, String what) {
    violations.add(new Violation(what, atMicros));
  }

  long count(Outcome outcome) {
    return outcomes.getOrDefault(outcome, 0L);
  }

  int accounts() {
    return ledgers.size();
  }

  /** How many accounts got all that one of their limits allows. */
  long atTheBound() {
    return atTheBound;
  }

  /** How many admitted calls are known to the microsecond. */
  long exact() {
    return exact;
  }

  /** How many denials were shown to be due to a limit. */
  long explained() {
    return explained;
  }

  /** Of each kind of limit, the account that came closest to its bound. */
  Collection<Worst> worst() {
    return worst.values();
  }

  List<Violation> violations() {
    return violations;
  }
}
