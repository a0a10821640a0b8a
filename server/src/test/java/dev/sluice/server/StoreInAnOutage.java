package dev.sluice.server;

import dev.sluice.Decision;
import dev.sluice.IdReusedException;
import dev.sluice.Receipt;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.memory.MemoryStore;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A memory store that answers as a store on Redis does while Redis is away and each node counts.
 */
final class StoreInAnOutage extends ForwardingStore {
  static final String WARNING = "Redis evicts keys when it is full (expected: noeviction)";

  StoreInAnOutage() {
    super(MemoryStore.create());
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    if ("reused".equals(plan.id())) {
      return CompletableFuture.failedFuture(new IdReusedException("reused"));
    }
    return store.take(plan).thenApply(StoreInAnOutage::local);
  }

  private static Decision local(Decision decision) {
    return decision instanceof Decision.Allowed allowed
        ? Decision.Allowed.of(
            allowed.balances(), Decision.CountedBy.LOCAL, () -> local(allowed.receipt()))
        : new Decision.Denied(decision.balances(), Decision.CountedBy.LOCAL);
  }

  private static Receipt local(Receipt receipt) {
    List<Receipt.Entry> entries = receipt.entries().stream().map(Receipt.Entry::locally).toList();
    return new Receipt(
        receipt.id(), receipt.takenAtMicros(), receipt.openUntilMicros(), entries, "node-1");
  }

  @Override
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    return CompletableFuture.failedFuture(
        new IllegalArgumentException(
            "receipt: counted by node %s alone (expected: settle it there)"
                .formatted(receipt.node())));
  }

  @Override
  public List<String> warnings() {
    return List.of(WARNING);
  }
}
