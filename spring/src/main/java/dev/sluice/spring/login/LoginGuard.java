package dev.sluice.spring.login;

import dev.sluice.Balance;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Settlement;
import dev.sluice.internal.Stages;
import dev.sluice.spring.RateLimitedException;
import dev.sluice.spring.SluiceProperties.Login;
import dev.sluice.spring.call.CallContext;
import dev.sluice.spring.call.EdgeRequest;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.call.PreparedCall;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts failed logins by the rules of {@code sluice.login}. Thread-safe.
 *
 * <p>Public for the auto-configuration; applications have no use for it.
 */
public final class LoginGuard {
  /*
   * The cost of a try is reserved before the password is checked, so that concurrent guesses cannot
   * exceed the limit. A failure confirms it. A success refunds it and clears the usage of this login.
   * It never clears the usage of the address: an attacker could do that by logging into an own account
   * between guesses.
   *
   * With HTTP basic every request is a login. If the same password was right within the last minute,
   * the store is only read, which is cheaper than a reservation and its settlement. It is reserved
   * all the same if there is usage to clear.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LoginGuard.class);

  private final Gate gate;
  private final Login settings;
  private final List<Function<@Nullable Object[], @Nullable EdgeRequest>> edges;
  private final Settlement success;
  private final RecentSecrets right = new RecentSecrets(System::nanoTime);
  private final RecentSecrets bad = new RecentSecrets(System::nanoTime);
  private final AtomicBoolean warned = new AtomicBoolean();

  public LoginGuard(
      Gate gate, Login settings, List<Function<@Nullable Object[], @Nullable EdgeRequest>> edges) {
    this.gate = gate;
    this.settings = settings;
    this.edges = edges;
    this.success = Settlement.GIVEN_BACK.forgiving(settings.forgiven().toArray(new String[0]));
  }

  /**
   * Begins a try with a name and a password. The stage is never completed on the thread that reads
   * from Redis, so code that follows may block.
   *
   * @param exchange the request in WebFlux; null for servlets, whose thread has the request
   */
  public CompletionStage<Try> enter(
      @Nullable Object exchange, @Nullable String typed, @Nullable String secret) {
    return off(Gate.stage(() -> begin(exchange, typed, secret)));
  }

  /**
   * Begins a try with a remember-me cookie. The name in a cookie cannot be trusted, so only rules
   * without the login count it. A bad cookie counts once, even if a page sends it with many
   * requests.
   */
  public CompletionStage<Try> enterByCookie(@Nullable Object exchange, String cookie) {
    ByteBuffer digest = bad.digest("", cookie);
    return bad.contains(digest)
        ? CompletableFuture.completedFuture(new Try(this, null, null, null, null, null, null))
        : off(
            Gate.stage(() -> begin(exchange, null, null))
                .thenApply(found -> found.withCookie(digest)));
  }

  private CompletionStage<Try> begin(
      @Nullable Object exchange, @Nullable String typed, @Nullable String secret) {
    EdgeRequest request = request(exchange);
    Rules rules = gate.rules();
    String facet = settings.facet();
    String login = typed == null ? null : LoginName.of(facet, typed, rules.facets().get(facet));
    List<String> names =
        settings.allRules().stream()
            .filter(name -> canCount(rules, name, login != null, request != null))
            .toList();
    if (request == null && names.size() < settings.allRules().size()) {
      warnOnce();
    }
    ByteBuffer digest = login == null || secret == null ? null : right.digest(login, secret);
    if (names.isEmpty()) {
      return CompletableFuture.completedFuture(
          new Try(this, null, request, null, null, null, null));
    }
    Map<String, String> given = login == null ? Map.of() : Map.of(facet, login);
    PreparedCall call = gate.call(rules, names, given, 1, new CallContext(request, null));
    if (digest == null || !right.contains(digest)) {
      return reserve(call, request, login, digest);
    }
    return gate.ask(call.peeking())
        .thenCompose(
            look ->
                look.allowed() && hasSomethingToForgive(look)
                    ? reserve(call, request, login, digest)
                    : CompletableFuture.completedFuture(
                        new Try(this, call, request, look, login, digest, null)));
  }

  private CompletionStage<Try> reserve(
      PreparedCall call,
      @Nullable EdgeRequest request,
      @Nullable String login,
      @Nullable ByteBuffer digest) {
    PreparedCall reserving = call.reserving();
    return gate.ask(reserving)
        .thenApply(decision -> new Try(this, reserving, request, decision, login, digest, null));
  }

  /** Refunds, and clears those accounts that the rules of this decision count by. */
  private Settlement forgiving(Decision decision) {
    return Settlement.GIVEN_BACK.forgiving(
        decision.balances().stream()
            .map(Balance::account)
            .filter(success::forgives)
            .map(account -> String.join("+", account.identity().facets().keySet()))
            .distinct()
            .toArray(String[]::new));
  }

  private boolean hasSomethingToForgive(Decision look) {
    return look.balances().stream()
        .anyMatch(
            balance ->
                balance.remaining() < balance.limit().quota()
                    && success.forgives(balance.account()));
  }

  /** Whether a rule can count this login: whether all its facets are available here. */
  private boolean canCount(Rules rules, String name, boolean hasLogin, boolean hasRequest) {
    Rule rule = rules.find(name);
    if (rule == null || rule.missing() == Rule.Missing.SKIP) {
      return rule != null;
    }
    return rule.by().stream()
        .flatMap(identity -> Rule.facetsOf(identity).stream())
        .allMatch(
            facet ->
                facet.equals(settings.facet())
                    ? hasLogin
                    : hasRequest || !gate.facets().ofRequest(rules, facet));
  }

  private void warnOnce() {
    if (warned.compareAndSet(false, true)) {
      LOG.warn(
          "A password was checked outside of a request, where the client's address is not known."
              + " Of the rules {}, only those that count by {} alone limit such logins",
          settings.allRules(),
          settings.facet());
    }
  }

  private @Nullable EdgeRequest request(@Nullable Object exchange) {
    for (Function<@Nullable Object[], @Nullable EdgeRequest> edge : edges) {
      EdgeRequest found = edge.apply(new Object[] {exchange});
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private Instant now() {
    return gate.limiter().clock().instant();
  }

  private static <T> CompletionStage<T> off(CompletionStage<T> stage) {
    return stage.toCompletableFuture().isDone() ? stage : stage.thenApplyAsync(done -> done);
  }

  /** Waits for an answer; the timeout of the store bounds the wait. */
  public static <T> T await(CompletionStage<T> stage) {
    return Stages.await(stage);
  }

  /** Connects the guard to Spring Security. A bean; created before the guard. */
  public interface Post {
    /** Whether an authentication manager was found to guard. */
    boolean isUsed();
  }

  /** One login attempt. It ends once; later ends are ignored. Thread-safe. */
  public static final class Try {
    private final LoginGuard guard;
    private final @Nullable PreparedCall call;
    private final @Nullable EdgeRequest request;
    private final @Nullable Decision decision;
    private final @Nullable String login;
    private final @Nullable ByteBuffer digest;
    private final @Nullable ByteBuffer cookie;
    private final AtomicBoolean ended = new AtomicBoolean();

    private Try(
        LoginGuard guard,
        @Nullable PreparedCall call,
        @Nullable EdgeRequest request,
        @Nullable Decision decision,
        @Nullable String login,
        @Nullable ByteBuffer digest,
        @Nullable ByteBuffer cookie) {
      this.guard = guard;
      this.call = call;
      this.request = request;
      this.decision = decision;
      this.login = login;
      this.digest = digest;
      this.cookie = cookie;
    }

    private Try withCookie(ByteBuffer bytes) {
      return new Try(guard, call, request, decision, login, digest, bytes);
    }

    /** Whether the password may be checked. */
    public boolean allowed() {
      return decision == null || decision.allowed();
    }

    /** The decision that refused it. */
    private Decision denied() {
      if (call == null || decision == null) {
        throw new IllegalStateException("the try was not refused");
      }
      return decision;
    }

    /** What a login page shows after the refusal. */
    Refusal refusalForPage() {
      return Refusal.of(denied(), guard.now());
    }

    /** The exception for the refusal. */
    public RateLimitedException refusal() {
      Decision denied = denied();
      return guard.gate.refused(Objects.requireNonNull(call).ruleNames(), denied, request);
    }

    /**
     * Sets the header fields of the refusal on an answer that is not an error, such as a redirect.
     */
    public void setHeaders(RateLimitedException refusal) {
      if (request != null) {
        request.setHeaders(refusal.headers());
      }
    }

    /**
     * Counts the failed login. If it began a lock, returns when the caller can log in again: when
     * the lock has ended and the limit has room for another try.
     */
    public CompletionStage<Optional<Instant>> failed() {
      if (call == null || decision == null || !ended.compareAndSet(false, true)) {
        return CompletableFuture.completedFuture(Optional.empty());
      }
      if (digest != null) {
        guard.right.remove(digest);
      }
      if (cookie != null) {
        guard.bad.add(cookie);
      }
      PreparedCall asked = call;
      Decision taken = decision;
      CompletionStage<Decision> counted =
          taken instanceof Decision.Allowed && isReserved()
              ? guard.gate.settle(taken, Settlement.CONFIRMED).thenApply(done -> taken)
              : guard.gate.ask(asked.recording());
      return off(
          counted
              .thenCompose(
                  now ->
                      isUsedUp(now)
                          ? guard.gate.ask(asked.peeking())
                          : CompletableFuture.completedFuture(now))
              .thenApply(
                  now -> {
                    guard.gate.setHeaders(request, List.of(now));
                    return now.locked()
                        ? Optional.of(Refusal.passesAt(now, guard.now()))
                        : Optional.<Instant>empty();
                  })
              .exceptionally(this::lost));
    }

    private Optional<Instant> lost(Throwable error) {
      LOG.warn("The store failed; a failed login may be counted late: {}", error.toString());
      return Optional.empty();
    }

    private boolean isReserved() {
      return call != null && call.call().intent() == Intent.RESERVE;
    }

    private static boolean isUsedUp(Decision decision) {
      return decision.balances().stream()
          .anyMatch(balance -> balance.enforced() && balance.remaining() <= 0);
    }

    /**
     * Refunds a successful login. It clears usage only if the account's own name was counted. Of
     * two accounts whose names are counted as one, neither may clear the failures of the other.
     *
     * @param name the name of the user, which may differ from the name that was typed
     */
    public CompletionStage<Boolean> succeeded(@Nullable String name) {
      if (digest != null) {
        guard.right.add(digest);
      }
      return settle(
          decision != null && name != null && name.equals(login)
              ? guard.forgiving(decision)
              : Settlement.GIVEN_BACK);
    }

    /** Refunds a try that was neither a failure nor a success; clears nothing. */
    public CompletionStage<Boolean> undone() {
      return settle(Settlement.GIVEN_BACK);
    }

    private CompletionStage<Boolean> settle(Settlement settlement) {
      return ended.compareAndSet(false, true) && decision != null && isReserved()
          ? off(guard.gate.settle(decision, settlement))
          : CompletableFuture.completedFuture(false);
    }
  }
}
