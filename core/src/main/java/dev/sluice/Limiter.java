package dev.sluice;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.HandedOff;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Stages;
import dev.sluice.internal.Text;
import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether calls may pass: applies the rules in force and counts in a store. Thread-safe.
 *
 * <p>Methods whose names end in {@code Async} return at once and complete when the store answers;
 * the others wait. A denial is a value, not an exception.
 *
 * <p>A call that names an unknown rule throws an {@link UnknownRuleException}; a call that lacks a
 * facet throws an {@link IllegalArgumentException}. Both happen before anything is counted, and
 * asynchronous methods throw them directly, too.
 *
 * <p>{@link #close} closes the store and the rule source only if the limiter was made by {@link
 * #owning}.
 */
public final class Limiter implements AutoCloseable {
  /** We assume that no more locks than this end in the same microsecond. */
  private static final int MOST_WITH_ONE_END = 100;

  private final Store store;
  private final Function<Plan, CompletionStage<Decision>> byStore;
  private final RuleSource source;
  private final InstantSource clock;
  private final @Nullable LimiterListener listener; // AllListeners: it never throws
  private final boolean owner;

  private Limiter(Builder builder) {
    this.store = builder.store;
    this.byStore = store::take;
    this.source = store.rules(builder.source);
    this.clock = builder.clock;
    List<LimiterListener> listeners = new ArrayList<>(builder.listeners);
    store.listener().ifPresent(listeners::add);
    this.listener = listeners.isEmpty() ? null : new AllListeners(listeners);
    this.owner = builder.owner;
  }

  /** A limiter with rules that never change. The store stays open when the limiter is closed. */
  public static Limiter of(Store store, Rules rules) {
    return builder(store, RuleSource.fixed(rules)).build();
  }

  /** A limiter whose rules can change. Store and source stay open when it is closed. */
  public static Limiter of(Store store, RuleSource source) {
    return builder(store, source).build();
  }

  /** A limiter that closes its store when it is closed. */
  public static Limiter owning(Store store, Rules rules) {
    return owning(store, RuleSource.fixed(rules));
  }

  /** A limiter that closes its store and its source of rules when it is closed. */
  public static Limiter owning(Store store, RuleSource source) {
    return builder(store, source).owning().build();
  }

  /** A builder for a limiter with settings. */
  public static Builder builder(Store store, RuleSource source) {
    return new Builder(store, source);
  }

  /** The settings of a limiter. Not thread-safe. */
  public static final class Builder {
    private final Store store;
    private final RuleSource source;
    private InstantSource clock = InstantSource.system();
    private final List<LimiterListener> listeners = new ArrayList<>();
    private boolean owner;

    private Builder(Store store, RuleSource source) {
      this.store = Objects.requireNonNull(store, "store");
      this.source = Objects.requireNonNull(source, "source");
    }

    /** Sets the clock that decides when overrides end; accounts follow the clock of the store. */
    public Builder clock(InstantSource clock) {
      this.clock = Objects.requireNonNull(clock, "clock");
      return this;
    }

    /** Adds a listener that receives every decision. */
    public Builder listener(LimiterListener listener) {
      listeners.add(Objects.requireNonNull(listener, "listener"));
      return this;
    }

    /** Closes store and source when the limiter is closed. */
    public Builder owning() {
      this.owner = true;
      return this;
    }

    /** The limiter. */
    public Limiter build() {
      return new Limiter(this);
    }
  }

  // ---- Deciding -------------------------------------------------------------------------------

  /** Decides a call of cost 1 by one rule. */
  public Decision decide(String rule, Identity identity) {
    if (listener == null) {
      Charge only = source.rules().compiled(rule).only(identity, 1, clock);
      if (only != null) {
        return store.decide(only);
      }
    }
    return decide(Call.of(rule, identity));
  }

  /** Decides a call. */
  public Decision decide(Call call) {
    Rules rules = source.rules();
    LimiterListener informed = listener;
    return informed == null ? await(call, rules) : awaitAndReport(informed, call, rules);
  }

  private Decision await(Call call, Rules rules) {
    Charge only = rules.only(call, clock);
    if (only != null) {
      return store.decide(only);
    }
    PlannedCall planned = PlannedCall.of(call, rules, clock);
    return planned.paysNothing()
        ? planned.free()
        : planned.withExempt(store.decide(planned.plan()));
  }

  /** The listener is called on the thread of the caller, which waits anyway. */
  private Decision awaitAndReport(LimiterListener informed, Call call, Rules rules) {
    long start = System.nanoTime();
    Decision decision;
    try {
      decision = await(call, rules);
    } catch (RuntimeException e) {
      informed.failed(call, Stages.cause(e), System.nanoTime() - start);
      throw e;
    }
    informed.decided(rules, call, decision, System.nanoTime() - start);
    return decision;
  }

  /** Decides a call of cost 1 by one rule. */
  public CompletionStage<Decision> decideAsync(String rule, Identity identity) {
    return decideAsync(Call.of(rule, identity));
  }

  /** Decides a call. */
  public CompletionStage<Decision> decideAsync(Call call) {
    return decideAsync(call, source.rules());
  }

  /**
   * Decides a call by rules that were read before with {@link #rules()}. Use it after looking up
   * the facets of the call, so that the same rules find the facets and decide.
   */
  public CompletionStage<Decision> decideAsync(Call call, Rules rules) {
    return ask(call, rules, byStore);
  }

  /**
   * Decides a call as {@link #decideAsync(Call, Rules)} does. The stage completes on an executor,
   * unless the decision is there at once. A caller on an event loop that names its own loop saves
   * the way over the threads of the store.
   *
   * <p>What follows the stage must not block that loop, as everything else on it. {@code
   * Runnable::run} means the thread that reads from Redis: what blocks that one delays the
   * decisions of all callers until they pass their deadline.
   */
  public CompletionStage<Decision> decideAsync(Call call, Rules rules, Executor executor) {
    return ask(
        call,
        rules,
        plan -> {
          HandedOff<Decision> answer = new HandedOff<>(executor);
          store.take(plan, answer);
          return answer.asked();
        });
  }

  private CompletionStage<Decision> ask(
      Call call, Rules rules, Function<Plan, CompletionStage<Decision>> taking) {
    LimiterListener informed = listener;
    return informed == null
        ? askSilently(call, rules, taking)
        : askAndReport(informed, call, rules, taking);
  }

  private CompletionStage<Decision> askSilently(
      Call call, Rules rules, Function<Plan, CompletionStage<Decision>> taking) {
    Charge only = rules.only(call, clock);
    if (only != null) {
      return taking.apply(Plan.of(only));
    }
    PlannedCall planned = PlannedCall.of(call, rules, clock);
    if (planned.paysNothing()) {
      return CompletableFuture.completedFuture(planned.free());
    }
    CompletionStage<Decision> asked = taking.apply(planned.plan());
    return planned.exempt().isEmpty() ? asked : asked.thenApply(planned::withExempt);
  }

  private CompletionStage<Decision> askAndReport(
      LimiterListener informed,
      Call call,
      Rules rules,
      Function<Plan, CompletionStage<Decision>> taking) {
    long start = System.nanoTime();
    try {
      return askSilently(call, rules, taking)
          .whenComplete(
              (decision, error) -> {
                long nanos = System.nanoTime() - start;
                if (error == null) {
                  informed.decided(rules, call, decision, nanos);
                } else {
                  informed.failed(call, Stages.cause(error), nanos);
                }
              });
    } catch (RuntimeException e) { // the call cannot be planned
      informed.failed(call, e, System.nanoTime() - start);
      throw e;
    }
  }

  /** What a call of cost 1 would get. Nothing is counted. */
  public Decision peek(String rule, Identity identity) {
    return decide(Call.of(rule, identity).peeking());
  }

  /** What a call of cost 1 would get. Nothing is counted. */
  public CompletionStage<Decision> peekAsync(String rule, Identity identity) {
    return decideAsync(Call.of(rule, identity).peeking());
  }

  // ---- Refunds and settlements ----------------------------------------------------------------

  /** Refunds everything that a call took. Returns false if its receipt was settled before. */
  public boolean refund(Receipt receipt) {
    return Stages.await(refundAsync(receipt));
  }

  /** Refunds everything that a call took. Returns false if its receipt was settled before. */
  public CompletionStage<Boolean> refundAsync(Receipt receipt) {
    return settleAsync(receipt, 0);
  }

  /**
   * Replaces the cost that a call took by what it really cost: the rest is refunded, or more is
   * charged.
   *
   * @return false if the receipt was settled before; then nothing happened
   */
  public boolean settle(Receipt receipt, long actualCost) {
    return Stages.await(settleAsync(receipt, actualCost));
  }

  /**
   * Replaces the cost that a call took by what it really cost: the rest is refunded, or more is
   * charged.
   *
   * @return false if the receipt was settled before; then nothing happened
   */
  public CompletionStage<Boolean> settleAsync(Receipt receipt, long actualCost) {
    return settleAsync(receipt, Settlement.of(actualCost)).thenApply(Settled::done);
  }

  /** Settles a call: by its real cost for each rule, by confirming it, or by forgiving usage. */
  public Settled settle(Receipt receipt, Settlement settlement) {
    return Stages.await(settleAsync(receipt, settlement));
  }

  /** Settles a call: by its real cost for each rule, by confirming it, or by forgiving usage. */
  public CompletionStage<Settled> settleAsync(Receipt receipt, Settlement settlement) {
    settlement.checkAgainst(receipt);
    settlement.checkForgiven(receipt, source.rules());
    if (receipt.entries().isEmpty()) {
      return CompletableFuture.completedFuture(Settled.NOT_DONE);
    }
    CompletionStage<Settled> settling = store.settle(receipt, settlement);
    LimiterListener informed = listener;
    return informed == null
        ? settling
        : settling.thenApply(
            settled -> {
              informed.settled(receipt, settled);
              return settled;
            });
  }

  // ---- For operators --------------------------------------------------------------------------

  /**
   * The state of a rule's accounts for an identity, for operators. It also works if the caller is
   * exempt, and if the identity has only some of the facets that the rule counts by. Nothing is
   * counted; fails if the store does not answer.
   */
  public Decision inspect(String rule, Identity identity) {
    return Stages.await(inspectAsync(rule, identity));
  }

  /** As {@link #inspect(String, Identity)}. */
  public CompletionStage<Decision> inspectAsync(String rule, Identity identity) {
    return store.look(source.rules().look(rule, identity, clock));
  }

  /** The state of the accounts of a call, for operators. Fails if the store does not answer. */
  public Decision inspect(Call call) {
    return Stages.await(inspectAsync(call));
  }

  /** As {@link #inspect(Call)}. */
  public CompletionStage<Decision> inspectAsync(Call call) {
    PlannedCall planned = PlannedCall.of(call.peeking(), source.rules(), clock);
    return planned.paysNothing()
        ? CompletableFuture.completedFuture(planned.free())
        : store.look(planned.plan());
  }

  /** Forgets the usage and the lock of an identity for a rule. Returns whether there was any. */
  public boolean reset(String rule, Identity identity) {
    return Stages.await(resetAsync(rule, identity));
  }

  /** Forgets the usage and the lock of an identity for a rule. Returns whether there was any. */
  public CompletionStage<Boolean> resetAsync(String rule, Identity identity) {
    return any(accounts(rule, identity), store::reset);
  }

  /** Locks an identity out of a rule by hand, for a time and with a reason. */
  public List<Restriction> lock(String rule, Identity identity, Duration length, String reason) {
    return Stages.await(lockAsync(rule, identity, length, reason));
  }

  /** Locks an identity out of a rule by hand, for a time and with a reason. */
  public CompletionStage<List<Restriction>> lockAsync(
      String rule, Identity identity, Duration length, String reason) {
    Limit.checkSpan("lock", length);
    checkReason(reason);
    return each(accounts(rule, identity), account -> store.lock(account, length, reason));
  }

  private static void checkReason(String reason) {
    if (reason.length() > Bounds.LONGEST_REASON) {
      throw InvalidValueException.of(
          "reason",
          "%,d characters".formatted(reason.length()),
          "at most " + Bounds.LONGEST_REASON);
    }
    if (!Text.isPrintable(reason)) {
      throw InvalidValueException.of(
          "reason", Text.quoted(reason), "well-formed text without control characters");
    }
  }

  /**
   * Ends the lock of an identity and forgets the usage that led to it. Returns whether it was
   * locked.
   */
  public boolean lift(String rule, Identity identity) {
    return lift(rule, identity, false);
  }

  /**
   * Ends the lock of an identity. Returns whether it was locked.
   *
   * @param keepUsage whether its usage stays, and whether earlier locks still lengthen the next one
   */
  public boolean lift(String rule, Identity identity, boolean keepUsage) {
    return Stages.await(liftAsync(rule, identity, keepUsage));
  }

  /** As {@link #lift(String, Identity)}. */
  public CompletionStage<Boolean> liftAsync(String rule, Identity identity) {
    return liftAsync(rule, identity, false);
  }

  /** As {@link #lift(String, Identity, boolean)}. */
  public CompletionStage<Boolean> liftAsync(String rule, Identity identity, boolean keepUsage) {
    return any(accounts(rule, identity), account -> store.lift(account, keepUsage));
  }

  /** Ends the lock of an identity. Returns whether it was locked and what a call would get now. */
  public Lifted liftAndInspect(String rule, Identity identity, boolean keepUsage) {
    return Stages.await(liftAndInspectAsync(rule, identity, keepUsage));
  }

  /** Ends the lock of an identity. Returns whether it was locked and what a call would get now. */
  public CompletionStage<Lifted> liftAndInspectAsync(
      String rule, Identity identity, boolean keepUsage) {
    return liftAsync(rule, identity, keepUsage)
        .thenCompose(
            wasLocked ->
                inspectAsync(rule, identity)
                    .thenApply(decision -> lifted(wasLocked, rule, decision)));
  }

  /** What became of a lock that was lifted, given what an operator sees of the caller now. */
  public Lifted lifted(boolean wasLocked, String rule, Decision now) {
    Rule known = source.rules().find(rule);
    Set<Set<String>> inspected =
        now.balances().stream()
            .map(balance -> balance.account().identity().facets().keySet())
            .collect(Collectors.toSet());
    List<String> others =
        known == null
            ? List.of()
            : known.by().stream().filter(by -> !inspected.contains(Rule.facetsOf(by))).toList();
    return new Lifted(wasLocked, now, others);
  }

  /**
   * Lists who is locked, until when and why: one page of the locks of a rule, or of all rules if it
   * is null, also of rules that are no longer in force.
   *
   * @param limit the size of a page, 1 to {@link LockPage#LARGEST}
   * @param after the {@link LockPage#next} of the page before, or null for the first page
   */
  public LockPage locks(@Nullable String rule, int limit, @Nullable String after) {
    return Stages.await(locksAsync(rule, limit, after));
  }

  /** As {@link #locks(String, int, String)}. */
  public CompletionStage<LockPage> locksAsync(
      @Nullable String rule, int limit, @Nullable String after) {
    LockPage.checkLimit(limit);
    if (rule != null) {
      source.rules().compiled(rule); // a misspelt name would look like a rule without locks
    }
    return store.locks(rule, limit, after);
  }

  /**
   * The locks that a decision found, with their reasons, for operators. Locks that have ended or
   * were replaced since then are left out.
   */
  public List<Restriction> locks(Decision decision) {
    return Stages.await(locksAsync(decision));
  }

  /** As {@link #locks(Decision)}. */
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

  /** Finds the lock of an account in the list of all locks, by the time at which it ends. */
  private CompletionStage<Optional<Restriction>> lock(Account account, long untilMicros) {
    return store
        .locks(null, MOST_WITH_ONE_END, LockPage.Place.before(untilMicros).toString())
        .thenApply(
            page ->
                page.locks().stream().filter(lock -> lock.account().equals(account)).findFirst());
  }

  /** The clock of this limiter; accounts follow the store's clock. */
  public InstantSource clock() {
    return clock;
  }

  /** The rules in force now. */
  public Rules rules() {
    return source.rules();
  }

  /** Where the rules come from. */
  public RuleSource source() {
    return source;
  }

  /** Closes store and source if the limiter owns them. */
  @Override
  public void close() {
    if (owner) {
      source.close();
      store.close();
    }
  }

  @Override
  public String toString() {
    return "Limiter" + source.rules();
  }

  private List<Account> accounts(String rule, Identity identity) {
    return source.rules().accounts(rule, identity);
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
