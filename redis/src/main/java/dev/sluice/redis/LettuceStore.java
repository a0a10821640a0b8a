package dev.sluice.redis;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.Stages;
import dev.sluice.outage.Fallback;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.Operation;
import dev.sluice.redis.wire.Sender;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The store on Redis itself: every plan is one atomic call of a function or script. Thread-safe.
 *
 * <p>Applications use it behind a denial cache; {@link RedisStoreBuilder#build} combines both.
 */
final class LettuceStore implements Store {
  /*
   * On a single Redis every plan is one atomic script call. In a Cluster, a plan whose accounts are
   * in several slots is one call for each slot, all sent at once. If any slot denies, what the
   * others took is refunded. That never admits too much, but for an instant another call may see
   * less quota than there is.
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
  private final Sender sender;
  private final @Nullable Guard guard;
  private final Operators operators;
  private final Spread spread;
  private final Duration deadline;
  private final Cache<Account, Long> confirmedLocks =
      Caffeine.newBuilder()
          .expireAfterWrite(CONFIRMED)
          .maximumSize(MOST_CONFIRMED)
          .executor(Runnable::run)
          .build();
  private volatile long looksAgainNanos = System.nanoTime();

  /**
   * A store.
   *
   * @param guard adds deadlines and fallback; null to throw exceptions instead
   * @param operators everything but decisions, on a connection of its own
   * @param deadline the time limit of Redis; a replica gets a quarter of it
   */
  LettuceStore(
      Topology topology,
      Sender sender,
      @Nullable Guard guard,
      Operators operators,
      Duration deadline) {
    this.topology = topology;
    this.sender = sender;
    this.guard = guard;
    this.operators = operators;
    this.spread = operators.spread();
    this.deadline = deadline;
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    if (!topology.looksAtReplicas()) {
      return judge(plan);
    }
    return mayAskReplica(plan)
        ? lockedAtReplica(plan)
            .thenCompose(
                locked ->
                    locked == null
                        ? judge(plan).thenApply(this::confirm)
                        : CompletableFuture.completedFuture(locked))
        : judge(plan).thenApply(this::confirm);
  }

  /**
   * Whether a replica can deny a plan: all its accounts have a lock that the master confirmed
   * lately, and the denial need not be counted.
   */
  private boolean mayAskReplica(Plan plan) {
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

  @Override
  public CompletionStage<Decision> look(Plan plan) {
    return known(keyspace -> look(plan, keyspace));
  }

  private CompletionStage<Decision> look(Plan plan, Keyspace keyspace) {
    Map<Integer, List<Charge>> partitions = byPartition(keyspace, plan.charges(), Charge::account);
    List<Operation.Judge> parts =
        Operation.Judge.parts(keyspace, plan, partitions.values(), false, sender.estimatedNow());
    List<CompletableFuture<Decision>> groups = new ArrayList<>(parts.size());
    int at = 0;
    for (int partition : partitions.keySet()) {
      groups.add(operators.look(parts.get(at++), partition));
    }
    return CompletableFuture.allOf(groups.toArray(new CompletableFuture<?>[0]))
        .thenApply(
            done -> {
              List<Decision> seen = groups.stream().map(CompletableFuture::join).toList();
              List<Balance> balances = balances(plan, seen, Map.of());
              return seen.stream().allMatch(Decision::allowed)
                  ? Decision.Allowed.of(
                      balances, Decision.CountedBy.STORE, () -> new Receipt("-", 0, List.of()))
                  : new Decision.Denied(balances);
            });
  }

  private CompletionStage<Decision> judge(Plan plan) {
    if (!topology.isCluster()) {
      return ask(new Operation.Judge(Keyspace.UNKEYED, plan), 0);
    }
    Keyspace keyspace;
    try {
      keyspace = spread.keyspace();
    } catch (StoreFault unknown) {
      return guard == null
          ? CompletableFuture.failedFuture(unknown)
          : guard.byPolicy(new Operation.Judge(Keyspace.UNKEYED, plan), unknown);
    }
    Map<Integer, List<Charge>> partitions = byPartition(keyspace, plan.charges(), Charge::account);
    boolean held =
        partitions.size() > 1 && plan.intent() == Intent.TAKE && anyLocks(plan.charges());
    List<Operation.Judge> parts =
        Operation.Judge.parts(keyspace, plan, partitions.values(), held, sender.estimatedNow());
    List<CompletableFuture<Decision>> groups = new ArrayList<>(parts.size());
    int at = 0;
    for (int partition : partitions.keySet()) {
      groups.add(ask(parts.get(at++), partition));
    }
    if (groups.size() == 1) {
      return groups.get(0);
    }
    return CompletableFuture.allOf(groups.toArray(new CompletableFuture<?>[0]))
        .handle((done, error) -> error == null ? null : gravest(groups, Stages.cause(error)))
        .thenCompose(error -> together(plan, parts, groups, error))
        .copy(); // a caller that cancels must not cancel the refunds
  }

  private CompletableFuture<Decision> ask(Operation.Judge operation, int partition) {
    return guard == null ? patiently(operation, partition) : guard.judge(operation, partition);
  }

  /** Asks Redis without deadline and fallback. */
  CompletableFuture<Decision> askRedis(Plan plan) {
    try {
      Keyspace keyspace = spread.keyspace();
      return sender.send(
          new Operation.Judge(keyspace, plan), keyspace.partition(plan.charges().get(0).account()));
    } catch (StoreFault unknown) {
      return CompletableFuture.failedFuture(unknown);
    }
  }

  private static boolean anyLocks(List<Charge> charges) {
    for (Charge charge : charges) {
      if (charge.terms().lock() != null) {
        return true;
      }
    }
    return false;
  }

  /**
   * The error to report: a reused id, if any slot reports one, because such a call never succeeds.
   */
  private static Throwable gravest(List<CompletableFuture<Decision>> groups, Throwable first) {
    return groups.stream()
        .filter(CompletableFuture::isCompletedExceptionally)
        .map(group -> group.handle((done, error) -> Stages.cause(error)).join())
        .filter(IdReusedException.class::isInstance)
        .findFirst()
        .orElse(first);
  }

  /** Combines the decisions of several slots. If one denied, what the others took is refunded. */
  private CompletionStage<Decision> together(
      Plan plan,
      List<Operation.Judge> parts,
      List<CompletableFuture<Decision>> groups,
      @Nullable Throwable error) {
    Map<Operation.Judge, Decision> answered = new LinkedHashMap<>();
    for (int i = 0; i < groups.size(); i++) {
      if (!groups.get(i).isCompletedExceptionally()) {
        answered.put(parts.get(i), groups.get(i).join());
      }
    }
    List<Decision> decisions = List.copyOf(answered.values());
    boolean denied = decisions.stream().anyMatch(decision -> !decision.allowed());
    boolean passes = !denied && error == null;
    // A call with an id may be sent again after a failure, and must then find what it took.
    boolean mayComeAgain =
        error != null && plan.id() != null && !(error instanceof IdReusedException);
    Set<String> refusedInShadow =
        decisions.stream()
            .flatMap(decision -> decision.shadowDenials().stream())
            .collect(Collectors.toSet());
    Predicate<Receipt.Entry> isGivenBack =
        entry ->
            plan.intent().takes()
                && (passes
                    ? refusedInShadow.contains(entry.account().rule())
                    : !mayComeAgain && !entry.terms().countDenied());
    CompletableFuture<Map<Account, List<Balance>>> givenBack =
        giveBack(plan, answered, passes || mayComeAgain, isGivenBack);
    CompletableFuture<Map<Account, Long>> closed = close(answered, isGivenBack.negate());
    return givenBack.thenCompose(
        after ->
            error != null
                ? CompletableFuture.failedFuture(Stages.cause(error))
                : denied
                    ? CompletableFuture.completedFuture(refused(plan, decisions, after))
                    : closed.thenApply(
                        locked -> merged(plan, decisions, after, locked, isGivenBack)));
  }

  /** The denial by at least one of several slots. */
  private static Decision refused(
      Plan plan, List<Decision> decisions, Map<Account, List<Balance>> after) {
    boolean counted = decisions.stream().anyMatch(Decision.Denied.class::isInstance);
    return counted
        ? new Decision.Denied(balances(plan, decisions, after), countedBy(decisions))
        : unmetered(decisions).orElseThrow();
  }

  private static Optional<Decision> unmetered(List<Decision> decisions) {
    return decisions.stream().filter(Decision.Unmetered.class::isInstance).findFirst();
  }

  /** Where a call was counted: by this node alone if any slot was. */
  private static Decision.CountedBy countedBy(List<Decision> decisions) {
    boolean local =
        decisions.stream().anyMatch(each -> each.countedBy() == Decision.CountedBy.LOCAL);
    return local ? Decision.CountedBy.LOCAL : Decision.CountedBy.STORE;
  }

  /**
   * Confirms what a call took, after all slots have answered. Returns the accounts that this
   * locked, and until when.
   */
  private CompletableFuture<Map<Account, Long>> close(
      Map<Operation.Judge, Decision> answered, Predicate<Receipt.Entry> which) {
    Map<Account, Long> locked = new ConcurrentHashMap<>();
    List<CompletableFuture<?>> steps = new ArrayList<>();
    answered.forEach(
        (part, decision) -> {
          if (part.held
              && decision instanceof Decision.Allowed allowed
              && decision.countedBy() == Decision.CountedBy.STORE) {
            List<Receipt.Entry> open =
                allowed.receipt().entries().stream()
                    .filter(which)
                    .filter(entry -> entry.cost() > 0)
                    .toList();
            if (!open.isEmpty()) {
              CompletableFuture<?> step =
                  sender
                      .send(
                          new Operation.Close(part.keyspace, allowed.receipt(), open),
                          part.keyspace.partition(open.get(0).account()))
                      .thenAccept(locked::putAll);
              if (open.stream().anyMatch(LettuceStore::mayLockNow)) {
                steps.add(step);
              }
            }
          }
        });
    return CompletableFuture.allOf(steps.toArray(new CompletableFuture<?>[0]))
        .orTimeout(
            deadline.toNanos(), TimeUnit.NANOSECONDS) // if it is lost, the hold ends by itself
        .handle((done, failed) -> locked);
  }

  private static boolean mayLockNow(Receipt.Entry entry) {
    Lock lock = entry.terms().lock();
    return lock != null && lock.on() == Lock.On.LIMIT;
  }

  /**
   * Refunds part of what was taken, and returns the balances of those accounts afterwards.
   *
   * @param stands whether a call with an id keeps its decision
   */
  private CompletableFuture<Map<Account, List<Balance>>> giveBack(
      Plan plan,
      Map<Operation.Judge, Decision> answered,
      boolean stands,
      Predicate<Receipt.Entry> which) {
    Map<Account, List<Balance>> after = new ConcurrentHashMap<>();
    List<CompletableFuture<?>> steps = new ArrayList<>();
    answered.forEach(
        (part, decision) -> {
          if (decision instanceof Decision.Allowed allowed) {
            Receipt taken = allowed.receipt();
            List<Receipt.Entry> back = taken.entries().stream().filter(which).toList();
            if (decision.countedBy() == Decision.CountedBy.LOCAL && back.isEmpty()) {
              return;
            }
            if (decision.countedBy() == Decision.CountedBy.LOCAL) {
              steps.add(settleLocally(taken.with(back), Settlement.GIVEN_BACK));
              return;
            }
            if (!back.isEmpty()) {
              Operation.Settle undo =
                  stands
                      ? Operation.Settle.undoShadow(part, taken, back)
                      : Operation.Settle.undo(part, taken, back);
              int partition = part.keyspace.partition(back.get(0).account());
              steps.add(sender.send(undo, partition));
              // Sent in the same pipeline, so it takes no extra time.
              steps.add(
                  sender
                      .send(look(part, plan, back), partition)
                      .thenAccept(seen -> note(seen, after)));
            }
          }
        });
    return CompletableFuture.allOf(steps.toArray(new CompletableFuture<?>[0]))
        .orTimeout(
            deadline.toNanos(), TimeUnit.NANOSECONDS) // the caller waits no longer for a refund
        .handle((done, failed) -> after);
  }

  private static Operation.Judge look(
      Operation.Judge part, Plan plan, List<Receipt.Entry> entries) {
    Set<Account> accounts =
        entries.stream().map(Receipt.Entry::account).collect(Collectors.toSet());
    List<Charge> charges =
        plan.charges().stream().filter(charge -> accounts.contains(charge.account())).toList();
    return new Operation.Judge(part.keyspace, new Plan(charges, Intent.PEEK, null, plan.policy()));
  }

  private static void note(Decision seen, Map<Account, List<Balance>> after) {
    for (Balance balance : seen.balances()) {
      after.computeIfAbsent(balance.account(), none -> new ArrayList<>()).add(balance);
    }
  }

  private static Decision merged(
      Plan plan,
      List<Decision> decisions,
      Map<Account, List<Balance>> givenBack,
      Map<Account, Long> locked,
      Predicate<Receipt.Entry> isGivenBack) {
    Optional<Decision> unmetered = unmetered(decisions);
    if (unmetered.isPresent()) {
      return unmetered.get(); // one slot was not counted at all, and the rule allows that
    }
    return Decision.Allowed.of(
        balances(plan, decisions, givenBack).stream()
            .map(balance -> locked(balance, locked))
            .toList(),
        countedBy(decisions),
        () -> {
          List<Receipt.Entry> entries = new ArrayList<>();
          String node = "";
          for (Decision decision : decisions) {
            Receipt receipt = ((Decision.Allowed) decision).receipt();
            node = receipt.node().isEmpty() ? node : receipt.node();
            receipt.entries().stream()
                .filter(isGivenBack.negate())
                .map(entry -> locked.containsKey(entry.account()) ? entry.locking() : entry)
                .forEach(entries::add);
          }
          Receipt first = ((Decision.Allowed) decisions.get(0)).receipt();
          return new Receipt(
              first.id(), first.takenAtMicros(), first.openUntilMicros(), entries, node);
        });
  }

  private static Balance locked(Balance balance, Map<Account, Long> locked) {
    Long until = locked.get(balance.account());
    return until == null ? balance : balance.lockedUntil(until);
  }

  /** The balances in the order of the plan; for refunded accounts, those after the refund. */
  private static List<Balance> balances(
      Plan plan, List<Decision> decisions, Map<Account, List<Balance>> after) {
    Map<Account, List<Balance>> found = new HashMap<>();
    decisions.forEach(decision -> note(decision, found));
    found.putAll(after);
    return plan.charges().stream()
        .flatMap(charge -> found.getOrDefault(charge.account(), List.of()).stream())
        .toList();
  }

  /** The denial of a plan if a replica has a lock on one of its accounts, else null. */
  private CompletionStage<@Nullable Decision> lockedAtReplica(Plan plan) {
    Keyspace keyspace = spread.keyspace(); // a lock is known, so the keyspace is
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
                long until = LockIndex.until(looks.get(i).join());
                long left = until - sender.estimatedNow();
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

  private Decision confirm(Decision decision) {
    for (Balance balance : decision.balances()) {
      if (balance.locked() && decision.countedBy() == Decision.CountedBy.STORE) {
        confirmedLocks.put(balance.account(), balance.lockedUntilMicros());
      }
    }
    return decision;
  }

  @Override
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    List<Receipt.Entry> counted =
        receipt.entries().stream().filter(entry -> !entry.local()).toList();
    List<CompletableFuture<Settled>> parts = new ArrayList<>();
    if (counted.size() < receipt.entries().size()) {
      List<Receipt.Entry> local = receipt.entries().stream().filter(Receipt.Entry::local).toList();
      CompletableFuture<Settled> settled = settleLocally(receipt.with(local), settlement);
      if (settled.isCompletedExceptionally()) {
        return settled; // nothing was sent to Redis yet
      }
      parts.add(settled);
    }
    if (counted.isEmpty()) {
      return parts.get(0);
    }
    Keyspace keyspace;
    try {
      keyspace = spread.keyspace();
    } catch (StoreFault unknown) {
      return CompletableFuture.failedFuture(unknown);
    }
    byPartition(keyspace, counted, Receipt.Entry::account)
        .forEach(
            (partition, entries) -> {
              if (!entries.isEmpty()) {
                String calls =
                    topology.isCluster()
                        ? keyspace.callsBeside(entries.get(0).account())
                        : Keyspace.CALLS;
                Operation.Settle part =
                    Operation.Settle.of(keyspace, receipt, entries, settlement, calls);
                parts.add(
                    patiently(part, partition)
                        .thenApply(
                            settled -> {
                              rememberLocks(part.locks());
                              return settled;
                            }));
              }
            });
    return CompletableFuture.allOf(parts.toArray(new CompletableFuture<?>[0]))
        .thenApply(done -> Settled.together(parts.stream().map(CompletableFuture::join).toList()));
  }

  /**
   * Remembers locks that a settlement caused, so that they hold on this node while Redis is down.
   */
  private void rememberLocks(Map<Account, Long> locks) {
    if (guard != null) {
      locks.forEach(guard.fallback()::lock);
    }
  }

  private CompletableFuture<Settled> settleLocally(Receipt receipt, Settlement settlement) {
    return guard == null
        ? CompletableFuture.failedFuture(
            new IllegalArgumentException("receipt: counted by a node alone"))
        : guard.fallback().settle(receipt, settlement).toCompletableFuture();
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    confirmedLocks.invalidate(account);
    if (guard != null) {
      guard.fallback().reset(account);
    }
    return manage(account, keyspace -> Operation.Manage.reset(keyspace, account))
        .thenApply(existed -> existed == 1);
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return manage(account, keyspace -> Operation.Manage.lock(keyspace, account, length, reason))
        .thenApply(
            until -> {
              if (guard != null) {
                guard.fallback().lock(account, until);
              }
              return new Restriction(account, instant(until), reason);
            });
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    confirmedLocks.invalidate(account);
    if (guard != null) {
      guard.fallback().lift(account, keepUsage);
    }
    return manage(account, keyspace -> Operation.Manage.lift(keyspace, account, keepUsage))
        .thenApply(was -> was == 1);
  }

  private CompletionStage<Long> manage(
      Account account, Function<Keyspace, Operation.Manage> operation) {
    return known(
        keyspace -> operators.manage(operation.apply(keyspace), keyspace.partition(account)));
  }

  /** Runs a step once the keyspace is known. */
  private <R> CompletionStage<R> known(Function<Keyspace, CompletionStage<R>> step) {
    return operators
        .triedToConnect()
        .thenCompose(
            tried -> {
              try {
                return step.apply(spread.keyspace());
              } catch (StoreFault unknown) {
                return CompletableFuture.failedFuture(unknown);
              }
            });
  }

  /** Checks whether an account is still locked, if this node remembers a lock for an outage. */
  void checkLock(Account account) {
    confirmedLocks.invalidate(account);
    if (guard == null || guard.fallback().knownLock(account) == 0) {
      return;
    }
    Fallback fallback = guard.fallback();
    CompletionStage<?> unused =
        operators
            .lockOf(account)
            .thenAccept(
                notice -> {
                  if (LockIndex.until(notice) <= sender.estimatedNow()) {
                    fallback.lift(account, true);
                  }
                });
  }

  /** Sends an operation with a longer time limit than a decision has. */
  private <R> CompletableFuture<R> patiently(Operation<R> operation, int partition) {
    return sender
        .send(operation, partition)
        .copy() // cancelling the copy does not cancel the operation
        .orTimeout(Operators.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionallyCompose(
            error -> {
              Throwable cause = Stages.cause(error);
              return CompletableFuture.failedFuture(
                  cause instanceof IdReusedException ? cause : StoreFault.of(cause));
            });
  }

  @Override
  public Optional<String> trouble() {
    return guard == null ? Optional.empty() : guard.trouble().or(spread::unknown);
  }

  @Override
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    return operators.locks(rule, limit, after, sender.estimatedNow());
  }

  @Override
  public List<String> warnings() {
    return operators.warnings();
  }

  /** The number of values under the keys of Sluice that it did not write and replaced. */
  @Override
  public long foreignValues() {
    return sender.foreignValues() + operators.foreignValues();
  }

  /** The clock of Redis, as far as this node knows it. */
  long estimatedNow() {
    return sender.estimatedNow();
  }

  /** The channel for announcements of refunds. */
  RefundChannel refunds() {
    return operators.refunds();
  }

  @Override
  public void close() {
    operators.close();
    if (guard != null) {
      guard.close();
    }
    topology.close();
  }

  /** Groups by what one call can touch: in a Cluster a partition, otherwise everything. */
  private <T> Map<Integer, List<T>> byPartition(
      Keyspace keyspace, List<T> parts, Function<T, Account> account) {
    if (!topology.isCluster()) {
      return Map.of(0, parts);
    }
    Map<Integer, List<T>> partitions = new LinkedHashMap<>();
    for (T part : parts) {
      partitions
          .computeIfAbsent(keyspace.partition(account.apply(part)), none -> new ArrayList<>())
          .add(part);
    }
    return partitions;
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }
}
