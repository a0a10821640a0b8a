package dev.sluice.spring;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/**
 * The actuator endpoint {@code sluice}.
 *
 * <pre>
 *   GET    /actuator/sluice                                  what is limited, and by which rules
 *   GET    /actuator/sluice/rules | /locks                   all of them
 *   GET    /actuator/sluice/locks/{rule}                     who is locked out of a rule
 *   GET    /actuator/sluice/look/{rule}/{identity}           what is left for member=ann
 *   DELETE /actuator/sluice/locks/{rule}/{identity}          lifts a lock
 * </pre>
 */
@Endpoint(id = "sluice")
class SluiceEndpoint {
  private static final String LOCKS = "locks";

  private final Limiter limiter;
  private final SluiceProperties properties;
  private final StartCheck check;

  SluiceEndpoint(Limiter limiter, SluiceProperties properties, StartCheck check) {
    this.limiter = limiter;
    this.properties = properties;
    this.check = check;
  }

  @ReadOperation
  public Map<String, Object> overview() {
    Map<String, Object> overview = new LinkedHashMap<>();
    overview.put("rules", rules());
    overview.put("routes", properties.routes());
    overview.put("methods", check.methods());
    limiter
        .source()
        .failure()
        .ifPresent(failure -> overview.put("rulesRefused", failure.message()));
    return overview;
  }

  @ReadOperation
  public @Nullable Object all(@Selector String what) {
    return switch (what) {
      case "rules" -> rules();
      case LOCKS -> locks(null);
      default -> null;
    };
  }

  @ReadOperation
  public @Nullable Object one(@Selector String what, @Selector String rule) {
    return what.equals(LOCKS) && limiter.rules().find(rule) != null ? locks(rule) : null;
  }

  @ReadOperation
  public @Nullable Object look(
      @Selector String what, @Selector String rule, @Selector String identity) {
    if (!what.equals("look") || limiter.rules().find(rule) == null) {
      return null;
    }
    Decision decision = Gate.await(limiter.ask(Call.of(rule, Identity.parse(identity)).peeking()));
    Map<String, Object> look = new LinkedHashMap<>();
    look.put("allowed", decision.allowed());
    decision.restrictedUntil().ifPresent(until -> look.put("restrictedUntil", until));
    look.put("limits", decision.balances().stream().map(SluiceEndpoint::told).toList());
    return look;
  }

  @DeleteOperation
  public @Nullable Object lift(
      @Selector String what, @Selector String rule, @Selector String identity) {
    if (!what.equals(LOCKS) || limiter.rules().find(rule) == null) {
      return null;
    }
    return Map.of("lifted", Gate.await(limiter.lift(rule, Identity.parse(identity))));
  }

  private Map<String, String> rules() {
    Map<String, String> rules = new LinkedHashMap<>();
    for (Rule rule : limiter.rules().all()) {
      rules.put(rule.name(), rule.toString());
    }
    return rules;
  }

  private List<Map<String, Object>> locks(@Nullable String rule) {
    return Gate.await(limiter.locks(rule)).stream().map(SluiceEndpoint::told).toList();
  }

  private static Map<String, Object> told(Restriction lock) {
    return Map.of(
        "rule", lock.account().rule(),
        "identity", lock.account().identity().toString(),
        "until", lock.until().toString(),
        "reason", lock.reason());
  }

  private static Map<String, Object> told(Balance balance) {
    Map<String, Object> told = new LinkedHashMap<>();
    told.put("identity", balance.account().identity().toString());
    told.put("limit", balance.limit().toString());
    told.put("remaining", balance.remaining());
    balance.retryAfter().ifPresent(retry -> told.put("retryAfterMs", retry.toMillis()));
    return told;
  }
}
