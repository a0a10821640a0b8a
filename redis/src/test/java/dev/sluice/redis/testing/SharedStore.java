package dev.sluice.redis.testing;

import dev.sluice.Decision;
import dev.sluice.ForwardingStore;
import dev.sluice.Plan;
import dev.sluice.Store;
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
