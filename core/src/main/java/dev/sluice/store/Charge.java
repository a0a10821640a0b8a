package dev.sluice.store;

import dev.sluice.Account;
import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.Terms;

/**
 * A cost to be taken from one account.
 *
 * @param rule the rule that charges it
 * @param identity whom the account counts
 * @param terms the terms of the rule, or of an override
 * @param cost how much to take
 */
public record Charge(Rule rule, Identity identity, Terms terms, long cost) {
  /** The account to take it from. */
  public Account account() {
    return new Account(rule.name(), identity, rule.colocate());
  }

  /** False for a rule in shadow mode: it counts and reports, but never denies. */
  public boolean enforced() {
    return rule.enforced();
  }
}
