package dev.sluice.metrics;

import dev.sluice.Account;
import dev.sluice.Balance;
import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Intent;
import dev.sluice.Rule;
import dev.sluice.Rules;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/**
 * The names of the metrics and their tags, the same wherever Sluice runs.
 *
 * <p>Names are written with dots as in Micrometer; Prometheus shows {@code
 * sluice_decisions_total{counted_by="store"}}. Rule names are tags; identities never are.
 */
public final class Metrics {
  /** Counts decisions, once for each enforced rule of a call. Tags: see {@link Count}. */
  public static final String DECISIONS = "sluice.decisions";

  /** Counts what rules in shadow mode would have decided. Tags: see {@link Count}. */
  public static final String SHADOW_DECISIONS = "sluice.shadow.decisions";

  /**
   * Times each call from the request to the decision, once for all its rules. Tags: {@link
   * #OUTCOME}, which may be {@link #FAILED}, and {@link #COUNTED_BY}.
   */
  public static final String CALLS = "sluice.calls";

  /** Counts calls that the store did not answer. Tag: {@link #KIND}. */
  public static final String STORE_FAULTS = "sluice.store.faults";

  /** Counts values in the store that Sluice did not write, and that it replaced. No tags. */
  public static final String FOREIGN_VALUES = "sluice.store.foreign.values";

  /** The sum of costs that records and settlements could not charge. Tag: {@link #RULE}. */
  public static final String UNCHARGED = "sluice.uncharged";

  /** The tag with the name of a rule. */
  public static final String RULE = "rule";

  /** The tag with the outcome of a call. */
  public static final String OUTCOME = "outcome";

  /** The outcome of a call that may pass. */
  public static final String ALLOWED = "allowed";

  /** The outcome of a call that must not pass. */
  public static final String DENIED = "denied";

  /**
   * The outcome of a call that was not counted: the store did not answer, and the rule allows or
   * denies such calls.
   */
  public static final String UNMETERED = "unmetered";

  /**
   * The outcome of a call without a decision: it lacks a facet or names an unknown rule. Only for
   * {@link #CALLS}.
   */
  public static final String FAILED = "failed";

  /** The tag that says where a call was counted. */
  public static final String COUNTED_BY = "counted.by";

  /** The tag that says whether the caller is locked out: {@code true} or {@code false}. */
  public static final String LOCKED = "locked";

  /** The tag that says what went wrong: {@code timeout}, {@code connection}, … */
  public static final String KIND = "kind";

  private Metrics() {}

  /** The value of the tag {@link #OUTCOME}. */
  public static String outcome(Decision decision) {
    return decision instanceof Decision.Unmetered
        ? UNMETERED
        : decision.allowed() ? ALLOWED : DENIED;
  }

  /** The value of the tag {@link #COUNTED_BY}. A replica counts as the store. */
  public static String countedBy(Decision.CountedBy by) {
    return switch (by) {
      case STORE, REPLICA -> "store";
      case CACHE -> "cache";
      case LOCAL -> "local";
      case NOBODY -> "none";
    };
  }

  /**
   * The counter of a rule to increment for a call, with its tags.
   *
   * <p>All enforced rules of a call share its outcome: if one of them denies the call, the others
   * count it as denied, too. A rule in shadow mode has an outcome of its own: what it would have
   * decided alone.
   *
   * @param meter {@link #DECISIONS}, or {@link #SHADOW_DECISIONS} for a rule in shadow mode
   * @param rule the name of the rule
   * @param outcome {@link #ALLOWED}, {@link #DENIED} or {@link #UNMETERED}
   * @param countedBy {@code store}, {@code cache}, {@code local} or {@code none}
   * @param locked whether an account of the call is locked, possibly by this call
   */
  public record Count(
      String meter, String rule, String outcome, String countedBy, boolean locked) {}

  /**
   * The counters to increment for a decision: one for each rule that the call named. A rule that
   * was named twice takes once, so it also counts once.
   *
   * @param rules the rules in force; an unknown name counts as an enforced rule
   * @param called the rules that the call named
   */
  public static List<Count> counts(Rules rules, Collection<String> called, Decision decision) {
    String outcome = outcome(decision);
    String by = countedBy(decision.countedBy());
    boolean locked = decision.locked();
    Collection<String> distinct = called.size() == 1 ? called : new LinkedHashSet<>(called);
    List<Count> counts = new ArrayList<>(distinct.size());
    for (String name : distinct) {
      Rule rule = rules.find(name);
      counts.add(
          rule == null || rule.enforced()
              ? new Count(DECISIONS, name, outcome, by, locked)
              : shadow(name, decision, outcome, by));
    }
    return counts;
  }

  /**
   * What {@link Intent#RECORD} could not charge, by rule: for each account, the highest amount over
   * its limits. Usually empty.
   */
  public static Map<String, Long> uncharged(Call call, Decision decision) {
    if (call.intent() != Intent.RECORD) {
      return Map.of();
    }
    Map<Account, Long> most = Map.of();
    for (Balance balance : decision.balances()) {
      if (balance.uncharged() > 0) {
        most = most.isEmpty() ? new LinkedHashMap<>() : most;
        most.merge(balance.account(), balance.uncharged(), Math::max);
      }
    }
    Map<String, Long> byRule = most.isEmpty() ? Map.of() : new LinkedHashMap<>();
    most.forEach((account, cost) -> byRule.merge(account.rule(), cost, Long::sum));
    return byRule;
  }

  /** The counters of a rule to create in advance, so that they read 0 before the first call. */
  public static List<Count> expected(Rule rule) {
    String meter = rule.enforced() ? DECISIONS : SHADOW_DECISIONS;
    String store = countedBy(Decision.CountedBy.STORE);
    return List.of(
        new Count(meter, rule.name(), ALLOWED, store, false),
        new Count(meter, rule.name(), DENIED, store, false),
        new Count(meter, rule.name(), DENIED, store, true),
        new Count(meter, rule.name(), UNMETERED, countedBy(Decision.CountedBy.NOBODY), false));
  }

  private static Count shadow(String rule, Decision decision, String outcome, String by) {
    boolean locked = false;
    boolean fits = true;
    for (Balance balance : decision.balances()) {
      if (balance.account().rule().equals(rule)) {
        locked |= balance.locked();
        fits &= balance.fits();
      }
    }
    String own = outcome.equals(UNMETERED) ? UNMETERED : fits ? ALLOWED : DENIED;
    return new Count(SHADOW_DECISIONS, rule, own, by, locked);
  }
}
