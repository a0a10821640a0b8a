package dev.sluice;

import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The front door: plans a call by the rules in force, asks the store, gives its decision.
 *
 * <p>{@link #decideAsync} answers when the store has; {@link #decide} waits for it. A call that names an
 * unknown rule or lacks a facet is an {@link IllegalArgumentException}; a refusal is a value.
 * Thread-safe. Closing it closes its store and its rules.
 */
public final class Limiter implements AutoCloseable {
  /** More locks than these do not end in the same microsecond. */
  private static final int MOST_WITH_ONE_END = 100;

  private final Store store;
  private final RuleSource source;
  private final InstantSource clock;

  private Limiter(Store store, RuleSource source, InstantSource clock) {
    this.store = store;
    this.source = source;
    this.clock = clock;
  }

  public static Limiter of(Store store, Rules rules) {
    return of(store, RuleSource.fixed(rules));
  }

  public static Limiter of(Store store, RuleSource source) {
    return of(store, source, InstantSource.system());
  }

  /**
   * A limiter with a clock of its own.
   *
   * @param clock tells which overrides have ended; accounts follow the store's clock
   */
  public static Limiter of(Store store, RuleSource source, InstantSource clock) {
    return new Limiter(store, source, clock);
  }

  /** Judges a call, as soon as the store answers. */
  public CompletionStage<Decision> decideAsync(Call call) {
    Plan plan = source.rules().plan(call, clock);
    List<String> exempt = exempt(call, plan);
    if (plan.charges().isEmpty()) {
      return CompletableFuture.completedFuture(nothingToPay(plan, exempt));
    }
    return exempt.isEmpty()
        ? store.take(plan)
        : store.take(plan).thenApply(decision -> exemptFrom(exempt, decision));
  }

  /** Judges a call of cost 1 by one rule, as soon as the store answers. */
  public CompletionStage<Decision> decideAsync(String rule, Identity identity) {
    return decideAsync(Call.of(rule, identity));
  }

  /**
   * Looks, for an operator, at those accounts of a rule that an identity names, also if the caller
   * is exempt or the rule counts by more facets: fails if the store does not answer.
   */
  public CompletionStage<Decision> inspectAsync(String rule, Identity identity) {
    return store.look(source.rules().look(rule, identity, clock));
  }

  /** Looks at what a call would find, for an operator: fails if the store does not answer. */
  public CompletionStage<Decision> inspectAsync(Call call) {
    Plan plan = source.rules().plan(call.peeking(), clock);
    return plan.charges().isEmpty()
        ? CompletableFuture.completedFuture(nothingToPay(plan, List.of()))
        : store.look(plan);
  }

  /** Judges a call and waits for the answer. */
  public Decision decide(Call call) {
    Plan plan = source.rules().plan(call, clock);
    List<String> exempt = exempt(call, plan);
    return exempt.isEmpty()
        ? store.decide(plan)
        : plan.charges().isEmpty()
            ? nothingToPay(plan, exempt)
            : exemptFrom(exempt, store.decide(plan));
  }

  /** Judges a call of cost 1 by one rule and waits for the answer. */
  public Decision decide(String rule, Identity identity) {
    Rules.Compiled compiled = source.rules().compiled(rule);
    Charge only = compiled.only(identity, 1, clock);
    return only == null ? decide(Call.of(rule, identity)) : store.decide(only);
  }

  /** The rules of a call by which it pays nothing. */
  private static List<String> exempt(Call call, Plan plan) {
    List<String> exempt = List.of();
    for (String rule : call.rules()) {
      if (!pays(plan, rule) && !exempt.contains(rule)) {
        exempt = new ArrayList<>(exempt);
        exempt.add(rule);
      }
    }
    return exempt;
  }

  private static boolean pays(Plan plan, String rule) {
    for (Charge charge : plan.charges()) {
      if (charge.rule().name().equals(rule)) {
        return true;
      }
    }
    return false;
  }

  /** A decision whose receipt remembers the rules of the call that took nothing. */
  private static Decision exemptFrom(List<String> rules, Decision decision) {
    return decision instanceof Decision.Allowed allowed
        ? Decision.Allowed.of(
            allowed.balances(), allowed.countedBy(), () -> allowed.receipt().exemptFrom(rules))
        : decision;
  }

  /** Gives back all that a call took; false if its receipt was settled before. */
  public CompletionStage<Boolean> refundAsync(Receipt receipt) {
    return settleAsync(receipt, 0);
  }

  /** Settles a call with what it really cost: less is given back, more is recorded. */
  public CompletionStage<Boolean> settleAsync(Receipt receipt, long actualCost) {
    return settleAsync(receipt, Settlement.of(actualCost)).thenApply(Settled::done);
  }

  /** Settles a call with what it really cost by each rule, or confirms or forgives it. */
  public CompletionStage<Settled> settleAsync(Receipt receipt, Settlement settlement) {
    settlement.checkAgainst(receipt);
    settlement.checkForgiven(receipt, source.rules());
    return receipt.entries().isEmpty()
        ? CompletableFuture.completedFuture(Settled.NOT_DONE)
        : store.settle(receipt, settlement);
  }

  /** Forgets what an identity used of a rule, and its lock; says whether there was anything. */
  public CompletionStage<Boolean> resetAsync(String rule, Identity identity) {
    return any(accounts(rule, identity), store::reset);
  }

  /** Locks an identity out of a rule by hand. */
  public CompletionStage<List<Restriction>> lockAsync(
      String rule, Identity identity, Duration length, String reason) {
    Limit.checkSpan("lock", length);
    checkReason(reason);
    return each(accounts(rule, identity), account -> store.lock(account, length, reason));
  }

  private static void checkReason(String reason) {
    if (reason.length() > Bounds.LONGEST_REASON) {
      throw new IllegalArgumentException(
          "reason: %,d characters (expected: at most %d)"
              .formatted(reason.length(), Bounds.LONGEST_REASON));
    }
    if (!Text.isPrintable(reason)) {
      throw new IllegalArgumentException(
          "reason: %s (expected: well-formed text without control characters)"
              .formatted(Text.quoted(reason)));
    }
  }

  /** Ends the lock of an identity and forgets what led to it; says whether there was one. */
  public CompletionStage<Boolean> liftAsync(String rule, Identity identity) {
    return liftAsync(rule, identity, false);
  }

  /**
   * Ends the lock of an identity; says whether there was one.
   *
   * @param keepUsage whether what it has used stays, and the locks before it are remembered
   */
  public CompletionStage<Boolean> liftAsync(String rule, Identity identity, boolean keepUsage) {
    return any(accounts(rule, identity), account -> store.lift(account, keepUsage));
  }

  /**
   * Ends the lock of an identity; says whether there was one, and what the caller can do now.
   *
   * @param keepUsage whether what it has used stays, and the locks before it are remembered
   */
  public CompletionStage<Lifted> liftAndInspectAsync(String rule, Identity identity, boolean keepUsage) {
    return liftAsync(rule, identity, keepUsage)
        .thenCompose(
            wasLocked ->
                inspectAsync(rule, identity).thenApply(decision -> new Lifted(wasLocked, decision)));
  }

  /**
   * Who is locked, until when and why: a page of the locks of one rule or, given null, of all.
   *
   * @param limit how many at most, 1 to {@link LockPage#LARGEST}
   * @param after the {@link LockPage#next} of the page before, or null for the first page
   */
  public CompletionStage<LockPage> locksAsync(@Nullable String rule, int limit, @Nullable String after) {
    LockPage.checkLimit(limit);
    return store.locks(rule, limit, after);
  }

  /**
   * The locks that a decision found, with their reasons, for an operator. One that ended since
   * then, or was replaced by another, is left out.
   */
  public CompletionStage<List<Restriction>> locksAsync(Decision decision) {
    Map<Account, Long> ends = new LinkedHashMap<>();
    for (Balance balance : decision.balances()) {
      if (balance.locked()) {
        ends.put(balance.account(), balance.lockedUntilMicros());
      }
    }
    return each(ends.keySet(), account -> lock(account, ends.getOrDefault(account, 0L)))
        .thenApply(found -> found.stream().flatMap(Optional::stream).toList());
  }

  /** The lock of an account, found in the list of all by the moment at which it ends. */
  private CompletionStage<Optional<Restriction>> lock(Account account, long untilMicros) {
    return store
        .locks(null, MOST_WITH_ONE_END, LockPage.Place.before(untilMicros).toString())
        .thenApply(
            page ->
                page.locks().stream().filter(lock -> lock.account().equals(account)).findFirst());
  }

  /** The rules in force now. */
  public Rules rules() {
    return source.rules();
  }

  /** Where the rules come from. */
  public RuleSource source() {
    return source;
  }

  @Override
  public void close() {
    source.close();
    store.close();
  }

  private List<Account> accounts(String rule, Identity identity) {
    return source.rules().accounts(rule, identity);
  }

  private static Decision nothingToPay(Plan plan, List<String> exempt) {
    String id = plan.id();
    Receipt nothing = new Receipt(id == null ? "-" : id, 0, List.of()).exemptFrom(exempt);
    return Decision.Allowed.of(List.of(), () -> nothing);
  }

  private static CompletionStage<Boolean> any(
      List<Account> accounts, Function<Account, CompletionStage<Boolean>> action) {
    return each(accounts, action).thenApply(done -> done.contains(true));
  }

  private static <T> CompletionStage<List<T>> each(
      Collection<Account> accounts, Function<Account, CompletionStage<T>> action) {
    List<CompletableFuture<T>> stages =
        accounts.stream().map(account -> action.apply(account).toCompletableFuture()).toList();
    return CompletableFuture.allOf(stages.toArray(new CompletableFuture<?>[0]))
        .thenApply(all -> stages.stream().map(CompletableFuture::join).toList());
  }
}
