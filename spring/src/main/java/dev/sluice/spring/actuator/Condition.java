package dev.sluice.spring.actuator;

import dev.sluice.Limiter;
import dev.sluice.RuleSource;
import dev.sluice.store.Store;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The health of Sluice: {@code UP} or {@code DEGRADED}. Degraded does not take a node out of
 * service, because the rules say what happens without the store. Warnings do not change the status.
 */
record Condition(String status, Map<String, Object> details) {
  static Condition of(Store store, Limiter limiter) {
    Map<String, Object> details = new LinkedHashMap<>();
    details.put("rules", limiter.rules().size());
    Optional<String> trouble = store.trouble();
    Optional<RuleSource.Failure> refused = limiter.source().failure();
    trouble.ifPresent(each -> details.put("store", each));
    refused.ifPresent(failure -> details.put("rulesRefused", failure.message()));
    List<String> warnings = store.warnings();
    if (!warnings.isEmpty()) {
      details.put("warnings", warnings);
    }
    return new Condition(trouble.isPresent() || refused.isPresent() ? "DEGRADED" : "UP", details);
  }
}
