package dev.sluice.redis;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Answers calls of locked callers from a replica, where one is configured. Thread-safe. */
final class ReplicaLocks {
  /*
   * A replica may lag behind its master. So it is asked only about locks that the master has
   * confirmed lately, and believed only if it knows the same end. A replica that is slow or away
   * costs one call a second.
   */
  /**
   * The share of the deadline that a replica gets (one in this many), so that time is left for the
   * master.
   */
  private static final int LOOKS_IN_A_DEADLINE = 4;

  /** How long a lock at a replica is trusted after the master confirmed it. */
  private static final Duration CONFIRMED = Duration.ofSeconds(10);

  private static final long MOST_CONFIRMED = 100_000;
  private static final Duration REPLICA_REST = Duration.ofSeconds(1);

  private final Topology topology;
  private final Duration deadline;
  private final LongSupplier storeMicros;
  private final Cache<Account, Long> confirmedLocks =
      Caffeine.newBuilder()
          .expireAfterWrite(CONFIRMED)
          .maximumSize(MOST_CONFIRMED)
          .executor(Runnable::run)
          .build();
  private volatile long looksAgainNanos = System.nanoTime();

  ReplicaLocks(Topology topology, Duration deadline, LongSupplier storeMicros) {
    this.topology = topology;
    this.deadline = deadline;
    this.storeMicros = storeMicros;
  }

  /**
   * Whether a replica can deny a plan: all its accounts have a lock that the master confirmed
   * lately, and the denial need not be counted.
   */
  boolean mayDeny(Plan plan) {
    if (plan.intent() != Intent.TAKE
        || plan.id() != null
        || System.nanoTime() - looksAgainNanos < 0) {
      return false;
    }
    for (Charge charge : plan.charges()) {
      if (!charge.enforced() || charge.terms().countDenied() || confirmed(charge.account()) == 0) {
        return false;
      }
    }
    return true;
  }

  /** The denial of a plan if a replica has a lock on one of its accounts, else null. */
  CompletionStage<@Nullable Decision> denial(Plan plan, Keyspace keyspace) {
    List<CompletableFuture<@Nullable String>> looks =
        plan.charges().stream()
            .map(charge -> topology.lookAtReplica(Keyspace.lockKey(keyspace.key(charge.account()))))
            .toList();
    return CompletableFuture.allOf(looks.toArray(new CompletableFuture<?>[0]))
        .orTimeout(deadline.toNanos() / LOOKS_IN_A_DEADLINE, TimeUnit.NANOSECONDS)
        .handle(
            (done, error) -> {
              if (error != null) {
                // The master decides. A slow or missing replica delays one call per second.
                looksAgainNanos = System.nanoTime() + REPLICA_REST.toNanos();
                return null;
              }
              List<Balance> balances = new ArrayList<>();
              for (int i = 0; i < looks.size(); i++) {
                Charge charge = plan.charges().get(i);
                long until = LockIndex.Notice.of(looks.get(i).join()).until();
                long left = until - storeMicros.getAsLong();
                if (left <= 0 || until != confirmed(charge.account())) {
                  return null;
                }
                for (Limit limit : charge.terms().limits()) {
                  balances.add(new Balance(charge.account(), limit, true, 0, left, left, until));
                }
              }
              return new Decision.Denied(balances, Decision.CountedBy.REPLICA);
            });
  }

  /** The end of a lock that the master reported lately, or 0. A replica may lag behind. */
  private long confirmed(Account account) {
    Long until = confirmedLocks.getIfPresent(account);
    return until == null ? 0 : until;
  }

  Decision confirm(Decision decision) {
    for (Balance balance : decision.balances()) {
      if (balance.locked() && decision.countedBy() == Decision.CountedBy.STORE) {
        confirmedLocks.put(balance.account(), balance.lockedUntilMicros());
      }
    }
    return decision;
  }

  /** Forgets a lock, which may have been lifted. */
  void forget(Account account) {
    confirmedLocks.invalidate(account);
  }
}
