package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.Store;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How Sluice is doing: {@code UP}, or {@code DEGRADED}, which takes nobody out of service, because
 * the rules say what happens without the store.
 */
record Condition(String status, Map<String, Object> details) {
  static Condition of(Store store, Limiter limiter) {
    Map<String, Object> details = new LinkedHashMap<>();
    details.put("rules", limiter.rules().size());
    store.trouble().ifPresent(trouble -> details.put("store", trouble));
    limiter.source().failure().ifPresent(failure -> details.put("rulesRefused", failure.message()));
    return new Condition(details.size() == 1 ? "UP" : "DEGRADED", details);
  }
}
