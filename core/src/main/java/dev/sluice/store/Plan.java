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
 * All charges of a call, which are taken together or not at all.
 *
 * @param charges the cost for each account
 * @param intent what to do with the costs
 * @param hold how long a reservation can stay open; ignored for other plans
 * @param id makes the call safe to send again, or null: the first decision is repeated, and it is
 *     counted once
 * @param policy how the call is decided when the store does not answer in time
 * @param caller who makes the call, with all its facets; an id belongs to one caller
 * @param question the intent, rules and costs as text; an id that is reused with another question
 *     is an error
 */
public record Plan(
    List<Charge> charges,
    Intent intent,
    @Nullable String id,
    OnStoreFailure policy,
    Identity caller,
    String question,
    Duration hold) {
  /** A plan whose caller and question follow from its charges. */
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

  /** The plan of a call with one charge and no id. */
  public static Plan of(Charge charge) {
    return new Plan(List.of(charge), Intent.TAKE, null, charge.rule().onStoreFailure());
  }

  /** The same plan with only some of its charges. */
  public Plan with(List<Charge> some) {
    return new Plan(some, intent, id, policy, caller, question, hold);
  }

  /** The question of a call: {@code TAKE Daily=1 SignIn=1}, with the rules sorted by name. */
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
