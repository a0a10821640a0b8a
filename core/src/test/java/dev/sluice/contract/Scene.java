package dev.sluice.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Identity;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Receipt;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Durations;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;

/** A store on a movable clock, with short methods to call it and to format its answers. */
public final class Scene {
  /** A Monday, at the start of an hour: windows of seconds and minutes begin here. */
  public static final Instant START = Instant.parse("2026-03-02T10:00:00Z");

  public static final Identity ANN = Identity.of("member", "ann");
  public static final Identity BOB = Identity.of("member", "bob");

  public final MovableClock clock;
  public final Store store;

  public Scene(MovableClock clock, Store store) {
    this.clock = clock;
    this.store = store;
  }

  /** A rule of one limit for members. */
  public static Rule rule(Limit limit) {
    return Rule.builder("test").by("member").limit(limit).build();
  }

  /** The same count and window as each kind of limit. */
  public static List<Limit> everyKind(long limit, Duration window) {
    List<Limit> kinds = new ArrayList<>(everyWindow(limit, window));
    kinds.add(Limit.tokenBucket(limit, limit, window));
    return kinds;
  }

  /** Of these, the kinds that count in a window: what was used stays so until that is over. */
  public static List<Limit> everyWindow(long limit, Duration window) {
    List<Limit> kinds = new ArrayList<>(List.of(Limit.fixedWindow(limit, window)));
    kinds.addAll(everySlidingKind(limit, window));
    return kinds;
  }

  /** Of these, the kinds whose window has no edge at which all comes back. */
  public static List<Limit> everySlidingKind(long limit, Duration window) {
    return List.of(
        Limit.slidingLog(limit, window), Limit.slidingWindow(limit, window, window.dividedBy(10)));
  }

  /** How far beyond a limit it can be recorded. */
  public static long debt(Limit limit) {
    return limit instanceof Limit.TokenBucket bucket ? bucket.debt() : 0;
  }

  /** Whether what was used comes back little by little, and not when a window is over. */
  public static boolean refills(Limit limit) {
    return limit instanceof Limit.TokenBucket;
  }

  public Limiter limiter(Rule... rules) {
    return Limiter.builder(store, RuleSource.fixed(Rules.of(rules))).clock(clock).build();
  }

  public Decision decide(Rule rule, Call call) {
    return limiter(rule).decide(call);
  }

  public Decision take(Rule rule, Identity identity, long cost) {
    return decide(rule, Call.of(rule.name(), identity).costing(cost));
  }

  public Decision take(Rule rule, long cost) {
    return take(rule, ANN, cost);
  }

  public Decision peek(Rule rule, long cost) {
    return decide(rule, Call.of(rule.name(), ANN).costing(cost).peeking());
  }

  public Decision record(Rule rule, long cost) {
    return decide(rule, Call.of(rule.name(), ANN).costing(cost).recording());
  }

  /** Takes what must be there, and gives the receipt. */
  public Receipt receipt(Rule rule, long cost) {
    return receipt(take(rule, cost));
  }

  public static Receipt receipt(Decision decision) {
    assertThat(decision).isInstanceOf(Decision.Allowed.class);
    return ((Decision.Allowed) decision).receipt();
  }

  /** What is left of a rule of one limit for Ann. */
  public long left(Rule rule) {
    return peek(rule, 1).balances().get(0).remaining();
  }

  /**
   * How many calls of cost 1 pass, one after another, until one is denied; at most {@code most}.
   */
  public long passing(Rule rule, long most) {
    long passed = 0;
    while (passed < most && take(rule, 1).allowed()) {
      passed++;
    }
    return passed;
  }

  public void reset(Rule rule) {
    await(limiter(rule).resetAsync(rule.name(), ANN));
  }

  public static <T> T await(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  /** The whole of a decision in one line: {@code denied [0 of 3, retry 1s, reset 10s]}. */
  public String shown(Decision decision) {
    boolean several =
        decision.balances().stream().map(Balance::account).distinct().limit(2).count() > 1;
    return (decision.allowed() ? "allowed " : "denied ")
        + decision.balances().stream()
            .map(balance -> (several ? balance.account() + " " : "") + shown(balance))
            .collect(Collectors.joining("; ", "[", "]"));
  }

  private String shown(Balance balance) {
    String retry =
        balance.fits()
            ? ""
            : balance
                .retryAfter()
                .map(wait -> ", retry " + Durations.format(wait))
                .orElse(", never");
    String locked =
        balance.locked()
            ? ", locked " + Durations.format(Durations.ofMicros(lockLeftMicros(balance)))
            : "";
    return (balance.enforced() ? "" : "shadow ")
        + balance.remaining()
        + " of "
        + balance.limit().quota()
        + retry
        + ", reset "
        + Durations.format(balance.resetAfter())
        + locked;
  }

  private long lockLeftMicros(Balance balance) {
    return balance.lockedUntilMicros() - clock.micros();
  }
}
