package dev.sluice.spring.actuator;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Stages;
import dev.sluice.store.Store;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** The balances of an identity by one rule, for an operator. */
record Outlook(Decision decision) {
  /** Awaits a decision of the store; throws if the node had to decide without it. */
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

  Map<String, Object> json() {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("allowed", decision.allowed());
    decision
        .restrictedUntil()
        .ifPresent(until -> json.put("restrictedUntil", until.toEpochMilli()));
    json.put("limits", decision.balances().stream().map(Outlook::json).toList());
    return json;
  }

  private static Map<String, Object> json(Balance balance) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("identity", balance.account().identity().toString());
    json.put("limit", balance.limit().toString());
    json.put("remaining", balance.remaining());
    balance.retryAfter().ifPresent(retry -> json.put("retryAfterMs", Durations.ceilMillis(retry)));
    return json;
  }
}
