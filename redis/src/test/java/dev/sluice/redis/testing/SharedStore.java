package dev.sluice.redis.testing;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.LockPage;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Settled;
import dev.sluice.Settlement;
import dev.sluice.Store;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** A store that many tests share: closing it leaves it open. */
public record SharedStore(Store store) implements Store {
  @Override
  public CompletionStage<Decision> take(Plan plan) {
    return store.take(plan);
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
  public CompletionStage<LockPage> locks(String rule, int limit, String after) {
    return store.locks(rule, limit, after);
  }

  @Override
  public void close() {}
}
