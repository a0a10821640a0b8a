package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Intent;
import dev.sluice.LimiterListener;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.RuleSource;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.Answer;
import dev.sluice.internal.Stages;
import dev.sluice.outage.Fallback;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.JudgeOperation;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.LockOperation;
import dev.sluice.redis.wire.ManageOperation;
import dev.sluice.redis.wire.Operation;
import dev.sluice.redis.wire.Sender;
import dev.sluice.redis.wire.SettleOperation;
import dev.sluice.redis.wire.StoreFault;
import dev.sluice.rules.source.KeptOverrides;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.SharedData;
import dev.sluice.store.Store;
import dev.sluice.traffic.Reporter;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Function;
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
  private final Topology topology;
  private final Sender sender;
  private final @Nullable Guard guard;
  private final OperatorCalls operators;
  private final EvictionWatch eviction;
  private final Spread spread;
  private final ReplicaLocks replicaLocks;
  private final SeveralSlots slots;
  private volatile @Nullable Reporter reporter;
  private volatile @Nullable KeptOverrides overrides;

  /**
   * A store.
   *
   * @param guard adds deadlines and fallback; null to throw exceptions instead
   * @param operators everything but decisions, on a connection of its own
   * @param eviction looks whether Redis evicts keys
   * @param spread how accounts are spread over partitions
   * @param deadline the time limit of Redis; a replica gets a quarter of it
   */
  LettuceStore(
      Topology topology,
      Sender sender,
      @Nullable Guard guard,
      OperatorCalls operators,
      EvictionWatch eviction,
      Spread spread,
      Duration deadline) {
    this.topology = topology;
    this.sender = sender;
    this.guard = guard;
    this.operators = operators;
    this.eviction = eviction;
    this.spread = spread;
    this.replicaLocks = new ReplicaLocks(topology, deadline, sender::estimatedNow);
    this.slots = new SeveralSlots(sender, deadline, this::settleLocally);
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    Answer<Decision> answer = new Answer<>();
    take(plan, answer);
    return answer;
  }

  @Override
  public void take(Plan plan, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    if (!topology.looksAtReplicas()) {
      judge(plan, then);
    } else if (!replicaLocks.mayDeny(plan)) {
      Stages.pass(confirmed(plan), then);
    } else {
      Stages.pass(
          replicaLocks
              .denial(plan, spread.keyspace())
              .thenCompose(
                  locked ->
                      locked == null ? confirmed(plan) : CompletableFuture.completedFuture(locked)),
          then);
    }
  }

  private CompletionStage<Decision> confirmed(Plan plan) {
    Answer<Decision> answer = new Answer<>();
    judge(plan, answer);
    return answer.thenApply(replicaLocks::confirm);
  }

  @Override
  public CompletionStage<Decision> look(Plan plan) {
    return known(keyspace -> look(plan, keyspace));
  }

  private CompletionStage<Decision> look(Plan plan, Keyspace keyspace) {
    Map<Integer, List<Charge>> partitions = byPartition(keyspace, plan.charges(), Charge::account);
    List<JudgeOperation> parts =
        JudgeOperation.parts(keyspace, plan, partitions.values(), false, sender.estimatedNow());
    List<CompletableFuture<Decision>> groups = new ArrayList<>(parts.size());
    int at = 0;
    for (int partition : partitions.keySet()) {
      groups.add(operators.look(parts.get(at++), partition));
    }
    return CompletableFuture.allOf(groups.toArray(new CompletableFuture<?>[0]))
        .thenApply(
            done -> {
              List<Decision> seen = groups.stream().map(CompletableFuture::join).toList();
              List<Balance> balances = SeveralSlots.balances(plan, seen, Map.of());
              return seen.stream().allMatch(Decision::allowed)
                  ? Decision.Allowed.of(
                      balances, Decision.CountedBy.STORE, () -> new Receipt("-", 0, List.of()))
                  : new Decision.Denied(balances);
            });
  }

  private void judge(Plan plan, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    if (!topology.isCluster()) {
      ask(new JudgeOperation(Keyspace.UNKEYED, plan), 0, then);
      return;
    }
    Keyspace keyspace;
    try {
      keyspace = spread.keyspace();
    } catch (StoreFault unknown) {
      if (guard == null) {
        then.accept(null, unknown);
      } else {
        guard.byPolicy(new JudgeOperation(Keyspace.UNKEYED, plan), unknown, then);
      }
      return;
    }
    Map<Integer, List<Charge>> partitions = byPartition(keyspace, plan.charges(), Charge::account);
    boolean held =
        partitions.size() > 1 && plan.intent() == Intent.TAKE && anyLocks(plan.charges());
    List<JudgeOperation> parts =
        JudgeOperation.parts(keyspace, plan, partitions.values(), held, sender.estimatedNow());
    Iterator<Integer> partition = partitions.keySet().iterator();
    if (parts.size() == 1) {
      ask(parts.get(0), partition.next(), then);
      return;
    }
    List<CompletableFuture<Decision>> groups = new ArrayList<>(parts.size());
    for (JudgeOperation part : parts) {
      Answer<Decision> answer = new Answer<>();
      ask(part, partition.next(), answer);
      groups.add(answer);
    }
    Stages.pass(
        CompletableFuture.allOf(groups.toArray(new CompletableFuture<?>[0]))
            .handle(
                (done, error) ->
                    error == null ? null : SeveralSlots.gravest(groups, Stages.cause(error)))
            .thenCompose(error -> slots.together(plan, parts, groups, error)),
        then);
  }

  private void ask(
      JudgeOperation operation,
      int partition,
      BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
    if (guard == null) {
      Stages.pass(patiently(operation, partition), then);
    } else {
      guard.judge(operation, partition, then);
    }
  }

  /** Asks Redis without deadline and fallback. */
  CompletableFuture<Decision> askRedis(Plan plan) {
    try {
      Keyspace keyspace = spread.keyspace();
      return sender.send(
          new JudgeOperation(keyspace, plan), keyspace.partition(plan.charges().get(0).account()));
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
                SettleOperation part =
                    SettleOperation.of(keyspace, receipt, entries, settlement, calls);
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
    replicaLocks.forget(account);
    if (guard != null) {
      guard.fallback().reset(account);
    }
    return manage(account, keyspace -> ManageOperation.reset(keyspace, account))
        .thenApply(existed -> existed == 1);
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return manage(account, keyspace -> new LockOperation(keyspace, account, length, reason))
        .thenApply(
            lock -> {
              if (guard != null) {
                guard
                    .fallback()
                    .lock(account, ChronoUnit.MICROS.between(Instant.EPOCH, lock.until()));
              }
              return lock;
            });
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    replicaLocks.forget(account);
    if (guard != null) {
      guard.fallback().lift(account, keepUsage);
    }
    return manage(account, keyspace -> ManageOperation.lift(keyspace, account, keepUsage))
        .thenApply(was -> was == 1);
  }

  private <R> CompletionStage<R> manage(
      Account account, Function<Keyspace, Operation<R>> operation) {
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
    replicaLocks.forget(account);
    if (guard == null || guard.fallback().knownLock(account) == 0) {
      return;
    }
    Fallback fallback = guard.fallback();
    CompletionStage<?> unused =
        operators
            .lockOf(account)
            .thenAccept(
                notice -> {
                  if (LockIndex.Notice.of(notice).until() <= sender.estimatedNow()) {
                    fallback.lift(account, true);
                  }
                });
  }

  /** Sends an operation with a longer time limit than a decision has. */
  private <R> CompletableFuture<R> patiently(Operation<R> operation, int partition) {
    return sender
        .send(operation, partition)
        .orTimeout(OperatorCalls.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
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
  public SharedData sharedData() {
    return operators.data();
  }

  /** Has limiters on this store apply overrides. Closing the store ends that. */
  void apply(KeptOverrides overrides) {
    this.overrides = overrides;
  }

  /** Has the decisions on this store reported. Closing the store ends that. */
  void report(Reporter reporter) {
    this.reporter = reporter;
  }

  @Override
  public Optional<LimiterListener> listener() {
    Reporter reports = reporter;
    return reports == null ? Optional.empty() : Optional.of(reports.traffic());
  }

  @Override
  public RuleSource rules(RuleSource source) {
    KeptOverrides kept = overrides;
    RuleSource inForce = kept == null ? source : kept.over(source);
    Reporter reports = reporter;
    if (reports != null) {
      reports.rules(inForce);
    }
    return inForce;
  }

  @Override
  public List<String> warnings() {
    return eviction.warnings();
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
    return new RefundChannel(topology);
  }

  @Override
  public void close() {
    Reporter reports = reporter;
    if (reports != null) {
      reports.close();
    }
    KeptOverrides kept = overrides;
    if (kept != null) {
      kept.close();
    }
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
}
