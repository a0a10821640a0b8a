package dev.sluice.spring.actuator;

import dev.sluice.Identity;
import dev.sluice.Limiter;
import dev.sluice.LockPage;
import dev.sluice.Restriction;
import dev.sluice.Rule;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Stages;
import dev.sluice.internal.Text;
import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.boot.StartCheck;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import dev.sluice.store.StoreFullException;
import java.security.Principal;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.util.MimeType;

/**
 * The actuator endpoint {@code sluice}.
 *
 * <pre>
 *   GET    /actuator/sluice                                  what is limited, and by which rules
 *   GET    /actuator/sluice/rules                            all rules
 *   GET    /actuator/sluice/locks?limit=…&amp;after=…            who is locked, a page at a time
 *   GET    /actuator/sluice/locks/{rule}?limit=…&amp;after=…     who is locked out of a rule
 *   GET    /actuator/sluice/look/{rule}/{identity}           what is left for member=ann
 *   POST   /actuator/sluice/locks/{rule}/{identity}          sets a lock: duration, reason
 *   DELETE /actuator/sluice/locks/{rule}/{identity}          lifts a lock; keepUsage=true
 *   DELETE /actuator/sluice/accounts/{rule}/{identity}       forgets usage and lock
 * </pre>
 *
 * <p>An identity is the rest of the path, or the parameter {@code identity}.
 */
@WebEndpoint(id = "sluice")
public class SluiceEndpoint {
  /*
   * Spring Boot answers a null from a DELETE with 204, and hides the text of its own 400. So every
   * answer is made here, with its status. So is every path: it is one selector, because WebFlux gives
   * to a selector of several parts what the selectors before it matched, too.
   *
   * An identity that `locks` prints can be pasted behind a path, also one with a slash in it. The
   * server has decoded the path once; what it decoded is the value. A server or a firewall refuses
   * some characters in a path (%25, %2F). The parameter takes those: it is the text exactly as listed.
   *
   * Parameters are nullable twice: Spring Boot 3.5 looks for the one annotation, 4 for the other.
   */
  private static final Logger AUDIT = LoggerFactory.getLogger("sluice.audit");
  private static final String RULES = "rules";
  private static final String LOCKS = "locks";
  private static final String LOOK = "look";
  private static final String ACCOUNTS = "accounts";
  private static final int LOCKS_ON_A_PAGE = 100;
  private static final String DEFAULT_REASON = "set by hand";
  private static final MimeType PROBLEM = new MimeType("application", "problem+json");

  private final Limiter limiter;
  private final Store store;
  private final SluiceProperties properties;
  private final StartCheck check;

  SluiceEndpoint(Limiter limiter, Store store, SluiceProperties properties, StartCheck check) {
    this.limiter = limiter;
    this.store = store;
    this.properties = properties;
    this.check = check;
  }

  /** Something that a path names is not there. */
  private static final class NotThere extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NotThere(String message) {
      super(message, null, false, false);
    }
  }

  // ---- Reading ------------------------------------------------------------------------------

  @ReadOperation
  public Map<String, Object> overview() {
    Map<String, Object> overview = new LinkedHashMap<>();
    overview.put(RULES, rules());
    overview.put("routes", properties.routes());
    overview.put("methods", check.methods());
    limiter
        .source()
        .failure()
        .ifPresent(failure -> overview.put("rulesRefused", failure.message()));
    return overview;
  }

  /**
   * All rules, a page of the locks, or what is left for somebody.
   *
   * @param limit locks on a page, 1 to {@link LockPage#LARGEST}
   * @param after the {@code next} of the page before
   */
  @ReadOperation
  public WebEndpointResponse<?> read(
      @Selector(match = Match.ALL_REMAINING) String[] path,
      @org.springframework.lang.Nullable @Nullable String identity,
      @org.springframework.lang.Nullable @Nullable Integer limit,
      @org.springframework.lang.Nullable @Nullable String after) {
    return answer(
        () -> {
          String what = what(path, List.of(RULES, LOCKS, LOOK));
          if (what.equals(LOOK)) {
            return outlook(target(path, identity)).told();
          }
          if (path.length > (what.equals(LOCKS) ? 2 : 1)) {
            throw new NotThere(
                "/sluice/%s: nothing below it (expected: /sluice/look/{rule}/{identity})"
                    .formatted(what));
          }
          return what.equals(RULES)
              ? rules()
              : locks(path.length == 1 ? null : known(path[1]).name(), limit, after);
        });
  }

  // ---- Writing ------------------------------------------------------------------------------

  /** Sets a lock by hand, in place of any that is there. */
  @WriteOperation
  public WebEndpointResponse<?> lock(
      @Selector(match = Match.ALL_REMAINING) String[] path,
      @org.springframework.lang.Nullable @Nullable String identity,
      @org.springframework.lang.Nullable @Nullable String duration,
      @org.springframework.lang.Nullable @Nullable String reason,
      SecurityContext caller) {
    return answer(
        () -> {
          what(path, List.of(LOCKS));
          Target target = target(path, identity);
          Duration length = duration(duration);
          String why = reason == null || reason.isBlank() ? DEFAULT_REASON : reason;
          List<Restriction> set =
              Stages.await(limiter.lockAsync(target.rule.name(), target.identity, length, why));
          audit("lock set", true, target, caller);
          Map<String, Object> told = told(LOCKS, set.stream().map(SluiceEndpoint::told).toList());
          told.put("now", outlook(target).told());
          return told;
        });
  }

  /**
   * Lifts a lock, or forgets usage and lock.
   *
   * @param keepUsage whether what led to the lock stays; of a lock only
   */
  @DeleteOperation
  public WebEndpointResponse<?> delete(
      @Selector(match = Match.ALL_REMAINING) String[] path,
      @org.springframework.lang.Nullable @Nullable String identity,
      @org.springframework.lang.Nullable @Nullable Boolean keepUsage,
      SecurityContext caller) {
    return answer(
        () -> {
          boolean lock = what(path, List.of(LOCKS, ACCOUNTS)).equals(LOCKS);
          Target target = target(path, identity);
          String rule = target.rule.name();
          if (lock) {
            boolean keeps = Boolean.TRUE.equals(keepUsage);
            boolean lifted = Stages.await(limiter.liftAsync(rule, target.identity, keeps));
            // Before the look, which may fail: the lock is gone all the same.
            audit("lock lifted", lifted, target, caller);
            Outlook now = outlook(target);
            Map<String, Object> told = told("lifted", lifted);
            told.put("says", limiter.lifted(lifted, rule, now.decision()).inWords());
            told.put("now", now.told());
            return told;
          }
          if (keepUsage != null) {
            throw new IllegalArgumentException(
                "keepUsage: there (expected: only for locks; an account is forgotten as a whole)");
          }
          boolean reset = Stages.await(limiter.resetAsync(rule, target.identity));
          audit("account reset", reset, target, caller);
          Map<String, Object> told = told("reset", reset);
          told.put("now", outlook(target).told());
          return told;
        });
  }

  /** Writes down what an operator has changed; what changed nothing is not worth a line. */
  private void audit(String what, boolean changed, Target target, SecurityContext caller) {
    if (changed) {
      Principal principal = caller.getPrincipal();
      String rule = target.rule.name();
      // As accounts are named: a secret that was typed in stays out of the log.
      String accounts =
          limiter.rules().accounts(rule, target.identity).stream()
              .map(account -> account.identity().toString())
              .collect(Collectors.joining(", "));
      AUDIT.info(
          "{} by {}: rule {}, {}",
          what,
          principal == null ? "somebody without a name" : Text.quoted(principal.getName()),
          rule,
          accounts);
    }
  }

  // ---- What was asked -----------------------------------------------------------------------

  /** Whose accounts are meant. */
  private record Target(Rule rule, Identity identity) {}

  private Outlook outlook(Target target) {
    return Outlook.of(limiter.inspectAsync(target.rule.name(), target.identity), store);
  }

  /** The first part of a path. */
  private static String what(String[] path, List<String> possible) {
    String what = path.length == 0 ? "" : path[0];
    if (!possible.contains(what)) {
      throw unknown("/sluice/" + Text.quoted(what), what, possible);
    }
    return what;
  }

  /** The rule in a path, and the identity behind it or in a parameter. */
  private Target target(String[] path, @Nullable String parameter) {
    if (path.length < 2) {
      throw new IllegalArgumentException(
          "rule: missing (expected: /sluice/%s/{rule}/{identity})".formatted(path[0]));
    }
    String rest = String.join("/", List.of(path).subList(2, path.length));
    return new Target(known(path[1]), identity(rest, parameter));
  }

  private Rule known(String name) {
    Rule rule = limiter.rules().find(name);
    if (rule == null) {
      List<String> all = limiter.rules().all().stream().map(Rule::name).toList();
      throw unknown("rule " + Text.quoted(name), name, all);
    }
    return rule;
  }

  private static NotThere unknown(String place, String name, List<String> possible) {
    String hint =
        Text.nearest(name, possible)
            .map(Text::didYouMean)
            .orElse("expected: " + Text.listed(possible));
    return new NotThere("%s: unknown (%s)".formatted(place, hint));
  }

  private static Identity identity(String path, @Nullable String parameter) {
    if (!path.isEmpty() && parameter != null) {
      throw new IllegalArgumentException(
          "identity: there twice (expected: in the path or as a parameter)");
    }
    if (path.isEmpty() && parameter == null) {
      throw new IllegalArgumentException(
          "identity: missing (expected: behind the rule, such as login=ann)");
    }
    return Identity.parse(parameter == null ? path.replace("%", "%25") : parameter);
  }

  private static Duration duration(@Nullable String text) {
    if (text == null) {
      throw new IllegalArgumentException("duration: missing (expected: such as 30m)");
    }
    try {
      return Durations.parse(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("duration: " + e.getMessage(), e);
    }
  }

  // ---- Answers ------------------------------------------------------------------------------

  /** The answer to a request, with the status that says whose fault it is if there is none. */
  private static WebEndpointResponse<?> answer(Supplier<Map<String, ?>> action) {
    try {
      return new WebEndpointResponse<>(action.get());
    } catch (NotThere e) {
      return problem(404, "Not Found", e);
    } catch (IllegalArgumentException e) {
      return problem(400, "Bad Request", e);
    } catch (StoreException | Outlook.NoAnswer | StoreFullException e) {
      return problem(503, "Service Unavailable", e);
    }
  }

  private static WebEndpointResponse<?> problem(int status, String title, RuntimeException why) {
    Map<String, Object> problem = new LinkedHashMap<>();
    problem.put("title", title);
    problem.put("status", status);
    problem.put("detail", String.valueOf(why.getMessage()));
    return new WebEndpointResponse<>(problem, status, PROBLEM);
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
        Stages.await(limiter.locksAsync(rule, limit == null ? LOCKS_ON_A_PAGE : limit, after));
    Map<String, Object> told =
        told(LOCKS, page.locks().stream().map(SluiceEndpoint::told).toList());
    told.put("total", page.total());
    if (page.next() != null) {
      told.put("next", page.next());
    }
    return told;
  }

  private static Map<String, Object> told(String what, Object first) {
    Map<String, Object> told = new LinkedHashMap<>();
    told.put(what, first);
    return told;
  }

  private static Map<String, Object> told(Restriction lock) {
    Map<String, Object> told = told("rule", lock.account().rule());
    told.put("identity", lock.account().identity().toString());
    told.put("until", lock.until().toString());
    told.put("reason", lock.reason());
    return told;
  }
}
