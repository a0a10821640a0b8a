package dev.sluice.spring;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.LockPage;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/**
 * The actuator endpoint {@code sluice}.
 *
 * <pre>
 *   GET    /actuator/sluice                                  what is limited, and by which rules
 *   GET    /actuator/sluice/rules                            all rules
 *   GET    /actuator/sluice/locks?limit=…&after=…            who is locked, a page at a time
 *   GET    /actuator/sluice/locks/{rule}?limit=…&after=…     who is locked out of a rule
 *   GET    /actuator/sluice/look/{rule}/{identity}           what is left for member=ann
 *   DELETE /actuator/sluice/locks/{rule}/{identity}          lifts a lock, forgets the usage
 * </pre>
 */
@Endpoint(id = "sluice")
class SluiceEndpoint {
  /* Parameters are nullable twice: Spring Boot 3.5 looks for the one annotation, 4 for the other. */
  private static final String LOCKS = "locks";
  private static final int LOCKS_ON_A_PAGE = 100;

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

  /**
   * All rules, or a page of the locks.
   *
   * @param limit locks on a page, 1 to {@link LockPage#LARGEST}
   * @param after the {@code next} of the page before
   */
  @ReadOperation
  public @Nullable Object all(
      @Selector String what,
      @org.springframework.lang.Nullable @Nullable Integer limit,
      @org.springframework.lang.Nullable @Nullable String after) {
    return switch (what) {
      case "rules" -> rules();
      case LOCKS -> locks(null, limit, after);
      default -> null;
    };
  }

  @ReadOperation
  public @Nullable Object one(
      @Selector String what,
      @Selector String rule,
      @org.springframework.lang.Nullable @Nullable Integer limit,
      @org.springframework.lang.Nullable @Nullable String after) {
    return what.equals(LOCKS) && limiter.rules().find(rule) != null
        ? locks(rule, limit, after)
        : null;
  }

  @ReadOperation
  public @Nullable Object look(
      @Selector String what, @Selector String rule, @Selector String identity) {
    if (!what.equals("look") || limiter.rules().find(rule) == null) {
      return null;
    }
    Decision decision =
        await(() -> limiter.look(Call.of(rule, Identity.parse(identity)).peeking()));
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
    return Map.of("lifted", await(() -> limiter.lift(rule, Identity.parse(identity))));
  }

  /** Waits for an answer; what the operator wrote wrong is 400. */
  private static <T> T await(Supplier<CompletionStage<T>> action) {
    try {
      return Gate.await(action.get());
    } catch (IllegalArgumentException e) {
      String reason = String.valueOf(e.getMessage());
      throw new InvalidEndpointRequestException(reason, reason, e);
    }
  }

  private Map<String, String> rules() {
    Map<String, String> rules = new LinkedHashMap<>();
    for (Rule rule : limiter.rules().all()) {
      rules.put(rule.name(), rule.toString());
    }
    return rules;
  }

  private Map<String, Object> locks(
      @Nullable String rule, @Nullable Integer limit, @Nullable String after) {
    LockPage page =
        await(() -> limiter.locks(rule, limit == null ? LOCKS_ON_A_PAGE : limit, after));
    Map<String, Object> told = new LinkedHashMap<>();
    told.put(LOCKS, page.locks().stream().map(SluiceEndpoint::told).toList());
    told.put("total", page.total());
    if (page.next() != null) {
      told.put("next", page.next());
    }
    return told;
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
