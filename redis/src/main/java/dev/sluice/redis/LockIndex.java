package dev.sluice.redis;

import dev.sluice.Account;
import dev.sluice.LockPage;
import dev.sluice.LockPage.Place;
import dev.sluice.Restriction;
import dev.sluice.redis.connection.Topology;
import dev.sluice.redis.wire.Keyspace;
import dev.sluice.redis.wire.StoreFault;
import io.lettuce.core.KeyValue;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.Range.Boundary;
import io.lettuce.core.ScoredValue;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lists locks by the indexes that the scripts maintain: one sorted set per partition. */
final class LockIndex {
  /*
   * A page is merged from all partitions. Each returns its first locks after the previous page,
   * about twice its share of the page. A partition whose last lock so far sorts before the end of
   * the page is asked for more. Finally, the reasons are read, only for the locks on the page.
   *
   * Positions are found by score, not by rank, because ranks change while locks come and go. Locks
   * with the same end are sorted by account, in Redis as in LockPage. So a scan starts at the score
   * of the last member it has seen and skips members up to that one.
   *
   * The list of one rule scans the locks of all rules, because its total must be counted.
   *
   * In a Cluster the client sends each command to the master of the slot. If that master was just
   * replaced, the client finds out by retrying. A partition that does not answer in time fails the
   * list: a short list would look complete.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LockIndex.class);
  private static final int LEAST_STEP = 16;
  private static final int LARGEST_STEP = 1 << 24;
  private static final int STEP_OF_A_RULE = 1_000;
  private static final double LATEST = 9_007_199_254_740_991.0;
  private static final Duration RETRY_PAUSE = Duration.ofMillis(250);
  private static final Set<String> PASSING =
      Set.of("connection", "disconnected", "readonly", "clusterdown", "loading", "masterdown");
  private static final Pattern NOTICE =
      Pattern.compile("(\\d{1,16}) ([^\\s&]{0,4096})(?:&(\\d{1,16}))?");
  private static final CompletableFuture<?>[] NONE = {};

  private final Topology topology;
  private final Spread spread;
  private final Duration patience;
  private final AtomicLong foreign = new AtomicLong();

  LockIndex(Topology topology, Spread spread, Duration patience) {
    this.topology = topology;
    this.spread = spread;
    this.patience = patience;
  }

  /** The number of index entries that name no account, and of index keys with another type. */
  long foreignValues() {
    return foreign.get();
  }

  CompletionStage<LockPage> page(@Nullable String rule, int limit, Place from, long nowMicros) {
    LockPage.checkLimit(limit);
    Search search = new Search(rule, limit, from, nowMicros);
    return topology
        .tried()
        .copy()
        .completeOnTimeout(null, patience.toMillis(), TimeUnit.MILLISECONDS)
        .thenCompose(tried -> search.run())
        .whenComplete((page, error) -> reconnectAfterTimeout(error));
  }

  /** Reconnects after a timeout. Only at the end, because it fails all commands under way. */
  private void reconnectAfterTimeout(@Nullable Throwable error) {
    if (error != null && StoreFault.of(error).kind().equals("timeout")) {
      topology.findMaster();
    }
  }

  /**
   * What a notice says of a lock (see locks.lua).
   *
   * @param until its end, or 0 if there is no valid notice
   * @param since its begin; null if the notice does not say
   */
  record Notice(long until, String reason, @Nullable Instant since) {
    private static final Notice NONE = new Notice(0, "", null);

    static Notice of(@Nullable String text) {
      if (text == null) {
        return NONE;
      }
      Matcher found = NOTICE.matcher(text);
      return found.matches()
          ? new Notice(
              Long.parseLong(found.group(1)),
              decoded(found.group(2)),
              found.group(3) == null ? null : instant(Long.parseLong(found.group(3))))
          : NONE;
    }

    private static String decoded(String reason) {
      try {
        return URLDecoder.decode(reason, StandardCharsets.UTF_8);
      } catch (IllegalArgumentException notOurs) {
        return "";
      }
    }

    Restriction complete(Restriction lock) {
      return new Restriction(lock.account(), since, lock.until(), reason);
    }
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }

  private static CompletableFuture<?> all(Collection<? extends CompletionStage<?>> stages) {
    return CompletableFuture.allOf(
        stages.stream().map(CompletionStage::toCompletableFuture).toList().toArray(NONE));
  }

  /** The search for one page. */
  private final class Search {
    private final @Nullable String rule;
    private final int limit;
    private final Place from;
    private final long nowMicros;
    private final long endNanos = System.nanoTime() + patience.toNanos();
    private final List<Walk> walks;
    private final AtomicLong total = new AtomicLong();

    Search(@Nullable String rule, int limit, Place from, long nowMicros) {
      this.rule = rule;
      this.limit = limit;
      this.from = from;
      this.nowMicros = nowMicros;
      this.walks =
          IntStream.range(0, Keyspace.PARTITIONS).mapToObj(i -> new Walk(this, i)).toList();
    }

    CompletionStage<LockPage> run() {
      CompletionStage<?> counted =
          rule == null
              ? all(walks.stream().map(Walk::count).toList())
              : CompletableFuture.completedFuture(null);
      return counted
          .thenCompose(done -> walk())
          .thenCompose(
              done -> {
                List<Restriction> found =
                    walks.stream().flatMap(walk -> walk.found.stream()).toList();
                return withReasons(LockPage.of(found, total.get(), limit));
              });
    }

    /** Continues the scan of partitions that can have locks before the end of the page. */
    private CompletionStage<?> walk() {
      List<Place> places =
          walks.stream()
              .flatMap(walk -> walk.found.stream())
              .map(Place::of)
              .sorted()
              .limit(limit + 1L)
              .toList();
      Place end = rule == null && places.size() > limit ? places.get(limit) : null;
      List<Walk> unfinished = walks.stream().filter(walk -> walk.isBefore(end)).toList();
      return unfinished.isEmpty()
          ? CompletableFuture.completedFuture(null)
          : all(unfinished.stream().map(Walk::next).toList()).thenCompose(done -> walk());
    }

    private CompletionStage<LockPage> withReasons(LockPage page) {
      Map<Integer, List<String>> keys = new HashMap<>();
      for (Restriction lock : page.locks()) {
        keys.computeIfAbsent(spread.keyspace().partition(lock.account()), none -> new ArrayList<>())
            .add(noticeKey(lock.account()));
      }
      List<CompletableFuture<Map<String, String>>> asked =
          keys.entrySet().stream().map(each -> notices(each.getKey(), each.getValue())).toList();
      return all(asked)
          .thenApply(
              done -> {
                Map<String, String> notices = new HashMap<>();
                asked.forEach(each -> notices.putAll(each.join()));
                List<Restriction> locks =
                    page.locks().stream()
                        .map(
                            lock ->
                                Notice.of(notices.get(noticeKey(lock.account()))).complete(lock))
                        .toList();
                return new LockPage(locks, page.total(), page.next());
              });
    }

    private String noticeKey(Account account) {
      return Keyspace.lockKey(spread.keyspace().key(account));
    }

    /** The notices under some keys of a partition. */
    private CompletableFuture<Map<String, String>> notices(int partition, List<String> keys) {
      String[] names = keys.toArray(new String[0]);
      return ask(partition, commands -> commands.mget(names))
          .exceptionallyCompose(
              error -> {
                // While the slot moves, its keys are on two nodes; single reads find them.
                if (!StoreFault.of(error).kind().equals("tryagain")) {
                  return CompletableFuture.failedFuture(error);
                }
                List<CompletableFuture<KeyValue<String, String>>> singly =
                    keys.stream().map(key -> notice(partition, key)).toList();
                return all(singly)
                    .thenApply(done -> singly.stream().map(CompletableFuture::join).toList());
              })
          .thenApply(
              found -> {
                Map<String, String> notices = new HashMap<>();
                for (KeyValue<String, String> each : found) {
                  each.ifHasValue(value -> notices.put(each.getKey(), value));
                }
                return notices;
              });
    }

    private CompletableFuture<KeyValue<String, String>> notice(int partition, String key) {
      return ask(partition, commands -> commands.get(key))
          .exceptionallyCompose(
              error ->
                  StoreFault.of(error).kind().equals("wrongtype")
                      ? CompletableFuture.completedFuture(null)
                      : CompletableFuture.failedFuture(error))
          .thenApply(value -> KeyValue.fromNullable(key, value));
    }

    /** Sends a read-only command; in a Cluster, retries while the fault may be temporary. */
    <T> CompletableFuture<T> ask(
        int partition,
        Function<RedisClusterAsyncCommands<String, String>, CompletionStage<T>> command) {
      CompletableFuture<T> asked;
      try {
        asked = command.apply(topology.commands()).toCompletableFuture();
      } catch (RuntimeException e) {
        asked = CompletableFuture.failedFuture(e);
      }
      long leftNanos = Math.max(1, endNanos - System.nanoTime());
      return asked
          .orTimeout(leftNanos, TimeUnit.NANOSECONDS)
          .exceptionallyCompose(error -> askAgain(partition, command, StoreFault.of(error)));
    }

    private <T> CompletionStage<T> askAgain(
        int partition,
        Function<RedisClusterAsyncCommands<String, String>, CompletionStage<T>> command,
        StoreFault fault) {
      boolean passes = topology.isCluster() && PASSING.contains(fault.kind());
      if (passes) {
        topology.findMaster();
      }
      if (passes && endNanos - System.nanoTime() > RETRY_PAUSE.toNanos()) {
        return new CompletableFuture<@Nullable Void>()
            .completeOnTimeout(null, RETRY_PAUSE.toMillis(), TimeUnit.MILLISECONDS)
            .thenCompose(paused -> ask(partition, command));
      }
      return CompletableFuture.failedFuture(
          new StoreFault(
              fault.kind(),
              false,
              "Locks cannot be listed, %s could not be read from Redis at %s: %s"
                  .formatted(Keyspace.locksKey(partition), topology, fault.getMessage()),
              fault));
    }
  }

  /** The scan of the index of one partition. */
  private final class Walk {
    private final Search search;
    private final int partition;
    private final String key;
    private final List<Restriction> found = new ArrayList<>();
    private double score; // of the last member seen, or the lowest that counts
    private @Nullable String member; // the last member seen
    private int step;
    private boolean ended;

    Walk(Search search, int partition) {
      this.search = search;
      this.partition = partition;
      this.key = Keyspace.locksKey(partition);
      boolean skips = search.rule == null;
      this.score = Math.max(search.nowMicros + 1, skips ? search.from.untilMicros() : 0);
      this.step = skips ? LEAST_STEP + search.limit * 2 / Keyspace.PARTITIONS : STEP_OF_A_RULE;
    }

    CompletionStage<?> count() {
      Range<Number> later = Range.from(Boundary.excluding(search.nowMicros), Boundary.unbounded());
      return unlessForeign(search.ask(partition, commands -> commands.zcount(key, later)), () -> 0L)
          .thenAccept(search.total::addAndGet);
    }

    /** Whether it may have locks before a position; null is the end of the list. */
    boolean isBefore(@Nullable Place end) {
      return !ended
          && (end == null
              || new Place((long) score, member == null ? "" : member).compareTo(end) < 0);
    }

    CompletionStage<?> next() {
      Range<Number> behind = Range.from(Boundary.including(score), Boundary.unbounded());
      int asked = step;
      return unlessForeign(
              search.ask(
                  partition,
                  commands -> commands.zrangebyscoreWithScores(key, behind, Limit.from(asked))),
              this::notAnIndex)
          .thenAccept(members -> take(members, asked));
    }

    private List<ScoredValue<String>> notAnIndex() {
      foreign.incrementAndGet();
      return List.of();
    }

    private void take(List<ScoredValue<String>> members, int asked) {
      ended = members.size() < asked;
      List<String> strangers = new ArrayList<>();
      double seenScore = score;
      String seen = member;
      for (ScoredValue<String> each : members) {
        boolean isNew =
            seen == null || each.getScore() > seenScore || each.getValue().compareTo(seen) > 0;
        if (isNew && !add(each)) {
          strangers.add(each.getValue());
        }
        score = each.getScore();
        member = each.getValue();
      }
      // If all members have the same end and were seen before, only a larger batch gets further. If
      // the page has many locks of this partition, smaller batches suffice.
      boolean isStuck = !members.isEmpty() && score == seenScore && Objects.equals(member, seen);
      step = isStuck || step <= search.limit ? Math.min(LARGEST_STEP, 2 * step) : step;
      if (!strangers.isEmpty()) {
        remove(strangers);
      }
    }

    /** Adds a member; false if it names no account. */
    private boolean add(ScoredValue<String> each) {
      double until = each.getScore();
      Account account;
      try {
        account = Keyspace.lockedAccount(each.getValue());
      } catch (IllegalArgumentException notOurs) {
        return false;
      }
      if (until > LATEST
          || until != Math.rint(until)
          || spread.keyspace().partition(account) != partition) {
        return false;
      }
      if (search.rule != null && !search.rule.equals(account.rule())) {
        return true;
      }
      if (search.rule != null) {
        search.total.incrementAndGet();
      }
      Restriction lock = new Restriction(account, null, instant((long) until), "");
      if (Place.of(lock).compareTo(search.from) > 0 && found.size() <= search.limit) {
        found.add(lock);
      }
      return true;
    }

    private void remove(List<String> strangers) {
      LOG.warn("Removing {} entries of {} that name no account", strangers.size(), key);
      foreign.addAndGet(strangers.size());
      if (search.rule == null) {
        search.total.addAndGet(-strangers.size());
      }
      topology
          .commands()
          .zrem(key, strangers.toArray(new String[0]))
          .exceptionally(
              error -> {
                LOG.warn("Could not remove entries of {}: {}", key, error.getMessage());
                return 0L;
              });
    }

    private static <T> CompletableFuture<T> unlessForeign(
        CompletableFuture<T> asked, Supplier<T> otherwise) {
      return asked.exceptionallyCompose(
          error ->
              StoreFault.of(error).kind().equals("wrongtype")
                  ? CompletableFuture.completedFuture(otherwise.get())
                  : CompletableFuture.failedFuture(error));
    }
  }
}
