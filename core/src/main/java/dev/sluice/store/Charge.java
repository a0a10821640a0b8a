package dev.sluice.store;

import dev.sluice.Account;
import dev.sluice.Identity;
import dev.sluice.Rule;
import dev.sluice.Terms;

/**
 * One debit of one account.
 *
 * @param terms those of the rule, or of an override
 */
public record Charge(Rule rule, Identity identity, Terms terms, long cost) {
  /** The account to debit. */
  public Account account() {
    return new Account(rule.name(), identity, rule.colocate());
  }

  /** False for a rule in shadow mode: counted and reported, never in the way. */
  public boolean enforced() {
    return rule.enforced();
  }
}
