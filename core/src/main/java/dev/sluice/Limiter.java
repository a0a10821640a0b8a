package dev.sluice;

import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The front door: plans a call by the rules in force, asks the store, gives its decision.
 *
 * <p>{@link #ask} answers when the store has; {@link #decide} waits for it. A call that names an
 * unknown rule or lacks a facet is an {@link IllegalArgumentException}; a refusal is a value.
 * Thread-safe. Closing it closes its store and its rules.
 */
public final class Limiter implements AutoCloseable {
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
  public CompletionStage<Decision> ask(Call call) {
    Plan plan = source.rules().plan(call, clock);
    return plan.charges().isEmpty()
        ? CompletableFuture.completedFuture(nothingToPay(plan))
        : store.take(plan);
  }

  /** Looks at what a call would find, for an operator: fails if the store does not answer. */
  public CompletionStage<Decision> look(Call call) {
    Plan plan = source.rules().plan(call.peeking(), clock);
    return plan.charges().isEmpty()
        ? CompletableFuture.completedFuture(nothingToPay(plan))
        : store.look(plan);
  }

  /** Judges a call and waits for the answer. */
  public Decision decide(Call call) {
    return decide(source.rules().plan(call, clock));
  }

  /** Judges a call of cost 1 by one rule and waits for the answer. */
  public Decision decide(String rule, Identity identity) {
    Rules.Compiled compiled = source.rules().compiled(rule);
    Charge only = compiled.only(identity, 1, clock);
    return only == null
        ? decide(compiled.plan(identity, 1, Intent.TAKE, clock))
        : store.decide(only);
  }

  private Decision decide(Plan plan) {
    return plan.charges().isEmpty() ? nothingToPay(plan) : store.decide(plan);
  }

  /** Gives back all that a call took; false if its receipt was settled before. */
  public CompletionStage<Boolean> giveBack(Receipt receipt) {
    return settle(receipt, 0);
  }

  /** Settles a call with what it really cost: less is given back, more is recorded. */
  public CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
    return settle(receipt, Settlement.of(actualCost)).thenApply(Settled::done);
  }

  /** Settles a call with what it really cost by each rule, or confirms or forgives it. */
  public CompletionStage<Settled> settle(Receipt receipt, Settlement settlement) {
    settlement.checkAgainst(receipt);
    return receipt.entries().isEmpty()
        ? CompletableFuture.completedFuture(new Settled(false, 0))
        : store.settle(receipt, settlement);
  }

  /** Forgets what an identity used of a rule, and its lock; says whether there was anything. */
  public CompletionStage<Boolean> reset(String rule, Identity identity) {
    return any(accounts(rule, identity), store::reset);
  }

  /** Locks an identity out of a rule by hand. */
  public CompletionStage<List<Restriction>> lock(
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
  public CompletionStage<Boolean> lift(String rule, Identity identity) {
    return lift(rule, identity, false);
  }

  /**
   * Ends the lock of an identity; says whether there was one.
   *
   * @param keepUsage whether what it has used stays, and the locks before it are remembered
   */
  public CompletionStage<Boolean> lift(String rule, Identity identity, boolean keepUsage) {
    return any(accounts(rule, identity), account -> store.lift(account, keepUsage));
  }

  /**
   * Who is locked, until when and why: a page of the locks of one rule or, given null, of all.
   *
   * @param limit how many at most, 1 to {@link LockPage#LARGEST}
   * @param after the {@link LockPage#next} of the page before, or null for the first page
   */
  public CompletionStage<LockPage> locks(@Nullable String rule, int limit, @Nullable String after) {
    LockPage.checkLimit(limit);
    return store.locks(rule, limit, after);
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

  private static Decision nothingToPay(Plan plan) {
    String id = plan.id();
    return Decision.Allowed.of(List.of(), () -> new Receipt(id == null ? "-" : id, 0, List.of()));
  }

  private static CompletionStage<Boolean> any(
      List<Account> accounts, Function<Account, CompletionStage<Boolean>> action) {
    return each(accounts, action).thenApply(done -> done.contains(true));
  }

  private static <T> CompletionStage<List<T>> each(
      List<Account> accounts, Function<Account, CompletionStage<T>> action) {
    List<CompletableFuture<T>> stages =
        accounts.stream().map(account -> action.apply(account).toCompletableFuture()).toList();
    return CompletableFuture.allOf(stages.toArray(new CompletableFuture<?>[0]))
        .thenApply(all -> stages.stream().map(CompletableFuture::join).toList());
  }
}
