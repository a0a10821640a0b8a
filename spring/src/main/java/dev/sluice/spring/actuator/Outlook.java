package dev.sluice.spring.actuator;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Stages;
import dev.sluice.store.Store;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** What somebody can do now by one rule, for an operator. */
public record Outlook(Decision decision) {
  /** The answer to a look; what a node knows by itself while its store is away is none. */
  static Outlook of(CompletionStage<Decision> look, Store store) {
    Decision decision = Stages.await(look);
    return switch (decision.countedBy()) {
      case LOCAL, NOBODY ->
          throw new NoAnswer(
              decision instanceof Decision.Unmetered unmetered
                  ? unmetered.reason()
                  : store.trouble().orElse("the store did not answer"));
      case STORE, REPLICA, CACHE -> new Outlook(decision);
    };
  }

  /** The store did not answer. */
  static final class NoAnswer extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NoAnswer(String reason) {
      super(reason, null, false, false);
    }
  }

  Map<String, Object> told() {
    Map<String, Object> told = new LinkedHashMap<>();
    told.put("allowed", decision.allowed());
    decision
        .restrictedUntil()
        .ifPresent(until -> told.put("restrictedUntil", until.toEpochMilli()));
    told.put("limits", decision.balances().stream().map(Outlook::told).toList());
    return told;
  }

  private static Map<String, Object> told(Balance balance) {
    Map<String, Object> told = new LinkedHashMap<>();
    told.put("identity", balance.account().identity().toString());
    told.put("limit", balance.limit().toString());
    told.put("remaining", balance.remaining());
    balance.retryAfter().ifPresent(retry -> told.put("retryAfterMs", Durations.ceilMillis(retry)));
    return told;
  }
}
