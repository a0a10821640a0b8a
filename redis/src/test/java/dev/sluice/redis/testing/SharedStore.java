package dev.sluice.redis.testing;

import dev.sluice.Decision;
import dev.sluice.store.ForwardingStore;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.util.concurrent.CompletionStage;

/** A store that many tests share: closing it leaves it open. */
public final class SharedStore extends ForwardingStore {
  public SharedStore(Store store) {
    super(store);
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    return store.take(plan);
  }

  @Override
  public void close() {}
}
