package dev.sluice.rules.source;

import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.internal.Chores;
import dev.sluice.internal.Stages;
import dev.sluice.rules.KeptOverride;
import dev.sluice.store.SharedData;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Overrides that operators made at run time, shared by all nodes of a store. Every node has a
 * change in force within a second. Thread-safe.
 *
 * <p>They come before the overrides of the rules, the newest first. While the store does not
 * answer, those that were known stay in force. If the store lost them, they are put back.
 */
public final class KeptOverrides implements AutoCloseable {
  /*
   * The overrides are one map of the shared data. Each node reads its version twice a second, and
   * the map if the version is new: a message could be lost.
   *
   * Every change raises the version, also the removal of the last override. So a version below the
   * one that a node knows means that the store lost changes: it was flushed, or a replica that
   * lagged took over. Then the node puts its overrides back, with the version that it knows. If
   * several nodes do so, the highest version stays. So a node that missed a removal cannot bring
   * the override back while another node knows of the removal.
   */
  private static final Logger LOG = LoggerFactory.getLogger(KeptOverrides.class);
  private static final String MAP = "overrides";
  private static final String APPLIED = "applied";
  private static final Duration INTERVAL = Duration.ofMillis(500);
  private static final Duration PATIENCE_AT_START = Duration.ofSeconds(1);
  private static final Duration APPLIED_INTERVAL = Duration.ofSeconds(5);
  private static final Duration APPLIED_TTL = Duration.ofHours(1);
  private static final int MOST_APPLIED = 5_000;

  private static final Comparator<KeptOverride> NEWEST_FIRST =
      Comparator.comparing(KeptOverride::created).reversed().thenComparing(KeptOverride::id);

  private final SharedData data;
  private final String node;
  private final Chores chores;
  private final List<OverriddenRules> layers = new CopyOnWriteArrayList<>();
  private final Map<String, Long> appliedSeconds = new ConcurrentHashMap<>();
  private final Complaint reading =
      new Complaint("Cannot read the overrides; those known before stay in force: {}");
  private final Complaint sharing =
      new Complaint("Cannot tell other nodes when overrides last applied: {}");
  private final Complaint losing =
      new Complaint("The store lost the overrides; they stay in force on this node: {}");
  private final long startNanos = System.nanoTime();
  private CompletableFuture<@Nullable Void> look = CompletableFuture.completedFuture(null);
  private volatile Known known = new Known(0, List.of());

  /** The overrides at some version of the map, newest first. */
  private record Known(long version, List<KeptOverride> all) {}

  /**
   * An override that is for some caller.
   *
   * @param kept empty if it is one of the rules, not of an operator
   */
  public record Match(String rule, Rule.Special special, Optional<KeptOverride> kept) {}

  private KeptOverrides(SharedData data, String node, Chores chores) {
    this.data = data;
    this.node = node;
    this.chores = chores;
  }

  /**
   * Reads the overrides and follows their changes.
   *
   * @param node the id of this node
   */
  public static KeptOverrides follow(SharedData data, String node) {
    return follow(data, node, Chores.alone("sluice-overrides"));
  }

  /**
   * Reads the overrides and follows their changes, on a thread that others use, too.
   *
   * @param thread is left open
   */
  public static KeptOverrides follow(
      SharedData data, String node, ScheduledExecutorService thread) {
    return follow(data, node, Chores.on(thread));
  }

  private static KeptOverrides follow(SharedData data, String node, Chores chores) {
    KeptOverrides overrides = new KeptOverrides(data, node, chores);
    overrides.every(Duration.ZERO, INTERVAL, overrides::look, overrides.reading);
    // A change of rules is taken up by the next call; this is for a node that has none.
    overrides.every(
        INTERVAL,
        INTERVAL,
        () -> overrides.layers.forEach(OverriddenRules::renew),
        overrides.reading);
    overrides.every(APPLIED_INTERVAL, APPLIED_INTERVAL, overrides::shareApplied, overrides.sharing);
    return overrides;
  }

  private void every(Duration first, Duration pause, Runnable task, Complaint complaint) {
    chores.every(
        first,
        pause,
        () -> {
          try {
            task.run();
          } catch (RuntimeException e) {
            complaint.about(e);
          }
        });
  }

  // ---- Following the store --------------------------------------------------------------------

  /** Looks for changes, or joins a look that has begun. */
  synchronized CompletionStage<@Nullable Void> look() {
    if (look.isDone()) {
      look =
          data.version(MAP)
              .thenCompose(this::follow)
              .whenComplete((done, error) -> reading.of(error))
              .toCompletableFuture();
    }
    return look;
  }

  /** Looks for changes, and does not join a look that began before now. */
  private synchronized CompletionStage<@Nullable Void> lookAfresh() {
    return look.isDone() ? look() : look.handle((done, error) -> MAP).thenCompose(map -> look());
  }

  private CompletionStage<@Nullable Void> follow(long version) {
    Known last = known;
    if (version > last.version) {
      return data.entries(MAP).thenApplyAsync(this::learn, chores);
    }
    return version < last.version
        ? putBack(last, version)
        : CompletableFuture.completedFuture(null);
  }

  private @Nullable Void learn(SharedData.Entries entries) {
    if (entries.version() <= known.version) {
      return null; // lost since its version was read; the next look puts it back
    }
    List<KeptOverride> all = new ArrayList<>();
    entries
        .values()
        .forEach(
            (id, text) -> {
              if (KeptOverride.isId(id)) {
                all.add(KeptOverride.read(id, text).orElseGet(() -> KeptOverride.foreign(id)));
              } else {
                LOG.warn("There is an entry among the overrides that Sluice did not write");
              }
            });
    all.sort(NEWEST_FIRST);
    known = new Known(entries.version(), List.copyOf(all));
    layers.forEach(OverriddenRules::renew);
    return null;
  }

  private CompletionStage<@Nullable Void> putBack(Known last, long version) {
    Map<String, String> entries = new HashMap<>();
    last.all.stream()
        .filter(each -> !each.isForeign())
        .forEach(each -> entries.put(each.id(), each.stored()));
    try {
      return data.putBack(MAP, new SharedData.Entries(last.version, entries))
          .thenApply(
              done -> {
                losing.of(null);
                if (done) {
                  LOG.warn(
                      "The store lost overrides (version {} instead of {}); this node has put its"
                          + " {} back",
                      version,
                      last.version,
                      entries.size());
                }
                return null;
              });
    } catch (IllegalArgumentException tooLarge) {
      losing.about(tooLarge);
      return CompletableFuture.completedFuture(null);
    }
  }

  // ---- The overrides --------------------------------------------------------------------------

  /** The overrides that this node knows, the newest first. */
  public List<KeptOverride> all() {
    return known.all;
  }

  /** The override of an id. */
  public Optional<KeptOverride> find(String id) {
    return known.all.stream().filter(each -> each.id().equals(id)).findFirst();
  }

  /**
   * The overrides that come behind a place in the list of all.
   *
   * @param created when the last override before was made; it may have been removed since
   */
  public static boolean isBehind(KeptOverride each, Instant created, String id) {
    int byTime = each.created().compareTo(created);
    return byTime < 0 || (byTime == 0 && each.id().compareTo(id) > 0);
  }

  /**
   * When an override that is made now is created: later than all that this node knows, so that it
   * is the newest although the clocks of services differ.
   */
  public Instant created(Instant now) {
    List<KeptOverride> all = known.all;
    Instant next = all.isEmpty() ? now : all.get(0).created().plusMillis(1);
    return next.isAfter(now) ? next : now;
  }

  /**
   * Makes or replaces an override.
   *
   * @return false if there are {@link KeptOverride#MOST} already
   */
  public CompletionStage<Boolean> put(KeptOverride override) {
    // After a loss, the others are put back first: with this one, the map would look like a new
    // one.
    return lookAfresh()
        .thenCompose(
            looked -> data.putEntry(MAP, override.id(), override.stored(), KeptOverride.MOST))
        .thenCompose(this::looked);
  }

  /** Removes an override. Returns whether there was one. */
  public CompletionStage<Boolean> remove(String id) {
    return lookAfresh().thenCompose(looked -> data.removeEntry(MAP, id)).thenCompose(this::looked);
  }

  /** What was done stays done, although this node may learn it only later. */
  private CompletionStage<Boolean> looked(boolean done) {
    return lookAfresh().handle((looked, error) -> done);
  }

  /**
   * Rules with the overrides. Waits until they are known, but not longer than a second after this
   * node began to follow them. Closing it closes the source.
   */
  public RuleSource over(RuleSource source) {
    awaitFirstLook();
    OverriddenRules layer =
        new OverriddenRules(source, () -> known.all, chores, appliedSeconds, layers::remove);
    layers.add(layer);
    layer.renew(); // the overrides may have changed before it was among the layers
    return layer;
  }

  private void awaitFirstLook() {
    long patience = PATIENCE_AT_START.toNanos() - (System.nanoTime() - startNanos);
    try {
      look().toCompletableFuture().get(Math.max(0, patience), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.debug("The overrides are not known yet; they come into force when they are", e);
    }
  }

  /**
   * The overrides for a caller, also ended ones: those that operators made, the newest first, then
   * those of the rules.
   */
  public List<Match> matching(Identity identity) {
    Map<Match, Boolean> found = new LinkedHashMap<>();
    layers.forEach(layer -> layer.matching(identity).forEach(each -> found.put(each, true)));
    return found.keySet().stream()
        .sorted(
            Comparator.comparing(
                each -> each.kept().orElse(null), Comparator.nullsLast(NEWEST_FIRST)))
        .toList();
  }

  /** An override as part of its rule; null if it has no effect. */
  public Rule.@Nullable Special special(String id) {
    for (OverriddenRules layer : layers) {
      Rule.Special special = layer.special(id);
      if (special != null) {
        return special;
      }
    }
    return null;
  }

  /** Why an override has no effect: no such rule, or it does not fit it; null if it has one. */
  public @Nullable String whyUnused(String id) {
    if (special(id) != null) {
      return null;
    }
    for (OverriddenRules layer : layers) {
      String why = layer.whyUnused(id);
      if (why != null) {
        return why;
      }
    }
    return null;
  }

  // ---- When overrides last applied ------------------------------------------------------------

  void shareApplied() {
    layers.forEach(OverriddenRules::noteApplied);
    appliedSeconds
        .keySet()
        .retainAll(known.all.stream().map(KeptOverride::id).collect(Collectors.toSet()));
    if (!appliedSeconds.isEmpty()) {
      var unused =
          data.announce(APPLIED, node, appliedText(), APPLIED_TTL)
              .whenComplete((done, error) -> sharing.of(error));
    }
  }

  /** As many as fit, the last ones first. */
  private String appliedText() {
    List<Map.Entry<String, Long>> lastFirst =
        appliedSeconds.entrySet().stream()
            .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
            .limit(MOST_APPLIED)
            .toList();
    StringBuilder text = new StringBuilder();
    for (Map.Entry<String, Long> each : lastFirst) {
      String line = each.getKey() + ' ' + each.getValue() + '\n';
      if (text.length() + line.length() > SharedData.LONGEST_VALUE) {
        break;
      }
      text.append(line);
    }
    return text.toString();
  }

  /** When overrides last applied on any node, by their ids; at most some seconds old. */
  public CompletionStage<Map<String, Instant>> lastApplied() {
    return data.members(APPLIED)
        .thenApply(
            texts -> {
              Map<String, Instant> newest = new HashMap<>();
              for (String text : texts.values()) {
                text.lines()
                    .map(line -> line.split(" ", 2))
                    .filter(words -> words.length == 2 && words[1].matches("\\d{1,12}"))
                    .forEach(
                        words ->
                            newest.merge(
                                words[0],
                                Instant.ofEpochSecond(Long.parseLong(words[1])),
                                (a, b) -> a.isAfter(b) ? a : b));
              }
              return newest;
            });
  }

  @Override
  public void close() {
    chores.close();
  }

  /** A warning that is logged once, until what it is about works again. */
  private static final class Complaint {
    private final String format;
    private volatile boolean made;

    Complaint(String format) {
      this.format = format;
    }

    void of(@Nullable Throwable error) {
      if (error == null) {
        made = false;
      } else {
        about(Stages.cause(error));
      }
    }

    void about(Throwable error) {
      if (!made) {
        made = true;
        LOG.warn(format, error.getMessage());
      }
    }
  }
}
