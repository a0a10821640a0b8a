package dev.sluice.store;

import dev.sluice.Account;
import dev.sluice.LimiterListener;
import dev.sluice.LockPage;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.RuleSource;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A store that wraps another one and forwards everything but {@link #take}. Subclasses implement
 * {@code take} and override what else differs. {@code decide} and {@code look} call {@code take}
 * unless overridden.
 */
public abstract class ForwardingStore implements Store {
  /** The wrapped store. */
  protected final Store store;

  /** Wraps a store. */
  protected ForwardingStore(Store store) {
    this.store = store;
  }

  @Override
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    return store.settle(receipt, settlement);
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    return store.reset(account);
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return store.lock(account, length, reason);
  }

  @Override
  public CompletionStage<Boolean> lift(Account account, boolean keepUsage) {
    return store.lift(account, keepUsage);
  }

  @Override
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    return store.locks(rule, limit, after);
  }

  @Override
  public List<String> warnings() {
    return store.warnings();
  }

  @Override
  public Optional<String> trouble() {
    return store.trouble();
  }

  @Override
  public long foreignValues() {
    return store.foreignValues();
  }

  @Override
  public SharedData sharedData() {
    return store.sharedData();
  }

  @Override
  public Optional<LimiterListener> listener() {
    return store.listener();
  }

  @Override
  public RuleSource rules(RuleSource source) {
    return store.rules(source);
  }

  @Override
  public void close() {
    store.close();
  }
}
