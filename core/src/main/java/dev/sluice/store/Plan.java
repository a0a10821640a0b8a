package dev.sluice.store;

import dev.sluice.Identity;
import dev.sluice.Intent;
import dev.sluice.OnStoreFailure;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Every charge one call must pay, taken whole or not at all.
 *
 * @param hold how long the fate of a reservation can stay open; of other plans it means nothing
 * @param id makes the call safe to send again: the first decision comes back, counted once
 * @param policy what holds for the call when the store gives no answer in time
 * @param caller who the call is for, with every facet it came with; an id belongs to one caller
 * @param question the call's intent, rules and costs, as text: an id that comes again with another
 *     question is an error
 */
public record Plan(
    List<Charge> charges,
    Intent intent,
    @Nullable String id,
    OnStoreFailure policy,
    Identity caller,
    String question,
    Duration hold) {
  /** A plan for whoever its charges name, whose question is what they ask. */
  public Plan(List<Charge> charges, Intent intent, @Nullable String id, OnStoreFailure policy) {
    this(
        charges,
        intent,
        id,
        policy,
        id == null ? Identity.none() : callerOf(charges),
        id == null ? "" : questionOf(intent, costs(charges)),
        Store.HOLD);
  }

  /** The plan of a call that pays one charge, without an id. */
  public static Plan of(Charge charge) {
    return new Plan(List.of(charge), Intent.TAKE, null, charge.rule().onStoreFailure());
  }

  /** The same call reduced to some of its charges. */
  public Plan with(List<Charge> some) {
    return new Plan(some, intent, id, policy, caller, question, hold);
  }

  /**
   * The question of a call: {@code TAKE Daily=1 SignIn=1}, the rules in the order of their names.
   */
  public static String questionOf(Intent intent, Map<String, Long> costs) {
    return costs.entrySet().stream()
        .map(rule -> " " + rule.getKey() + "=" + rule.getValue())
        .collect(Collectors.joining("", intent.name(), ""));
  }

  private static Map<String, Long> costs(List<Charge> charges) {
    TreeMap<String, Long> costs = new TreeMap<>();
    charges.forEach(charge -> costs.put(charge.rule().name(), charge.cost()));
    return costs;
  }

  private static Identity callerOf(List<Charge> charges) {
    TreeMap<String, String> facets = new TreeMap<>();
    charges.forEach(charge -> facets.putAll(charge.identity().facets()));
    return Identity.ofChecked(facets);
  }
}
