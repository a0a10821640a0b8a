package dev.sluice.spring;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.LockPage;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Store;
import dev.sluice.memory.MemoryStore;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A memory store to which things happen: it fails for rules of certain names, and counts as a node
 * does while its Redis is away.
 */
final class TroubledStore implements Store {
  static final String THROWS = "Throws";
  static final String FAILS_LATER = "FailsLater";

  private final Store memory = MemoryStore.create();
  private final AtomicInteger takes = new AtomicInteger();
  private final boolean away;

  private TroubledStore(boolean away) {
    this.away = away;
  }

  static TroubledStore failing() {
    return new TroubledStore(false);
  }

  static TroubledStore countingForItself() {
    return new TroubledStore(true);
  }

  /** How often it was asked. */
  int takes() {
    return takes.get();
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    takes.incrementAndGet();
    String rule = plan.charges().get(0).account().rule();
    if (rule.equals(THROWS)) {
      throw new IllegalStateException("thrown at once");
    }
    if (rule.equals(FAILS_LATER)) {
      return CompletableFuture.supplyAsync(
          () -> {
            throw new IllegalStateException("failed later");
          });
    }
    return away ? memory.take(plan).thenApply(TroubledStore::local) : memory.take(plan);
  }

  private static Decision local(Decision decision) {
    return decision instanceof Decision.Allowed allowed
        ? Decision.Allowed.of(allowed.balances(), Decision.CountedBy.LOCAL, allowed::receipt)
        : new Decision.Denied(decision.balances(), Decision.CountedBy.LOCAL);
  }

  @Override
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    return memory.settle(receipt, settlement);
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    return memory.reset(account);
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return memory.lock(account, length, reason);
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    return memory.lift(account, keepUsage);
  }

  @Override
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    return memory.locks(rule, limit, after);
  }

  @Override
  public List<String> warnings() {
    return List.of("maxmemory-policy is allkeys-lru (expected: noeviction)");
  }

  @Override
  public Optional<String> trouble() {
    return away ? Optional.of("no answer") : Optional.empty();
  }

  @Override
  public void close() {
    memory.close();
  }
}
