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
 *   GET    /actuator/sluice                                  rules, routes and annotated methods
 *   GET    /actuator/sluice/rules                            all rules
 *   GET    /actuator/sluice/locks?limit=…&amp;after=…            locks, one page at a time
 *   GET    /actuator/sluice/locks/{rule}?limit=…&amp;after=…     locks of a rule
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
   * Every answer is built here with its status, because Spring Boot answers a null from a DELETE with
   * 204, and hides the text of its own 400. Every path is one selector and parsed here, because in
   * WebFlux a selector for all remaining parts also gets those of the selectors before it.
   *
   * An identity that `locks` prints can be appended to a path, also with a slash in it. The server
   * decodes the path once, so a % in it is a plain character. Some servers and firewalls refuse %25
   * and %2F in a path; the parameter `identity` takes the text exactly as printed.
   *
   * Parameters have two @Nullable: Spring Boot 3.5 reads one annotation, 4 the other.
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

  /** A rule or path that does not exist. */
  private static final class NotFound extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NotFound(String message) {
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
   * All rules, a page of locks, or the balances of an identity.
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
          String section = section(path, List.of(RULES, LOCKS, LOOK));
          if (section.equals(LOOK)) {
            return outlook(target(path, identity)).json();
          }
          if (path.length > (section.equals(LOCKS) ? 2 : 1)) {
            throw new NotFound(
                "/sluice/%s: nothing below it (expected: /sluice/look/{rule}/{identity})"
                    .formatted(section));
          }
          return section.equals(RULES)
              ? rules()
              : locks(path.length == 1 ? null : known(path[1]).name(), limit, after);
        });
  }

  // ---- Writing ------------------------------------------------------------------------------

  /** Sets a lock, and replaces any that exists. */
  @WriteOperation
  public WebEndpointResponse<?> lock(
      @Selector(match = Match.ALL_REMAINING) String[] path,
      @org.springframework.lang.Nullable @Nullable String identity,
      @org.springframework.lang.Nullable @Nullable String duration,
      @org.springframework.lang.Nullable @Nullable String reason,
      SecurityContext caller) {
    return answer(
        () -> {
          section(path, List.of(LOCKS));
          Target target = target(path, identity);
          Duration length = duration(duration);
          String why = reason == null || reason.isBlank() ? DEFAULT_REASON : reason;
          List<Restriction> set =
              Stages.await(limiter.lockAsync(target.rule.name(), target.identity, length, why));
          audit("lock set", true, target, caller);
          Map<String, Object> json = json(LOCKS, set.stream().map(SluiceEndpoint::json).toList());
          json.put("now", outlook(target).json());
          return json;
        });
  }

  /**
   * Lifts a lock, or forgets usage and lock.
   *
   * @param keepUsage whether the usage that led to the lock stays; for locks only
   */
  @DeleteOperation
  public WebEndpointResponse<?> delete(
      @Selector(match = Match.ALL_REMAINING) String[] path,
      @org.springframework.lang.Nullable @Nullable String identity,
      @org.springframework.lang.Nullable @Nullable Boolean keepUsage,
      SecurityContext caller) {
    return answer(
        () -> {
          boolean lock = section(path, List.of(LOCKS, ACCOUNTS)).equals(LOCKS);
          Target target = target(path, identity);
          String rule = target.rule.name();
          if (lock) {
            boolean keeps = Boolean.TRUE.equals(keepUsage);
            boolean lifted = Stages.await(limiter.liftAsync(rule, target.identity, keeps));
            // Before the balances are read, which may fail: the lock is lifted all the same.
            audit("lock lifted", lifted, target, caller);
            Outlook now = outlook(target);
            Map<String, Object> json = json("lifted", lifted);
            json.put("says", limiter.lifted(lifted, rule, now.decision()).inWords());
            json.put("now", now.json());
            return json;
          }
          if (keepUsage != null) {
            throw new IllegalArgumentException(
                "keepUsage: not possible here (expected: only for locks; an account is reset as a whole)");
          }
          boolean reset = Stages.await(limiter.resetAsync(rule, target.identity));
          audit("account reset", reset, target, caller);
          Map<String, Object> json = json("reset", reset);
          json.put("now", outlook(target).json());
          return json;
        });
  }

  /** Writes a line to the audit log if something changed. */
  private void audit(String action, boolean changed, Target target, SecurityContext caller) {
    if (changed) {
      Principal principal = caller.getPrincipal();
      String rule = target.rule.name();
      // Accounts show the hash of a secret facet, so no secret gets into the log.
      String accounts =
          limiter.rules().accounts(rule, target.identity).stream()
              .map(account -> account.identity().toString())
              .collect(Collectors.joining(", "));
      AUDIT.info(
          "{} by {}: rule {}, {}",
          action,
          principal == null ? "an unknown user" : Text.quoted(principal.getName()),
          rule,
          accounts);
    }
  }

  // ---- Requests -----------------------------------------------------------------------------

  /** A rule and an identity, which together name one or more accounts. */
  private record Target(Rule rule, Identity identity) {}

  private Outlook outlook(Target target) {
    return Outlook.of(limiter.inspectAsync(target.rule.name(), target.identity), store);
  }

  /** The first part of a path, which must be one of these. */
  private static String section(String[] path, List<String> possible) {
    String section = path.length == 0 ? "" : path[0];
    if (!possible.contains(section)) {
      throw unknown("/sluice/" + Text.quoted(section), section, possible);
    }
    return section;
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

  private static NotFound unknown(String place, String name, List<String> possible) {
    String hint =
        Text.nearest(name, possible)
            .map(Text::didYouMean)
            .orElse("expected: " + Text.listed(possible));
    return new NotFound("%s: unknown (%s)".formatted(place, hint));
  }

  private static Identity identity(String path, @Nullable String parameter) {
    if (!path.isEmpty() && parameter != null) {
      throw new IllegalArgumentException(
          "identity: given twice (expected: in the path or as a parameter)");
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

  /** The answer to a request; an exception becomes a problem with its status. */
  private static WebEndpointResponse<?> answer(Supplier<Map<String, ?>> action) {
    try {
      return new WebEndpointResponse<>(action.get());
    } catch (NotFound e) {
      return problem(404, "Not Found", e);
    } catch (IllegalArgumentException e) {
      return problem(400, "Bad Request", e);
    } catch (StoreException | Outlook.NoAnswer | StoreFullException e) {
      return problem(503, "Service Unavailable", e);
    }
  }

  private static WebEndpointResponse<?> problem(int status, String title, RuntimeException error) {
    Map<String, Object> problem = new LinkedHashMap<>();
    problem.put("title", title);
    problem.put("status", status);
    problem.put("detail", String.valueOf(error.getMessage()));
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
    Map<String, Object> json =
        json(LOCKS, page.locks().stream().map(SluiceEndpoint::json).toList());
    json.put("total", page.total());
    if (page.next() != null) {
      json.put("next", page.next());
    }
    return json;
  }

  private static Map<String, Object> json(String key, Object first) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put(key, first);
    return json;
  }

  private static Map<String, Object> json(Restriction lock) {
    Map<String, Object> json = json("rule", lock.account().rule());
    json.put("identity", lock.account().identity().toString());
    json.put("since", lock.since() == null ? null : lock.since().toString());
    json.put("until", lock.until().toString());
    json.put("reason", lock.reason());
    return json;
  }
}
