package dev.sluice.spring;

import dev.sluice.Decision;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A memory store to which things happen: it fails for rules of certain names, and counts as a node
 * does while its Redis is away.
 */
final class TroubledStore extends ForwardingStore {
  static final String THROWS = "Throws";
  static final String FAILS_LATER = "FailsLater";

  private final AtomicInteger takes = new AtomicInteger();
  private final boolean away;

  private TroubledStore(boolean away) {
    super(MemoryStore.create());
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
    return away ? store.take(plan).thenApply(TroubledStore::local) : store.take(plan);
  }

  private static Decision local(Decision decision) {
    return decision instanceof Decision.Allowed allowed
        ? Decision.Allowed.of(allowed.balances(), Decision.CountedBy.LOCAL, allowed::receipt)
        : new Decision.Denied(decision.balances(), Decision.CountedBy.LOCAL);
  }

  @Override
  public List<String> warnings() {
    return List.of("maxmemory-policy is allkeys-lru (expected: noeviction)");
  }

  @Override
  public Optional<String> trouble() {
    return away ? Optional.of("no answer") : Optional.empty();
  }
}
