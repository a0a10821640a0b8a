package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Charge;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Limit;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Store;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.cluster.SlotHash;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The shared store: one truth for all nodes, one atomic script call a batch. Thread-safe.
 *
 * <p>{@link #connect} gives a store that is ready for production: this one behind a deadline with a
 * policy for when Redis is silent, behind a cache of denials. {@link #at} lets each be set.
 */
public final class RedisStore implements Store {
  /*
   * On one Redis every plan is one atomic script call. In a Cluster a plan whose accounts lie in
   * several slots is one call for each slot, all sent at once; if any denies, what the others took is
   * given back. That never admits too much, but for an instant another call may see less than there
   * is.
   */
  private static final int SCAN_STEP = 1_000;
  private static final Pattern NOTICE = Pattern.compile("\\d{1,16} \\S*");

  private final Topology topology;
  private final Sender sender;
  private final Duration lookPatience;
  private volatile Consumer<Account> onGift = account -> {};

  /**
   * A store.
   *
   * @param lookPatience how long a replica may take to say whether an account is locked
   */
  RedisStore(Topology topology, Sender sender, Duration lookPatience) {
    this.topology = topology;
    this.sender = sender;
    this.lookPatience = lookPatience;
  }

  /** A store on a Redis, with every default. */
  public static Store connect(String uri) {
    return at(uri).open();
  }

  /**
   * How to reach a Redis: {@code redis://}, {@code rediss://}, {@code redis-sentinel://}, {@code
   * redis-cluster://host:port,host:port}; then what else to set, and {@code open()}.
   */
  public static RedisSettings at(String uri) {
    return new RedisSettings(uri);
  }

  @Override
  public CompletionStage<Decision> take(Plan plan) {
    if (!topology.looksAtReplicas() || plan.intent() != Intent.TAKE || plan.id() != null) {
      return judge(plan);
    }
    return lockedAtReplica(plan)
        .thenCompose(
            locked -> locked == null ? judge(plan) : CompletableFuture.completedFuture(locked));
  }

  private CompletionStage<Decision> judge(Plan plan) {
    if (liesInOneSlot(plan.charges())) {
      return sender.send(new Operation.Judge(plan));
    }
    Map<Integer, List<Charge>> slots = bySlot(plan.charges(), Charge::account);
    if (slots.size() == 1) {
      return sender.send(new Operation.Judge(plan));
    }
    List<CompletableFuture<Decision>> groups =
        slots.values().stream()
            .map(group -> new Plan(group, plan.intent(), plan.id(), plan.policy()))
            .map(part -> sender.send(new Operation.Judge(part)))
            .toList();
    return CompletableFuture.allOf(groups.toArray(new CompletableFuture<?>[0]))
        .handle((done, error) -> error)
        .thenCompose(error -> together(plan, groups, error))
        .copy(); // whoever stops waiting for it does not stop the giving back
  }

  /** One decision out of those of several slots: if one denied, the others get back their part. */
  private CompletionStage<Decision> together(
      Plan plan, List<CompletableFuture<Decision>> groups, @Nullable Throwable error) {
    List<Decision> decisions =
        groups.stream()
            .filter(group -> !group.isCompletedExceptionally())
            .map(CompletableFuture::join)
            .toList();
    boolean denied = decisions.stream().anyMatch(decision -> !decision.allowed());
    boolean takes = plan.intent() == Intent.TAKE;
    if (!denied && error == null) {
      Set<String> refused =
          decisions.stream()
              .flatMap(decision -> decision.shadowDenials().stream())
              .collect(Collectors.toSet());
      return giveBack(plan, decisions, entry -> takes && refused.contains(entry.account().rule()))
          .thenApply(after -> merged(plan, decisions, after));
    }
    // A call with an id that failed may come again, and finds what it took.
    boolean mayComeAgain = error != null && plan.id() != null;
    return giveBack(
            plan, decisions, entry -> takes && !mayComeAgain && !entry.terms().countDenied())
        .thenCompose(
            after ->
                error != null
                    ? CompletableFuture.failedFuture(error)
                    : CompletableFuture.completedFuture(
                        new Decision.Denied(balances(plan, decisions, after))));
  }

  /** Gives some of what was taken back, and tells how those accounts stand then. */
  private CompletableFuture<Map<Account, List<Balance>>> giveBack(
      Plan plan, List<Decision> decisions, Predicate<Receipt.Entry> which) {
    Map<Account, List<Balance>> after = new ConcurrentHashMap<>();
    List<CompletableFuture<?>> steps = new ArrayList<>();
    for (Decision decision : decisions) {
      if (decision instanceof Decision.Allowed allowed) {
        Receipt taken = allowed.receipt();
        List<Receipt.Entry> back = taken.entries().stream().filter(which).toList();
        if (!back.isEmpty()) {
          steps.add(
              sender
                  .send(new Operation.Settle(taken.id(), taken.takenAtMicros(), back, 0))
                  .thenRun(() -> back.forEach(entry -> onGift.accept(entry.account()))));
          // Sent right behind it, on the same connection: it costs no time.
          steps.add(sender.send(look(plan, back)).thenAccept(seen -> note(seen, after)));
        }
      }
    }
    return CompletableFuture.allOf(steps.toArray(new CompletableFuture<?>[0]))
        .handle((done, failed) -> after);
  }

  private static Operation.Judge look(Plan plan, List<Receipt.Entry> entries) {
    Set<Account> accounts =
        entries.stream().map(Receipt.Entry::account).collect(Collectors.toSet());
    List<Charge> charges =
        plan.charges().stream().filter(charge -> accounts.contains(charge.account())).toList();
    return new Operation.Judge(new Plan(charges, Intent.PEEK, null, plan.policy()));
  }

  private static void note(Decision seen, Map<Account, List<Balance>> after) {
    for (Balance balance : seen.balances()) {
      after.computeIfAbsent(balance.account(), none -> new ArrayList<>()).add(balance);
    }
  }

  private static Decision merged(
      Plan plan, List<Decision> decisions, Map<Account, List<Balance>> givenBack) {
    return Decision.Allowed.of(
        balances(plan, decisions, givenBack),
        () -> {
          List<String> ids = new ArrayList<>();
          List<Receipt.Entry> entries = new ArrayList<>();
          for (Decision decision : decisions) {
            Receipt receipt = ((Decision.Allowed) decision).receipt();
            List<Receipt.Entry> kept =
                receipt.entries().stream()
                    .filter(entry -> !givenBack.containsKey(entry.account()))
                    .toList();
            if (!kept.isEmpty() && !ids.contains(receipt.id())) {
              ids.add(receipt.id());
            }
            entries.addAll(kept);
          }
          Receipt first = ((Decision.Allowed) decisions.get(0)).receipt();
          String id = ids.isEmpty() ? first.id() : String.join(",", ids);
          return new Receipt(id, first.takenAtMicros(), entries);
        });
  }

  /** The balances in the order of the plan: as an account stood after something was given back. */
  private static List<Balance> balances(
      Plan plan, List<Decision> decisions, Map<Account, List<Balance>> after) {
    Map<Account, List<Balance>> found = new HashMap<>();
    decisions.forEach(decision -> note(decision, found));
    found.putAll(after);
    return plan.charges().stream()
        .flatMap(charge -> found.getOrDefault(charge.account(), List.of()).stream())
        .toList();
  }

  /** The refusal of a plan one of whose accounts a replica knows to be locked, or null. */
  private CompletionStage<@Nullable Decision> lockedAtReplica(Plan plan) {
    List<CompletableFuture<@Nullable String>> looks =
        plan.charges().stream()
            .map(charge -> topology.lookAtReplica(Keyspace.lockKey(Keyspace.key(charge.account()))))
            .toList();
    return CompletableFuture.allOf(looks.toArray(new CompletableFuture<?>[0]))
        .orTimeout(lookPatience.toNanos(), TimeUnit.NANOSECONDS)
        .handle(
            (done, error) -> {
              if (error != null) {
                return null; // a silent replica decides nothing; the master will
              }
              List<Balance> balances = new ArrayList<>();
              boolean locked = false;
              for (int i = 0; i < looks.size(); i++) {
                Charge charge = plan.charges().get(i);
                String notice = looks.get(i).join();
                long until = until(notice);
                long left = until - sender.estimatedNow();
                if (left > 0) {
                  locked |= charge.enforced();
                  for (Limit limit : charge.terms().limits()) {
                    balances.add(
                        new Balance(
                            charge.account(), limit, charge.enforced(), 0, left, left, until));
                  }
                }
              }
              return locked ? new Decision.Denied(balances) : null;
            });
  }

  @Override
  public CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
    Map<Integer, List<Receipt.Entry>> slots = bySlot(receipt.entries(), Receipt.Entry::account);
    String[] ids = receipt.id().split(",", -1);
    List<CompletableFuture<Boolean>> parts = new ArrayList<>();
    int part = 0;
    for (List<Receipt.Entry> entries : slots.values()) {
      String id = ids.length == slots.size() ? ids[part++] : ids[0];
      parts.add(
          sender.send(new Operation.Settle(id, receipt.takenAtMicros(), entries, actualCost)));
    }
    return CompletableFuture.allOf(parts.toArray(new CompletableFuture<?>[0]))
        .thenApply(done -> parts.stream().anyMatch(CompletableFuture::join));
  }

  @Override
  public CompletionStage<Boolean> reset(Account account) {
    return sender.send(Operation.Manage.reset(account)).thenApply(existed -> existed == 1);
  }

  @Override
  public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
    return sender
        .send(Operation.Manage.lock(account, length, reason))
        .thenApply(until -> new Restriction(account, instant(until), reason));
  }

  @Override
  public CompletionStage<Boolean> lift(Account account) {
    return sender.send(Operation.Manage.lift(account)).thenApply(was -> was == 1);
  }

  @Override
  public CompletionStage<List<Restriction>> locks(@Nullable String rule) {
    ScanArgs matching = ScanArgs.Builder.limit(SCAN_STEP).match(Keyspace.lockPattern(rule));
    return scan(matching, ScanCursor.INITIAL, new ArrayList<>())
        .thenCompose(
            keys -> {
              List<CompletableFuture<@Nullable Restriction>> found =
                  keys.stream().distinct().map(this::restriction).toList();
              return CompletableFuture.allOf(found.toArray(new CompletableFuture<?>[0]))
                  .thenApply(
                      done ->
                          found.stream()
                              .map(CompletableFuture::join)
                              .filter(each -> each != null)
                              .sorted(Comparator.comparing(Restriction::account))
                              .toList());
            });
  }

  private CompletionStage<List<String>> scan(
      ScanArgs matching, ScanCursor cursor, List<String> found) {
    CompletionStage<KeyScanCursor<String>> step = topology.commands().scan(cursor, matching);
    return step.thenCompose(
        next -> {
          found.addAll(next.getKeys());
          return next.isFinished()
              ? CompletableFuture.completedFuture(found)
              : scan(matching, next, found);
        });
  }

  private CompletableFuture<@Nullable Restriction> restriction(String lockKey) {
    return topology
        .commands()
        .get(lockKey)
        .toCompletableFuture()
        .exceptionally(foreignType -> null)
        .thenApply(
            notice -> {
              if (notice == null || until(notice) <= sender.estimatedNow()) {
                return null;
              }
              String reason = notice.substring(notice.indexOf(' ') + 1);
              return new Restriction(
                  Keyspace.lockedAccount(lockKey),
                  instant(until(notice)),
                  URLDecoder.decode(reason, StandardCharsets.UTF_8));
            });
  }

  /** The end of a lock by its announcement, or 0 if that is none. */
  private static long until(@Nullable String notice) {
    return notice != null && NOTICE.matcher(notice).matches()
        ? Long.parseLong(notice.substring(0, notice.indexOf(' ')))
        : 0;
  }

  /** Values under Sluice's keys that something else had written, and that were replaced. */
  public long foreignValues() {
    return sender.foreignValues();
  }

  /** Tells of accounts to which this store gave something back by itself. */
  void onGift(Consumer<Account> told) {
    this.onGift = told;
  }

  /** Redis' clock, as far as this node knows it. */
  long estimatedNow() {
    return sender.estimatedNow();
  }

  /** The channel for gifts on the same Redis. */
  Gifts gifts() {
    return new Gifts(topology);
  }

  @Override
  public void close() {
    topology.close();
  }

  private boolean liesInOneSlot(List<?> parts) {
    return !topology.isCluster() || parts.size() == 1;
  }

  /** The parts of a plan that one script call can touch; in a Cluster one slot, else all of it. */
  private <T> Map<Integer, List<T>> bySlot(List<T> parts, Function<T, Account> account) {
    Map<Integer, List<T>> slots = new LinkedHashMap<>();
    if (liesInOneSlot(parts)) {
      slots.put(0, parts);
      return slots;
    }
    for (T part : parts) {
      int slot = SlotHash.getSlot(Keyspace.key(account.apply(part)));
      slots.computeIfAbsent(slot, none -> new ArrayList<>()).add(part);
    }
    return slots;
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }
}
