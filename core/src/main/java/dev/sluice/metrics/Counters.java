package dev.sluice.metrics;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Rule;
import dev.sluice.Rules;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The counters of a listener, by {@link Metrics.Count}. Thread-safe.
 *
 * @param <C> a counter
 */
public final class Counters<C> {
  /*
   * Nearly every call names one enforced rule. Its counter is kept by the name of the rule and by
   * what was decided, so such a call is counted without making anything.
   */
  private static final int MOST_RULES = 1_000;
  private static final int MOST_COUNTS = 10 * MOST_RULES;
  private static final int OUTCOMES = 3;
  private static final int PLACES = OUTCOMES * Decision.CountedBy.values().length * 2;

  private final Map<String, AtomicReferenceArray<C>> byRule = new ConcurrentHashMap<>();
  private final Map<Metrics.Count, C> byCount = new ConcurrentHashMap<>();
  private final Function<Metrics.Count, C> finder;

  /**
   * Creates counters.
   *
   * @param finder finds or makes a counter; asked for some of them more than once
   */
  public Counters(Function<Metrics.Count, C> finder) {
    this.finder = finder;
  }

  /** Passes on the counters to increment for a decision: those of {@link Metrics#counts}. */
  public void of(Rules rules, Call call, Decision decision, Consumer<C> to) {
    String name = call.rules().get(0);
    if (call.rules().size() == 1 && isEnforced(rules, name)) {
      to.accept(only(rules, call, decision, name));
    } else {
      Metrics.counts(rules, call.rules(), decision).forEach(count -> to.accept(find(count)));
    }
  }

  private static boolean isEnforced(Rules rules, String name) {
    Rule rule = rules.find(name);
    return rule == null || rule.enforced();
  }

  private C only(Rules rules, Call call, Decision decision, String name) {
    AtomicReferenceArray<C> ofRule = byRule.get(name);
    int place = place(decision);
    C kept = ofRule == null ? null : ofRule.get(place);
    if (kept != null) {
      return kept;
    }
    C found = find(Metrics.counts(rules, call.rules(), decision).get(0));
    if (ofRule != null || byRule.size() < MOST_RULES) {
      byRule.computeIfAbsent(name, none -> new AtomicReferenceArray<>(PLACES)).set(place, found);
    }
    return found;
  }

  private C find(Metrics.Count count) {
    C kept = byCount.get(count);
    if (kept != null) {
      return kept;
    }
    C found = finder.apply(count);
    if (byCount.size() < MOST_COUNTS) {
      byCount.put(count, found);
    }
    return found;
  }

  @SuppressWarnings("EnumOrdinal") // a place in memory; it is not stored
  private static int place(Decision decision) {
    int outcome = decision instanceof Decision.Unmetered ? 2 : decision.allowed() ? 1 : 0;
    int place = OUTCOMES * decision.countedBy().ordinal() + outcome;
    return 2 * place + (decision.locked() ? 1 : 0);
  }
}
