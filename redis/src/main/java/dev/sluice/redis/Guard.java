package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.OnStoreFailure;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Store;
import dev.sluice.Terms;
import dev.sluice.memory.MemoryStore;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A store around a store that answers within a deadline, by the rule's policy if it must. */
final class Guard implements Store {
  /*
   * After FAILURES_IN_A_ROW the store counts as silent: calls are answered at once by their policy,
   * and one at a time goes through as a probe. The first answer to a probe ends it. So a dead Redis
   * costs one waiting call at a time, and a live one is noticed within a call.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Guard.class);
  private static final int FAILURES_IN_A_ROW = 5;
  private static final Duration PATIENCE_WITH_PEOPLE = Duration.ofSeconds(5);

  private final Store store;
  private final Deadlines deadlines;
  private final int nodes;
  private final Consumer<StoreFault> onFault;
  private final MemoryStore local = MemoryStore.create();
  private final AtomicInteger failures = new AtomicInteger();
  private final AtomicBoolean probing = new AtomicBoolean();
  private volatile @Nullable String trouble;

  Guard(Store store, Duration deadline, int nodes, Consumer<StoreFault> onFault) {
    this.store = store;
    this.deadlines = new Deadlines(deadline);
    this.nodes = nodes;
    this.onFault = onFault;
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    boolean silent = failures.get() >= FAILURES_IN_A_ROW;
    boolean probe = silent && probing.compareAndSet(false, true);
    if (silent && !probe) {
      return CompletableFuture.completedFuture(byPolicy(plan, String.valueOf(trouble)));
    }
    CompletableFuture<Decision> asked = ask(plan);
    if (asked.isDone() && !asked.isCompletedExceptionally()) {
      answered(probe);
      return asked;
    }
    return deadlines
        .within(asked)
        .handle(
            (decision, error) -> {
              if (error == null) {
                answered(probe);
                return decision;
              }
              failed(StoreFault.of(error), probe);
              return byPolicy(plan, String.valueOf(StoreFault.of(error).getMessage()));
            });
  }

  private CompletableFuture<Decision> ask(Plan plan) {
    try {
      return store.take(plan).toCompletableFuture();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private void answered(boolean probe) {
    if (probe) {
      probing.set(false);
    }
    if (failures.get() != 0 && failures.getAndSet(0) >= FAILURES_IN_A_ROW) {
      trouble = null;
      LOG.info("Redis answers again");
    }
  }

  private void failed(StoreFault fault, boolean probe) {
    trouble = fault.getMessage();
    if (failures.incrementAndGet() == FAILURES_IN_A_ROW) {
      LOG.error("Redis is silent, rules decide by onStoreFailure: {}", fault.getMessage());
    }
    if (probe) {
      probing.set(false);
    }
    try {
      onFault.accept(fault);
    } catch (RuntimeException e) {
      LOG.warn("What is told of faults failed itself", e); // and must not keep callers waiting
    }
  }

  private Decision byPolicy(Plan plan, String reason) {
    if (plan.policy() == OnStoreFailure.LOCAL) {
      Decision counted = local.take(divided(plan)).toCompletableFuture().join();
      return new Decision.Unmetered(counted.allowed(), counted.balances(), reason);
    }
    return new Decision.Unmetered(plan.policy() == OnStoreFailure.ALLOW, List.of(), reason);
  }

  /** The plan at this node's share of each limit. */
  private Plan divided(Plan plan) {
    if (nodes == 1) {
      return plan;
    }
    List<Charge> charges =
        plan.charges().stream()
            .map(
                charge ->
                    new Charge(
                        charge.rule(),
                        charge.identity(),
                        new Terms(
                            charge.terms().limits().stream().map(this::share).toList(),
                            charge.terms().lock(),
                            charge.terms().countDenied()),
                        charge.cost()))
            .toList();
    return new Plan(charges, plan.intent(), plan.id(), plan.policy());
  }

  private Limit share(Limit limit) {
    long part = Math.max(1, limit.quota() / nodes);
    if (limit instanceof Limit.FixedWindow window) {
      return Limit.fixed(part, window.cycle());
    }
    if (limit instanceof Limit.SlidingLog log) {
      return Limit.log(part, log.window());
    }
    if (limit instanceof Limit.SlidingWindow window) {
      return Limit.sliding(part, window.window(), window.precision());
    }
    Limit.TokenBucket bucket = (Limit.TokenBucket) limit;
    return Limit.bucket(part, bucket.refill(), bucket.period().multipliedBy(nodes));
  }

  @Override
  public Optional<String> trouble() {
    return failures.get() >= FAILURES_IN_A_ROW
        ? Optional.of(String.valueOf(trouble))
        : Optional.empty();
  }

  @Override
  public CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
    return patiently(() -> store.settle(receipt, actualCost));
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    local.reset(account);
    return patiently(() -> store.reset(account));
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return patiently(() -> store.lock(account, length, reason));
  }

  @Override
  public CompletionStage<Boolean> lift(Account account) {
    local.lift(account);
    return patiently(() -> store.lift(account));
  }

  @Override
  public CompletionStage<List<Restriction>> locks(@Nullable String rule) {
    return patiently(() -> store.locks(rule));
  }

  /** People and settlements wait longer than calls, and see an error rather than a guess. */
  private static <T> CompletionStage<T> patiently(Supplier<CompletionStage<T>> operation) {
    CompletableFuture<T> stage;
    try {
      stage = operation.get().toCompletableFuture();
    } catch (StoreFault fault) {
      return CompletableFuture.failedFuture(fault);
    }
    return stage
        .copy()
        .orTimeout(PATIENCE_WITH_PEOPLE.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionallyCompose(error -> CompletableFuture.failedFuture(StoreFault.of(error)));
  }

  @Override
  public void close() {
    store.close();
    deadlines.close();
  }
}
