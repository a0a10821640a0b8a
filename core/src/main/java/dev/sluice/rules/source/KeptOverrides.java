package dev.sluice.rules.source;

import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.internal.Daemon;
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
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Overrides that operators made at run time, shared by all nodes of a store. Every node has a
 * change in force within a second. Thread-safe.
 *
 * <p>They come before the overrides of the rules, the newest first. While the store does not
 * answer, those that were known stay in force.
 */
public final class KeptOverrides implements AutoCloseable {
  /*
   * The overrides are one map of the shared data. Each node reads its version twice a second, and
   * the map if the version is new: a message could be lost.
   */
  private static final Logger LOG = LoggerFactory.getLogger(KeptOverrides.class);
  private static final String MAP = "overrides";
  private static final String APPLIED = "applied";
  private static final Duration INTERVAL = Duration.ofMillis(500);
  private static final Duration APPLIED_INTERVAL = Duration.ofSeconds(5);
  private static final Duration APPLIED_TTL = Duration.ofHours(1);
  private static final int MOST_APPLIED = 5_000;

  private final SharedData data;
  private final String node;
  private final ScheduledExecutorService thread = Daemon.scheduled("sluice-overrides");
  private final AtomicBoolean asking = new AtomicBoolean();
  private final List<Layer> layers = new CopyOnWriteArrayList<>();
  private final Map<String, Long> applied = new ConcurrentHashMap<>();
  private volatile Known known = new Known(0, List.of());
  private volatile boolean complained;

  /** The overrides at some version of the map, newest first. */
  private record Known(long version, List<KeptOverride> all) {}

  private KeptOverrides(SharedData data, String node) {
    this.data = data;
    this.node = node;
  }

  /**
   * Reads the overrides and follows their changes.
   *
   * @param node the id of this node
   */
  public static KeptOverrides follow(SharedData data, String node) {
    KeptOverrides overrides = new KeptOverrides(data, node);
    overrides.every(Duration.ZERO, INTERVAL, overrides::look);
    overrides.every(APPLIED_INTERVAL, APPLIED_INTERVAL, overrides::shareApplied);
    return overrides;
  }

  private void every(Duration first, Duration pause, Runnable task) {
    ScheduledFuture<?> unused =
        thread.scheduleWithFixedDelay(
            () -> {
              try {
                task.run();
              } catch (RuntimeException e) {
                complain(e);
              }
            },
            first.toMillis(),
            pause.toMillis(),
            TimeUnit.MILLISECONDS);
  }

  /** Looks for changes, unless the store has not answered the last time yet. */
  CompletionStage<@Nullable Void> look() {
    if (!asking.compareAndSet(false, true)) {
      return CompletableFuture.completedFuture(null);
    }
    return data.version(MAP)
        .thenCompose(
            version ->
                version == known.version
                    ? CompletableFuture.<@Nullable Void>completedFuture(null)
                    : data.entries(MAP).<@Nullable Void>thenApply(this::learn))
        .whenComplete(
            (done, error) -> {
              asking.set(false);
              if (error == null) {
                complained = false;
              } else {
                complain(Stages.cause(error));
              }
            });
  }

  private @Nullable Void learn(SharedData.Entries entries) {
    List<KeptOverride> all = new ArrayList<>();
    entries.values().forEach((id, text) -> KeptOverride.read(id, text).ifPresent(all::add));
    all.sort(
        Comparator.comparing(KeptOverride::created).reversed().thenComparing(KeptOverride::id));
    known = new Known(entries.version(), List.copyOf(all));
    layers.forEach(Layer::renew);
    return null;
  }

  private void complain(Throwable error) {
    if (!complained) {
      complained = true;
      LOG.warn(
          "Cannot read the overrides; those known before stay in force: {}", error.getMessage());
    }
  }

  /** The overrides that this node knows, the newest first. */
  public List<KeptOverride> all() {
    return known.all;
  }

  /**
   * Makes or replaces an override.
   *
   * @return false if there are {@link KeptOverride#MOST} already
   */
  public CompletionStage<Boolean> put(KeptOverride override) {
    return data.putEntry(MAP, override.id(), override.stored(), KeptOverride.MOST)
        .thenCompose(done -> look().thenApply(looked -> done));
  }

  /** Removes an override. Returns whether there was one. */
  public CompletionStage<Boolean> remove(String id) {
    return data.removeEntry(MAP, id).thenCompose(done -> look().thenApply(looked -> done));
  }

  /** Rules with the overrides. Closing it closes the source. */
  public RuleSource over(RuleSource source) {
    Layer layer = new Layer(source);
    layers.add(layer);
    return layer;
  }

  /** The overrides that have an effect and name facet values for which this is true. */
  public List<KeptOverride> inForce(Predicate<Map<String, String>> when) {
    return known.all.stream()
        .filter(each -> layers.stream().anyMatch(layer -> layer.has(each, when)))
        .toList();
  }

  /** Why an override has no effect: no such rule, or it does not fit it; null if it has one. */
  public @Nullable String whyUnused(String id) {
    for (Layer layer : layers) {
      String why = layer.merged.unused.get(id);
      if (why != null) {
        return why;
      }
    }
    return null;
  }

  // ---- When overrides last applied ------------------------------------------------------------

  private void shareApplied() {
    layers.forEach(Layer::noteApplied);
    if (applied.isEmpty()) {
      return;
    }
    StringBuilder text = new StringBuilder();
    applied.entrySet().stream()
        .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
        .limit(MOST_APPLIED)
        .forEach(
            each -> text.append(each.getKey()).append(' ').append(each.getValue()).append('\n'));
    var unused =
        data.announce(APPLIED, node, text.toString(), APPLIED_TTL)
            .whenComplete(
                (done, error) -> {
                  if (error != null) {
                    complain(Stages.cause(error));
                  }
                });
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
    thread.shutdownNow();
  }

  // ---- Rules with overrides -------------------------------------------------------------------

  /**
   * The rules of a source together with the overrides.
   *
   * @param ids by rule, the ids of the overrides that come first in it
   * @param fitted by id, the overrides that have an effect
   */
  private record Merged(
      Rules base,
      Known known,
      Rules rules,
      Map<String, List<String>> ids,
      Map<String, Fitted> fitted,
      Map<String, String> unused) {}

  /** An override as part of its rule. */
  private record Fitted(KeptOverride override, Rule.Special special) {}

  private final class Layer implements RuleSource {
    private final RuleSource source;
    private final ReentrantLock merging = new ReentrantLock();
    private volatile Merged merged;

    Layer(RuleSource source) {
      this.source = source;
      this.merged = merge(source.rules(), known, Map.of());
    }

    boolean has(KeptOverride override, Predicate<Map<String, String>> when) {
      Fitted fitted = merged.fitted.get(override.id());
      return fitted != null && when.test(fitted.special.when());
    }

    /** Usually nothing has changed. If it has, one caller merges; meanwhile others go on. */
    @Override
    @SuppressWarnings("ReferenceEquality") // every decision comes here; comparing would be slow
    public Rules rules() {
      Rules base = source.rules();
      Merged last = merged;
      if (last.base == base && last.known == known) {
        return last.rules;
      }
      if (last.base != base && known.all.isEmpty()) {
        return base;
      }
      renew();
      return merged.rules;
    }

    /** Usually one override has changed; the others are not parsed again. */
    @SuppressWarnings("ReferenceEquality") // equal rules that are others are rare
    void renew() {
      if (merging.tryLock()) {
        try {
          noteApplied();
          Rules base = source.rules();
          merged = merge(base, known, base == merged.base ? merged.fitted : Map.of());
        } finally {
          merging.unlock();
        }
      }
    }

    private Merged merge(Rules base, Known overrides, Map<String, Fitted> before) {
      Map<String, List<Rule.Special>> specials = new LinkedHashMap<>();
      Map<String, List<String>> ids = new HashMap<>();
      Map<String, Fitted> fitted = new HashMap<>();
      Map<String, String> unused = new HashMap<>();
      for (KeptOverride each : overrides.all) {
        Rule rule = base.find(each.rule());
        if (rule == null) {
          unused.put(each.id(), "there is no rule '%s'".formatted(each.rule()));
          continue;
        }
        try {
          Fitted same = before.get(each.id());
          Fitted fit =
              same != null && same.override.equals(each)
                  ? same
                  : new Fitted(each, each.in(rule, base));
          fitted.put(each.id(), fit);
          specials.computeIfAbsent(rule.name(), name -> new ArrayList<>()).add(fit.special);
          ids.computeIfAbsent(rule.name(), name -> new ArrayList<>()).add(each.id());
        } catch (IllegalArgumentException unfit) {
          unused.put(each.id(), String.valueOf(unfit.getMessage()));
        }
      }
      if (specials.isEmpty()) {
        return new Merged(base, overrides, base, Map.of(), Map.of(), unused);
      }
      List<Rule> rules = new ArrayList<>();
      for (Rule rule : base.all()) {
        List<Rule.Special> more = specials.get(rule.name());
        rules.add(more == null ? rule : rule.withOverridesFirst(more));
      }
      Rules together = Rules.open(rules, base.facets().values()).warning(base.warnings());
      return new Merged(base, overrides, together, ids, fitted, unused);
    }

    private void noteApplied() {
      Merged last = merged;
      last.ids.forEach(
          (rule, itsIds) -> {
            long[] seconds = last.rules.overridesApplied(rule);
            for (int i = 0; i < itsIds.size(); i++) {
              if (seconds[i] > 0) {
                applied.merge(itsIds.get(i), seconds[i], Math::max);
              }
            }
          });
      applied
          .keySet()
          .retainAll(known.all.stream().map(KeptOverride::id).collect(Collectors.toSet()));
    }

    @Override
    public Optional<Failure> failure() {
      return source.failure();
    }

    @Override
    public void require(Consumer<Rules> check) {
      source.require(check);
    }

    @Override
    public void close() {
      layers.remove(this);
      source.close();
    }
  }
}
