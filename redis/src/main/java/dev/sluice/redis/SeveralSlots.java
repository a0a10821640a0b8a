package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Intent;
import dev.sluice.Lock;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.internal.Stages;
import dev.sluice.redis.wire.CloseOperation;
import dev.sluice.redis.wire.JudgeOperation;
import dev.sluice.redis.wire.Sender;
import dev.sluice.redis.wire.SettleOperation;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.Duration;
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
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One decision out of those of several slots of a Cluster. Thread-safe. */
final class SeveralSlots {
  /*
   * Each slot has judged its part of the plan by itself. If all of them allow it, what they took is
   * confirmed. If one denies it, what the others took is refunded. Locks begin only after all slots
   * have answered, so two calls that deny each other lock nobody.
   */
  private final Sender sender;
  private final Duration deadline;
  private final BiFunction<Receipt, Settlement, CompletableFuture<Settled>> settleLocally;

  /**
   * Combines slots.
   *
   * @param deadline how long refunds may take before the caller gets its answer anyway
   * @param settleLocally settles what this node counted alone
   */
  SeveralSlots(
      Sender sender,
      Duration deadline,
      BiFunction<Receipt, Settlement, CompletableFuture<Settled>> settleLocally) {
    this.sender = sender;
    this.deadline = deadline;
    this.settleLocally = settleLocally;
  }

  /**
   * The error to report: a reused id, if any slot reports one, because such a call never succeeds.
   */
  static Throwable gravest(List<CompletableFuture<Decision>> groups, Throwable first) {
    return groups.stream()
        .filter(CompletableFuture::isCompletedExceptionally)
        .map(group -> group.handle((done, error) -> Stages.cause(error)).join())
        .filter(IdReusedException.class::isInstance)
        .findFirst()
        .orElse(first);
  }

  /** Combines the decisions of several slots. If one denied, what the others took is refunded. */
  CompletionStage<Decision> together(
      Plan plan,
      List<JudgeOperation> parts,
      List<CompletableFuture<Decision>> groups,
      @Nullable Throwable error) {
    Map<JudgeOperation, Decision> answered = new LinkedHashMap<>();
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
      Map<JudgeOperation, Decision> answered, Predicate<Receipt.Entry> which) {
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
                          new CloseOperation(part.keyspace, allowed.receipt(), open),
                          part.keyspace.partition(open.get(0).account()))
                      .thenAccept(locked::putAll);
              if (open.stream().anyMatch(SeveralSlots::mayLockNow)) {
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
      Map<JudgeOperation, Decision> answered,
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
              steps.add(settleLocally.apply(taken.with(back), Settlement.GIVEN_BACK));
              return;
            }
            if (!back.isEmpty()) {
              SettleOperation undo =
                  stands
                      ? SettleOperation.undoShadow(part, taken, back)
                      : SettleOperation.undo(part, taken, back);
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

  private static JudgeOperation look(JudgeOperation part, Plan plan, List<Receipt.Entry> entries) {
    Set<Account> accounts =
        entries.stream().map(Receipt.Entry::account).collect(Collectors.toSet());
    List<Charge> charges =
        plan.charges().stream().filter(charge -> accounts.contains(charge.account())).toList();
    return new JudgeOperation(part.keyspace, new Plan(charges, Intent.PEEK, null, plan.policy()));
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
  static List<Balance> balances(
      Plan plan, List<Decision> decisions, Map<Account, List<Balance>> after) {
    Map<Account, List<Balance>> found = new HashMap<>();
    decisions.forEach(decision -> note(decision, found));
    found.putAll(after);
    return plan.charges().stream()
        .flatMap(charge -> found.getOrDefault(charge.account(), List.of()).stream())
        .toList();
  }
}
