package dev.sluice;

import dev.sluice.store.Charge;
import dev.sluice.store.Plan;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/**
 * A call and its charges.
 *
 * @param exempt the rules of the call that charge nothing
 */
record PlannedCall(Plan plan, List<String> exempt) {
  static PlannedCall of(Call call, Rules rules, InstantSource clock) {
    Plan plan = rules.plan(call, clock);
    return new PlannedCall(plan, exempt(call, plan));
  }

  boolean paysNothing() {
    return plan.charges().isEmpty();
  }

  /** The decision on a call without charges. */
  Decision free() {
    String id = plan.id();
    Receipt nothing = new Receipt(id == null ? "-" : id, 0, List.of()).exemptFrom(exempt);
    return Decision.Allowed.of(List.of(), Decision.CountedBy.STORE, () -> nothing);
  }

  /** The decision with a receipt that also names the rules that charged nothing. */
  Decision withExempt(Decision decision) {
    return !exempt.isEmpty() && decision instanceof Decision.Allowed allowed
        ? Decision.Allowed.of(
            allowed.balances(), allowed.countedBy(), () -> allowed.receipt().exemptFrom(exempt))
        : decision;
  }

  private static List<String> exempt(Call call, Plan plan) {
    List<String> exempt = List.of();
    for (String rule : call.rules()) {
      if (!pays(plan, rule) && !exempt.contains(rule)) {
        exempt = new ArrayList<>(exempt);
        exempt.add(rule);
      }
    }
    return exempt;
  }

  private static boolean pays(Plan plan, String rule) {
    for (Charge charge : plan.charges()) {
      if (charge.rule().name().equals(rule)) {
        return true;
      }
    }
    return false;
  }
}
