package dev.sluice.rules.source;

import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.rules.KeptOverride;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The rules of a source with the overrides that operators made. Thread-safe. */
final class OverriddenRules implements RuleSource {
  /*
   * Thousands of overrides take a moment to be parsed, and no call may wait for that. So the rules
   * are made in the background, and calls are decided by the last ones meanwhile. Without overrides
   * there is nothing to make: then the rules of the source are in force at once.
   */
  private static final Logger LOG = LoggerFactory.getLogger(OverriddenRules.class);

  private final RuleSource source;
  private final Supplier<List<KeptOverride>> overrides;
  private final Executor background;
  private final Map<String, Long> appliedSeconds;
  private final Consumer<OverriddenRules> onClose;
  private final AtomicBoolean isDue = new AtomicBoolean();
  private final ReentrantLock renewing = new ReentrantLock();
  private volatile Merged merged;

  /**
   * The rules of a source together with the overrides.
   *
   * @param ids by rule, the ids of the overrides that come first in it
   * @param fitted by id, the overrides that have an effect
   * @param unused by id, why the others have none
   */
  private record Merged(
      Rules base,
      List<KeptOverride> overrides,
      Rules rules,
      Map<String, List<String>> ids,
      Map<String, Fitted> fitted,
      Map<String, String> unused) {
    static Merged without(Rules base) {
      return new Merged(base, List.of(), base, Map.of(), Map.of(), Map.of());
    }

    /** The same rules, which others could not replace. */
    Merged insteadOf(Rules newBase, List<KeptOverride> newOverrides) {
      return new Merged(newBase, newOverrides, rules, ids, fitted, unused);
    }
  }

  /** An override as part of its rule. */
  private record Fitted(KeptOverride override, Rule.Special special) {}

  /**
   * Rules with overrides.
   *
   * @param overrides the newest first; the same list until they change
   * @param appliedSeconds receives by id when an override last applied
   */
  OverriddenRules(
      RuleSource source,
      Supplier<List<KeptOverride>> overrides,
      Executor background,
      Map<String, Long> appliedSeconds,
      Consumer<OverriddenRules> onClose) {
    this.source = source;
    this.overrides = overrides;
    this.background = background;
    this.appliedSeconds = appliedSeconds;
    this.onClose = onClose;
    this.merged = Merged.without(source.rules());
    renew();
  }

  @Override
  @SuppressWarnings("ReferenceEquality") // every decision comes here; comparing would be slow
  public Rules rules() {
    Rules base = source.rules();
    Merged last = merged;
    if (last.base == base) {
      return last.rules;
    }
    renewSoon();
    return last.overrides.isEmpty() ? base : last.rules;
  }

  private void renewSoon() {
    if (isDue.compareAndSet(false, true)) {
      try {
        background.execute(this::renew);
      } catch (RejectedExecutionException closed) {
        isDue.set(false);
      }
    }
  }

  /** Takes up what has changed in the source or in the overrides. */
  @SuppressWarnings("ReferenceEquality") // equal rules that are others are rare
  void renew() {
    renewing.lock();
    try {
      isDue.set(false);
      Rules base = source.rules();
      List<KeptOverride> wanted = overrides.get();
      Merged last = merged;
      if (last.base != base || last.overrides != wanted) {
        noteApplied();
        merged = merge(base, wanted, last);
      }
    } finally {
      renewing.unlock();
    }
  }

  /** The last rules again if these do not fit together: calls must be decided by something. */
  private static Merged merge(Rules base, List<KeptOverride> overrides, Merged last) {
    try {
      return together(base, overrides, last);
    } catch (RuntimeException e) {
      LOG.error("Cannot apply the overrides; the rules from before stay in force", e);
      return last.insteadOf(base, overrides);
    }
  }

  private static Merged together(Rules base, List<KeptOverride> overrides, Merged last) {
    Map<String, List<Rule.Special>> specials = new LinkedHashMap<>();
    Map<String, List<String>> ids = new HashMap<>();
    Map<String, Fitted> fitted = new HashMap<>();
    Map<String, String> unused = new HashMap<>();
    Unchanged unchanged = new Unchanged(last, base);
    for (KeptOverride each : overrides) {
      Rule rule = base.find(each.rule());
      if (rule == null) {
        unused.put(
            each.id(),
            each.isForeign()
                ? "Sluice did not write it"
                : "there is no rule '%s'".formatted(each.rule()));
        continue;
      }
      try {
        Fitted same = unchanged.find(each, rule);
        Fitted fit = same == null ? new Fitted(each, each.in(rule, base)) : same;
        fitted.put(each.id(), fit);
        specials.computeIfAbsent(rule.name(), name -> new ArrayList<>()).add(fit.special);
        ids.computeIfAbsent(rule.name(), name -> new ArrayList<>()).add(each.id());
      } catch (RuntimeException unfit) {
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

  /** Usually one override or one rule has changed; the others are not parsed again. */
  private static final class Unchanged {
    private final Merged last;
    private final boolean sameFacets;
    private final Map<String, Boolean> sameRules = new HashMap<>();

    Unchanged(Merged last, Rules base) {
      this.last = last;
      this.sameFacets = last.base.facets().equals(base.facets());
    }

    @Nullable Fitted find(KeptOverride override, Rule rule) {
      Fitted before = last.fitted.get(override.id());
      return before != null && sameFacets && before.override.equals(override) && isSame(rule)
          ? before
          : null;
    }

    private boolean isSame(Rule rule) {
      return sameRules.computeIfAbsent(rule.name(), name -> rule.equals(last.base.find(name)));
    }
  }

  /** The overrides for a caller, also ended ones; in each rule the first comes first. */
  List<KeptOverrides.Match> matching(Identity identity) {
    Merged last = merged;
    List<KeptOverrides.Match> found = new ArrayList<>();
    for (Rule rule : last.rules.all()) {
      List<String> ids = last.ids.getOrDefault(rule.name(), List.of());
      for (int position : last.rules.overridesFor(rule.name(), identity)) {
        Fitted fit = position < ids.size() ? last.fitted.get(ids.get(position)) : null;
        found.add(
            new KeptOverrides.Match(
                rule.name(),
                rule.overrides().get(position),
                Optional.ofNullable(fit).map(Fitted::override)));
      }
    }
    return found;
  }

  /** An override as part of its rule; null if it has no effect. */
  Rule.@Nullable Special special(String id) {
    Fitted fit = merged.fitted.get(id);
    return fit == null ? null : fit.special;
  }

  /** Why an override has no effect here; null if it has one, or is not known yet. */
  @Nullable String whyUnused(String id) {
    return merged.unused.get(id);
  }

  /** Remembers when overrides applied, before other rules forget it. */
  void noteApplied() {
    Merged last = merged;
    last.ids.forEach(
        (rule, itsIds) -> {
          long[] seconds = last.rules.overridesApplied(rule);
          for (int i = 0; i < itsIds.size(); i++) {
            if (seconds[i] > 0) {
              appliedSeconds.merge(itsIds.get(i), seconds[i], Math::max);
            }
          }
        });
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
    onClose.accept(this);
    source.close();
  }
}
